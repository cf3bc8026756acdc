"""`ai-battle lessons`: what small models were taught by the large ones, to be looked at and deleted."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from ai_battle.core.errors import ConfigError
from ai_battle.core.files import state_directory
from ai_battle.core.plugins import near
from ai_battle.core.texts import one_line, printable
from ai_battle.evidence.lessons import LESSONS, lessons_of
from ai_battle.evidence.store import EvidenceStore

from .options import as_json, in_state
from .output import print_json, without_secrets

T = TypeVar("T")


@click.group("lessons")
def command() -> None:
    """Show what small models were taught by the large ones, or delete it."""


@command.command("list")
@in_state
@as_json
def list_(state: Path | None, as_json: bool) -> None:
    """List the lessons of all pairs: their requests, and how often they were shown and help was needed all the same."""
    with closing(EvidenceStore.existing(state or state_directory())) as store:
        known = {pair: lessons_of(store, pair) for pair in store.pairs(LESSONS)}
    if as_json:
        print_json({pair: [asdict(lesson) for lesson in lessons] for pair, lessons in known.items()})
        return
    for pair, lessons in known.items():
        click.echo(pair)
        for lesson in lessons:
            use = f"shown {lesson.shown} times, help {lesson.asked}" if lesson.shown else "not shown yet"
            click.echo(f"  {lesson.key}  {without_secrets(one_line(lesson.prompt, 60)):60}  {use}")
    if not known:
        click.echo("There are no lessons; a pair that says `lessons: {from: runs}` keeps some.")


@command.command("show")
@click.argument("key")
@in_state
def show(key: str, state: Path | None) -> None:
    """Show the lesson KEY: the request, the answer, and what was wrong at first."""
    with closing(EvidenceStore.existing(state or state_directory())) as store:
        found = [lesson for pair in store.pairs(LESSONS) for lesson in lessons_of(store, pair)]
    for lesson in _require(found, [key], lambda lesson: lesson.key):
        click.echo(
            without_secrets(printable(f"{lesson.prompt}\n\n{lesson.answer}\n\n(At first: {lesson.wrong or 'unknown'})"))
        )


@command.command("delete")
@click.argument("keys", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All lessons of all pairs.")
@in_state
def delete(keys: tuple[str, ...], everything: bool, state: Path | None) -> None:
    """Delete the lessons KEYS."""
    if bool(keys) == everything:
        raise ConfigError("Say which lessons: their keys, or --all.")
    with closing(EvidenceStore.existing(state or state_directory())) as store:
        known = [(pair, lesson.key) for pair in store.pairs(LESSONS) for lesson in lessons_of(store, pair)]
        wanted = known if everything else _require(known, keys, lambda one: one[1])
        number = sum(store.remove(LESSONS, pair, [key]) for pair, key in wanted)
    click.echo(f"Deleted: {number}")


def _require(known: Sequence[T], keys: Iterable[str], key_of: Callable[[T], str]) -> list[T]:
    """Raises `ConfigError` for a key that is none."""
    names = [key_of(one) for one in known]
    if missing := [key for key in keys if key not in names]:
        raise ConfigError(f"There is no lesson {missing[0]!r}{near(missing[0], names)}")
    return [one for one in known if key_of(one) in keys]
