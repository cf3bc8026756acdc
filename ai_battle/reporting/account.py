"""What a run came to: who spoke, what it cost, and how it ended; read from the journal."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..conversation.reading import read
from ..core.events import (
    Event,
    ModelReplied,
    RunFinished,
    RunResumed,
    RunStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ..core.exchange import NOTHING_USED, Usage
from ..core.helping import HelpSummed

UNFINISHED = "unfinished"
BARS = 120


@dataclass(slots=True)
class ParticipantStats:
    """Sums up what one participant did. `type` is its model as configured, `models` those that answered for it."""

    name: str
    type: str = ""
    models: dict[str, None] = field(default_factory=dict)
    turns: int = 0
    failed_turns: int = 0
    seconds: float = 0.0
    usage: Usage = NOTHING_USED

    def finish(self, turn: TurnFinished) -> None:
        self.turns += 1
        self.seconds += turn.seconds
        if turn.model:
            self.models[turn.model] = None

    @property
    def model(self) -> str:
        return ", ".join(self.models) or self.type


@dataclass(slots=True)
class TurnSizes:
    """Tokens per turn for a chart: when there are too many turns for bars, each bar is the mean of several."""

    width: int = 1
    bars: list[float] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)

    def add(self, tokens: int) -> None:
        self._open.append(tokens)
        if len(self._open) == self.width:
            self.bars.append(sum(self._open) / self.width)
            self._open.clear()
        if len(self.bars) == 2 * BARS:
            self.bars = [(a + b) / 2 for a, b in zip(self.bars[::2], self.bars[1::2], strict=True)]
            self.width *= 2

    @property
    def all(self) -> list[float]:
        return [*self.bars, sum(self._open) / len(self._open)] if self._open else self.bars


@dataclass(slots=True)
class RunAccount:
    """The sums over the entries of a run. `overhead` are those of no turn: speakers chosen, notes, the outcome."""

    name: str
    participants: dict[str, ParticipantStats] = field(default_factory=dict)
    begun: str = ""
    ended: str = ""
    status: str = UNFINISHED
    stop_reason: str = ""
    turns: int = 0
    overhead: Usage = NOTHING_USED
    sizes: TurnSizes = field(default_factory=TurnSizes)
    help: HelpSummed | None = None
    _open: set[str] = field(default_factory=set)

    def take(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._begin(event)
            case TurnStarted(speaker=speaker):
                self._open.add(speaker)
            case ModelReplied():
                self._book(event)
            case TurnFinished():
                self.turns += 1
                self._open.discard(event.speaker)
                self.participant(event.speaker).finish(event)
                self.sizes.add(event.usage.total_tokens)
            case TurnFailed():
                self._fail(event)
            case HelpSummed():
                self.help = event
            case RunFinished() | RunResumed():
                self._end(event)

    def _begin(self, event: RunStarted) -> None:
        """What stands before it was used by the run that this one was forked from."""
        self.name, self.overhead, self.help = event.name, NOTHING_USED, None
        self.participants |= {each: ParticipantStats(each, type_) for each, type_ in event.participants.items()}

    def _book(self, entry: ModelReplied) -> None:
        if entry.speaker in self._open:
            self.participant(entry.speaker).usage += entry.usage
        else:
            self.overhead += entry.usage

    def participant(self, name: str) -> ParticipantStats:
        return self.participants.setdefault(name, ParticipantStats(name))

    @property
    def usage(self) -> Usage:
        return sum((each.usage for each in self.participants.values()), self.overhead)

    @property
    def seconds(self) -> float:
        """Wall time from the first to the last event, pauses between a crash and its resume included."""
        if not self.begun:
            return 0.0
        return (datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.begun)).total_seconds()

    def _end(self, event: RunFinished | RunResumed) -> None:
        """Until a run that was taken up again ends, it has not ended."""
        self.status, self.stop_reason = UNFINISHED, ""
        if isinstance(event, RunFinished):
            self.status, self.stop_reason = event.status, event.stop_reason

    def _fail(self, event: TurnFailed) -> None:
        self._open.discard(event.speaker)
        self.participant(event.speaker).failed_turns += 1


def account(run_dir: Path) -> RunAccount:
    """Reads the journal once; memory does not grow with the number of turns."""
    found = RunAccount(run_dir.name)
    for record, event in read(run_dir):
        found.begun = found.begun or str(record["time"])
        found.ended = str(record["time"])
        found.take(event)
    return found
