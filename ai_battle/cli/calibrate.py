"""`ai-battle calibrate`: when a pair asks for help, chosen from answers of one's own."""

import json
from typing import TYPE_CHECKING, Any

import click

from ._options import as_json

if TYPE_CHECKING:
    from pathlib import Path

    from ai_battle.collaboration._stuck.calibrating import Report, Target

WIDTH = 40
SHARE = click.FloatRange(0, 1)


@click.command("calibrate")
@click.argument("data", type=click.Path(path_type=str))
@click.option("--target-help-rate", type=SHARE, help="Share of answers that get help; needs no labels.")
@click.option("--target-quality", type=SHARE, help="Mean quality to reach, with as little help as that takes.")
@click.option("--target-pgr", type=SHARE, help="Share of the helper's advantage to reach.")
@click.option("--max-cost", type=click.FloatRange(0), help="Dollars that an answer may cost on average.")
@click.option("--helper-price", type=click.FloatRange(0), default=0.0, help="Dollars of one answer of the helper.")
@click.option("--own-price", type=click.FloatRange(0), default=0.0, help="Dollars of one answer of the small model.")
@click.option("--out", type=click.Path(), help="File for the calibration, which a pair names as `calibration:`.")
@click.option("--report", type=click.Path(), help="HTML file for the curve as a picture.")
@as_json
def command(data: str, out: str | None, report: str | None, as_json: bool, **targets: Any) -> None:
    """Choose when a small model is helped, from answers of your own.

    DATA has one answer a line: {"prompt", "response"}, and where they are known "correct" and "helper_correct".
    """
    from pathlib import Path

    from ai_battle.collaboration._stuck.calibrating import calibrate
    from ai_battle.collaboration._stuck.own_answers import read_answers

    target = _target(**targets)
    answers = read_answers(Path(data))
    found = calibrate(answers, target)
    if out:
        _write(Path(out), json.dumps(found.calibration.as_json(), indent=2) + "\n")
    if report:
        _write(Path(report), _page(found, target))
    if as_json:
        click.echo(json.dumps(_document(found, len(answers)), indent=2))
    else:
        _show(found, len(answers), target, out)


def _target(
    target_help_rate: float | None,
    target_quality: float | None,
    target_pgr: float | None,
    max_cost: float | None,
    helper_price: float,
    own_price: float,
) -> "Target":
    from ai_battle.collaboration._stuck.calibrating import Target
    from ai_battle.core.errors import ConfigError

    said = {"help_rate": target_help_rate, "quality": target_quality, "pgr": target_pgr, "max_cost": max_cost}
    given = [(kind, value) for kind, value in said.items() if value is not None]
    if len(given) != 1:
        raise ConfigError("Say one target: --target-help-rate, --target-quality, --target-pgr or --max-cost.")
    (kind, value), *_ = given
    return Target(kind, value, own_price, helper_price)  # type: ignore[arg-type]


def _words(target: "Target") -> str:
    names = {"help_rate": "a help rate of", "quality": "a quality of", "pgr": "a share of the advantage of"}
    return f"at most ${target.value:g}" if target.kind == "max_cost" else f"{names[target.kind]} {target.value:g}"


def _page(found: "Report", target: "Target") -> str:
    from ai_battle.reporting.calibration import page

    return page(found, f"For {_words(target)}")


def _write(path: "Path", text: str) -> None:
    """Folders on the way to it are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _document(found: "Report", answers: int) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "answers": answers,
        "labels": found.labels,
        "refit": found.refit,
        "recommended": found.helps,
        "note": found.note,
        "calibration": found.calibration.as_json(),
        "curve": [asdict(point) for point in found.curve],
    }


def _show(found: "Report", answers: int, target: "Target", out: str | None) -> None:
    labels = f"{found.labels} with labels" if found.labels else "without labels"
    click.echo(f"{answers} answers, {labels}{', weights fitted to them' if found.refit else ''}.")
    if found.curve:
        _show_curve(found)
    if not found.helps:
        click.echo(f"\n{found.note}")
        return
    made = found.calibration
    click.echo(f"\nFor {_words(target)}: {made.help_rate:.1%} of the answers get help (± {made.error:.1%}).")
    click.echo("\nIn a pair of discussion.collaboration.pairs:\n")
    click.echo(f"  calibration: {out or _inline(found)}")


def _inline(found: "Report") -> str:
    kept = found.calibration.as_json()
    return json.dumps({key: value for key, value in kept.items() if value or key == "cut"})


def _show_curve(found: "Report") -> None:
    from ai_battle.reporting.calibration import SHARES, lines

    drawn = {line.name: line.quality for line in lines(found)}
    low = min(min(line) for line in drawn.values())
    high = max(max(line) for line in drawn.values())
    click.echo(f"\n  help  quality  95 % interval   {'random':>6} {'length':>6} {'oracle':>6}")
    for place, point in enumerate(found.curve):
        if place % 2:
            continue
        share = round(point.help_rate * SHARES)
        others = " ".join(f"{drawn[name][share]:6.3f}" for name in ("random", "length", "oracle"))
        filled = round(WIDTH * (point.quality - low) / ((high - low) or 1))
        bar = "█" * filled
        click.echo(
            f"  {point.help_rate:4.0%}   {point.quality:.3f}  {point.low:.3f} … {point.high:.3f}   {others}  {bar}"
        )
    click.echo(f"  never {drawn['never'][0]:.3f}, always {drawn['always'][0]:.3f}")
