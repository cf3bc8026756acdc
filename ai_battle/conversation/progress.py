"""How far a run has come: what has to be known before it is taken up again."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.events import (
    AttemptFailed,
    Event,
    ModelReplied,
    RunFinished,
    RunResumed,
    RunStarted,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ._reading import read


@dataclass(slots=True)
class Progress:
    """What the journal says was done.

    `turn` is the last one that is over, `calls` counts by participant the model calls, answered and failed, that will
    not be made again: those of turns that are over, selections and summaries. `started` is None when nothing was
    journalled yet; `settings` are the last that were recorded, `ended` how the run ended, if it did.
    """

    run_dir: Path
    started: RunStarted | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    turn: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    ended: RunFinished | None = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; a run that failed or was interrupted can be resumed."""
        return self.ended is not None and self.ended.status in ("done", "limit")

    @property
    def config_digest(self) -> str:
        return str(self.settings.get("config_digest", ""))


def progress(run_dir: Path) -> Progress:
    """Reads the journal once, one line in memory at a time."""
    account = _Account(Progress(run_dir))
    for _, event in read(run_dir):
        account.take(event)
    return account.progress


class _Account:
    """Adds events up. Calls of a turn that is still open count only when it is over: it will be played again."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._open: dict[str, None] = {}
        self._pending: Counter[str] = Counter()

    def take(self, event: Event) -> None:
        match event:
            case RunStarted() | RunResumed():
                self._begin(event)
            case TurnStarted(speaker=speaker):
                self._open[speaker] = None
            case ModelReplied() | AttemptFailed():
                self._pending[event.speaker or next(reversed(self._open), "")] += 1
            case TurnFinished() | TurnFailed(policy="skip"):
                self._close_turn(event)
            case SpeakerSelected() | Summarised():
                self._count_calls()
            case RunFinished():
                self.progress.ended = event

    def _begin(self, event: RunStarted | RunResumed) -> None:
        if isinstance(event, RunStarted):
            self.progress.started = event
        self.progress.ended = None
        self.progress.settings = event.settings or self.progress.settings
        self._open.clear()
        self._pending.clear()

    def _close_turn(self, event: TurnFinished | TurnFailed) -> None:
        """A client that tells of no calls made as many as its turn says."""
        self.progress.turn = event.turn
        if isinstance(event, TurnFinished) and event.speaker:
            self._pending[event.speaker] = self._pending[event.speaker] or event.attempts
        self._open.pop(event.speaker, None)
        self._count_calls()

    def _count_calls(self) -> None:
        """Those of participants who are not in the middle of a turn: a selector's and a summariser's too."""
        for speaker in [name for name in self._pending if name not in self._open]:
            self.progress.calls[speaker] += self._pending.pop(speaker)
