"""`ai-battle pair` and `lessons`: what pairs of models have shown, and what large models taught small ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Literal, TypeVar

import click

from ..core.errors import ConfigError
from ..core.plugins import near
from ..core.texts import one_line, printable
from ..evidence.lessons import LESSONS, Lesson, lessons_of
from ..evidence.store import EvidenceStore, is_there
from ..evidence.versions import VERSIONS, undo_version
from ..reporting.pair_evidence import PairEvidence, read_evidence
from ..reporting.training_sets import Shape, training_set
from .options import as_json, in_state
from .output import print_json, without_secrets, write_file


@click.group("pair")
def command() -> None:
    """Report what a pair of models loses and saves on your requests."""


@command.command("report")
@click.argument("pair", default="")
@in_state
@as_json
def report(pair: str, state: Path | str, as_json: bool) -> None:
    """Show what the shadow of PAIR, or of all pairs, has found.

    That is losses and savings, and the requests that were lost.

    A pair has a shadow if its route says `shadow:`.
    """
    found = _read_pairs(state, pair)
    if as_json:
        print_json([each.to_json() for each in found])
        return
    for each in found:
        for line in each.lines:
            click.echo(without_secrets(line))


@command.command("undo")
@click.argument("pair", default="")
@in_state
def undo(pair: str, state: Path | str) -> None:
    """Let PAIR ask for help as it did before it last calibrated itself.

    PAIR may be left out if only one does. It calibrates itself again on new evidence; each version stays.
    """
    with closing(EvidenceStore.existing(state)) as store:
        undone, now = undo_version(store, pair or _only_pair(store))
    click.echo(f"Undone: {undone.words}.\nNow: {now.words}.", err=True)


def _only_pair(store: EvidenceStore) -> str:
    known = store.pairs(VERSIONS)
    if len(known) != 1:
        raise ConfigError(f"Say which pair: {', '.join(known)}." if known else "No pair has calibrated itself.")
    return known[0]


def _read_pairs(state: Path | str, pair: str) -> list[PairEvidence]:
    """Raises `ConfigError` if there is no evidence, or none of that pair."""
    with closing(EvidenceStore.existing(state)) as store:
        found = read_evidence(store)
    known = [each.pair for each in found]
    if pair and pair not in known:
        raise ConfigError(f"Nothing is known of a pair {pair!r}{near(pair, known)}")
    return [each for each in found if pair in ("", each.pair)]


T = TypeVar("T")


@click.group("lessons")
def lessons_command() -> None:
    """Show, export or delete what large models taught small ones."""


@lessons_command.command("list")
@in_state
@as_json
def list_(state: Path | str, as_json: bool) -> None:
    """List the lessons of all pairs.

    Each comes with its request, how often it was shown, and how often help was needed all the same.
    """
    with closing(EvidenceStore.existing(state)) as store:
        known = _read_lessons(store)
    if as_json:
        print_json({pair: list(map(asdict, lessons)) for pair, lessons in known.items()})
        return
    lines = [line for pair, lessons in known.items() for line in (pair, *map(_line, lessons))]
    click.echo("\n".join(lines) or "There are no lessons; a pair that says `lessons: {from: runs}` keeps some.")


def _read_lessons(store: EvidenceStore) -> Mapping[str, Sequence[Lesson]]:
    return {pair: lessons_of(store, pair) for pair in store.pairs(LESSONS)}


def _line(lesson: Lesson) -> str:
    times = f"shown {lesson.shown} time{'s' * (lesson.shown != 1)}, help asked all the same {lesson.asked}"
    use = times if lesson.shown else "not shown yet"
    return f"  {lesson.key}  {without_secrets(one_line(lesson.prompt, 60)):60}  {use}"


@lessons_command.command("show")
@click.argument("key")
@in_state
def show(key: str, state: Path | str) -> None:
    """Show the lesson KEY. That is the request, the answer, and what was wrong at first."""
    with closing(EvidenceStore.existing(state)) as store:
        found = [(pair, lesson) for pair, lessons in _read_lessons(store).items() for lesson in lessons]
    shown = _require(found, [key], lambda each: each[1].key)
    for pair, lesson in shown:
        text = f"{lesson.prompt}\n\n{lesson.answer}\n\n(At first: {lesson.wrong or 'unknown'})"
        click.echo(without_secrets(printable(f"{pair}\n\n{text}" if len(shown) > 1 else text)))


@lessons_command.command("export")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["sft", "dpo"]),
    required=True,
    help="Answers, or answers paired with poorer ones.",
)
@click.option(
    "--for",
    "shape",
    type=click.Choice(["openai", "trl"]),
    default="trl",
    show_default=True,
    help="The trainer that reads it.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="The folder for train.jsonl and validation.jsonl.",
)
@in_state
def export(
    runs: tuple[Path, ...], wanted: Literal["sft", "dpo"], shape: Shape, output: Path, state: Path | str
) -> None:
    """Write what was taught as data to train a model on.

    That is lessons, what shadows have compared, and the turns of RUNS.

    Answers alone (sft) are read by OpenAI, TRL and Unsloth alike. One request of ten is held back for validation.
    """
    with closing(EvidenceStore.existing(state)) if not runs or is_there(state) else nullcontext() as store:
        written = training_set(store, runs, wanted, shape)
    for name, lines in zip(("train", "validation"), written, strict=True):
        write_file(output / f"{name}.jsonl", map(without_secrets, lines), "--output")
        click.echo(f"{output / name}.jsonl: {len(lines)}", err=True)


@lessons_command.command("delete")
@click.argument("keys", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All lessons of all pairs.")
@in_state
def delete(keys: tuple[str, ...], everything: bool, state: Path | str) -> None:
    """Delete the lessons KEYS."""
    if bool(keys) == everything:
        raise ConfigError("Say which lessons: their keys, or --all.")
    with closing(EvidenceStore.existing(state)) as store:
        known = [(pair, lesson.key) for pair, lessons in _read_lessons(store).items() for lesson in lessons]
        wanted = known if everything else _require(known, keys, lambda one: one[1])
        number = sum(store.remove(LESSONS, pair, [key]) for pair, key in wanted)
    click.echo(f"Deleted: {number}")


def _require(known: Sequence[T], keys: Iterable[str], key_of: Callable[[T], str]) -> list[T]:
    """Returns the chosen lessons. Raises `ConfigError` for an unknown key."""
    names = [key_of(one) for one in known]
    if missing := [key for key in keys if key not in names]:
        raise ConfigError(f"There is no lesson {missing[0]!r}{near(missing[0], names)}")
    return [one for one in known if key_of(one) in keys]
