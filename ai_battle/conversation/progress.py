"""How far a run has come: all that is needed to go on with it."""

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
from ..core.exchange import NOTHING_USED, Usage
from ..core.messages import Message
from ._reading import read


@dataclass(slots=True)
class Progress:
    """What the journal says was done.

    `turn` and `round` are the last that were finished (or failed and skipped); the next turn is `turn + 1`. `recent`
    are the finished turns still in context: those after `summary`, which stands for all through turn `summarised`.
    `calls` counts, by participant, the model calls (answered and failed) that will not be made again: those of finished
    turns, selections and summaries. `started` is None when nothing was journalled yet. `settings`: the last recorded.
    """

    run_dir: Path
    started: RunStarted | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    turn: int = 0
    round: int = 0
    spoken: Counter[str] = field(default_factory=Counter)
    prompt: Message | None = None
    recent: list[TurnFinished] = field(default_factory=list)
    summary: str = ""
    summarised: int = 0
    usage: Usage = NOTHING_USED
    calls: Counter[str] = field(default_factory=Counter)
    ended: RunFinished | None = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do; a run that failed or was interrupted can be resumed."""
        return self.ended is not None and self.ended.status in ("done", "limit")

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is still in context, in order."""
        return tuple(turn.message for turn in self.recent)

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
            case RunStarted(settings=settings):
                self.progress.started, self.progress.settings = event, settings
            case RunResumed():
                self._resume(event)
            case TurnStarted(speaker=speaker):
                self._open[speaker] = None
            case ModelReplied() | AttemptFailed():
                self._pending[event.speaker or next(reversed(self._open), "")] += 1
            case RunFinished():
                self.progress.ended = event
            case TurnFinished() | TurnFailed() | Summarised() | SpeakerSelected():
                self.progress.usage += event.usage
                self._settle(event)

    def _resume(self, event: RunResumed) -> None:
        self.progress.ended = None
        self.progress.settings = event.settings or self.progress.settings
        self._open.clear()
        self._pending.clear()

    def _settle(self, event: TurnFinished | TurnFailed | Summarised | SpeakerSelected) -> None:
        match event:
            case TurnFinished(kind="prompt"):
                self.progress.prompt = event.message
            case TurnFinished(speaker=speaker, attempts=attempts):
                self._pending[speaker] = self._pending[speaker] or attempts
                self._finish(event)
                self.progress.recent.append(event)
                self.progress.spoken[event.speaker] += 1
            case TurnFailed(policy="skip"):
                self._finish(event)
            case Summarised(through, text):
                self.progress.summary, self.progress.summarised = text or self.progress.summary, through
                self.progress.recent = [turn for turn in self.progress.recent if turn.turn > through]
                self._count_calls()
            case SpeakerSelected():
                self._count_calls()

    def _finish(self, event: TurnFinished | TurnFailed) -> None:
        self.progress.turn, self.progress.round = event.turn, event.round
        self._open.pop(event.speaker, None)
        self._count_calls()

    def _count_calls(self) -> None:
        """Those of participants who are not in the middle of a turn: a selector's and a summariser's too."""
        for speaker in [name for name in self._pending if name not in self._open]:
            self.progress.calls[speaker] += self._pending.pop(speaker)
