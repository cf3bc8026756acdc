"""`ai-battle calibrate`: chooses when a pair asks for help, from answers of one's own."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import click

from ..core.errors import ConfigError
from ..evidence.store import EvidenceStore
from ..evidence.trials import labelled_answers
from ..judging.calibrate import Report, Target
from ..judging.labels import LabelledAnswer
from ..judging.own_answers import calibrate, lines_by_rank, read_answers
from ..reporting.calibration import LINE_WIDTH, data, fragment, likely, page, recommendation, rows
from .options import as_json, in_state
from .output import print_json, write_file


def _share(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is None or 0 <= value <= 1:
        return value
    way_out = f"; write {value / 100:.6g} for {value:.6g} %" if 1 < value <= 100 else ""
    raise click.BadParameter(f"is a share from 0 to 1, not {value:.6g}{way_out}")


TARGETS = {key: f"target_{key}" for key in ("help_rate", "quality", "pgr")} | {
    "promise": "promise",
    "max_cost": "max_cost",
}
"""The option of each kind of target."""

_LOSS = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command("calibrate")
@click.argument("data", type=click.Path(path_type=str), required=False)
@click.option(
    "--from-shadow", "pair", metavar="PAIR", help="Use the answers that this pair's shadow has collected, not DATA."
)
@in_state
@click.option(
    "--target-help-rate", type=float, callback=_share, help="Share of answers that get help; needs no labels."
)
@click.option(
    "--target-quality", type=float, callback=_share, help="Mean quality to reach, with as little help as possible."
)
@click.option("--target-pgr", type=float, callback=_share, help="Share of the helper's advantage to reach.")
@click.option("--promise", type=_LOSS, help="The largest share of answers that may be worse than the helper's.")
@click.option("--confidence", type=_LOSS, default=0.95, help="Confidence of that promise; usually 0.95.")
@click.option("--models", metavar="SMALL+LARGE", help="The models that answered; a promise holds for no others.")
@click.option("--max-cost", type=click.FloatRange(0), help="Dollars that an answer may cost on average.")
@click.option("--helper-price", type=click.FloatRange(0), default=0.0, help="Dollars of one answer of the helper.")
@click.option("--own-price", type=click.FloatRange(0), default=0.0, help="Dollars of one answer of the small model.")
@click.option(
    "--sort", type=click.Path(), help="File for the lines of DATA, those that get help last first; calibrates nothing."
)
@click.option("--out", type=click.Path(), help="File for the calibration, which a pair names as `calibration:`.")
@click.option("--report", type=click.Path(), help="HTML file for the curve as a picture.")
@as_json
def command(
    data: str | None, pair: str | None, state: Path | str, out: str | None, report: str | None, as_json: bool,
    models: str | None, confidence: float, sort: str | None, **targets: Any,
) -> None:  # fmt: skip
    """Choose when a small model is helped, from answers of your own.

    DATA has one answer a line: {"prompt", "response"}, and if known "correct" and "helper_correct"; for several models
    also "peers", what the others answered, and "peers_correct". Instead of DATA, the shadow of a pair has labelled
    answers; `ai-battle pair report` lists the pairs.

    A promise needs labels only for the answers that get no help. `--sort` puts these first: label as many as you can
    from the top. Unlabelled answers after them count as if they got help.
    """
    if sort:
        _sort(data, sort)
        return
    target = replace(_target(**targets), models=_models(models, pair or ""), confidence=confidence)
    source, known = _read_source(data, pair, state)
    found, answers = _calibrate(source, known, target), len(known)
    if out:
        write_file(Path(out), [json.dumps(found.calibration.as_json(), indent=2), "\n"], "--out")
    if report:
        write_file(Path(report), [page(found, target, answers, out)], "--report")
    if as_json:
        print_json(_document(found, target, answers))
    else:
        _show(found, target, answers, out)


def _sort(data: str | None, path: str) -> None:
    if not data:
        raise ConfigError("--sort needs DATA, a file of answers.")
    lines = lines_by_rank(Path(data))
    write_file(Path(path), (f"{line.rstrip()}\n" for line in lines), "--sort")
    click.echo(
        f"{path}: {len(lines)} answers, those that get help last first. Label them from the top, then calibrate on it.",
        err=True,
    )


def _calibrate(source: str, answers: Sequence[LabelledAnswer], target: Target) -> Report:
    """Calibrates. Adds the source of the answers to an error."""
    try:
        return calibrate(answers, target)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error


def _read_source(data: str | None, pair: str | None, state: Path | str) -> tuple[str, Sequence[LabelledAnswer]]:
    """Returns the source of the answers, and the answers."""
    if data and not pair:
        return data, read_answers(Path(data))
    if pair and not data:
        with closing(EvidenceStore.existing(state)) as store:
            return pair, labelled_answers(store, pair)
    raise ConfigError("Say either DATA, a file of answers, or --from-shadow PAIR.")


def _models(named: str | None, pair: str) -> tuple[str, ...]:
    """Returns the small and the large model, from `--models` or from the name of a shadow's pair."""
    if named is None:
        return tuple(pair.rpartition(" (")[0].split(" + ", 1)) if pair else ()
    small, plus, large = (each.strip() for each in named.partition("+"))
    if not (small and plus and large):
        raise ConfigError(f"--models takes two models, as in ollama/gemma3:4b+gpt-4o, not {named!r}.")
    return small, large


def _target(helper_price: float, own_price: float, **targets: float | None) -> Target:
    given = [(kind, value) for kind, option in TARGETS.items() if (value := targets[option]) is not None]
    if len(given) != 1:
        raise ConfigError(
            "Say one target: --target-help-rate, --target-quality, --target-pgr, --max-cost or --promise."
        )
    (kind, value), *_ = given
    if kind == "max_cost" and not helper_price:
        raise ConfigError("--max-cost needs the price of one answer of the helper: say --helper-price DOLLARS.")
    return Target(kind, value, own_price, helper_price)  # type: ignore[arg-type]


def _document(found: Report, target: Target, answers: int) -> dict[str, Any]:
    point = likely(found)
    return {
        "answers": answers,
        "labels": found.labels,
        "refit": found.refit,
        "recommended": found.helps,
        "note": found.note,
        "said": [*recommendation(found, target)],
        "likely": asdict(point) if point else None,
        "calibration": found.calibration.as_json(),
        "curve": [asdict(point) for point in found.curve],
    }


def _show(found: Report, target: Target, answers: int, out: str | None) -> None:
    click.echo(fill(data(found, answers), LINE_WIDTH))
    for row in ("", *rows(found)) if found.curve else ():
        click.echo(row)
    click.echo()
    for sentence in recommendation(found, target):
        click.echo(fill(sentence, LINE_WIDTH, subsequent_indent="  "))
    if found.helps:
        click.echo(f"\nIn a pair of discussion.collaboration.pairs:\n\n{indent(fragment(found, out), '  ')}")
