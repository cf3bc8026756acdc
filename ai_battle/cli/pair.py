"""`ai-battle pair`: reports what a pair of models has shown on its user's own requests."""

from contextlib import closing
from pathlib import Path

import click

from ..core.errors import ConfigError
from ..core.plugins import near
from ..evidence.store import EvidenceStore
from ..evidence.versions import VERSIONS, undo_version
from ..reporting.pair_evidence import PairEvidence, read_evidence
from .options import as_json, in_state
from .output import print_json, without_secrets


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
    found = _read(state, pair)
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


def _read(state: Path | str, pair: str) -> list[PairEvidence]:
    """Raises `ConfigError` if there is no evidence, or none of that pair."""
    with closing(EvidenceStore.existing(state)) as store:
        found = read_evidence(store)
    known = [each.pair for each in found]
    if pair and pair not in known:
        raise ConfigError(f"Nothing is known of a pair {pair!r}{near(pair, known)}")
    return [each for each in found if pair in ("", each.pair)]
