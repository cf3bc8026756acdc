"""What models that help each other cost and saved: a fold over the events of a run."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.events import Event, ModelReplied, TurnFailed, TurnFinished
from ..core.exchange import NOTHING_USED, UNKNOWN_USAGE, Usage
from ..core.helping import DraftDropped, HelpAsked, HelpSummed, Role

Cost = Callable[[Usage], float | None]
"""What a usage would cost on some model, in dollars; None where its price is unknown."""

_ANSWERING: tuple[Role, ...] = ("helper", "boost")


@dataclass(slots=True)
class _Row:
    """What a participant's models of one role did."""

    calls: int = 0
    usage: Usage = NOTHING_USED
    seconds: float = 0.0
    dropped: int = 0
    wasted: Usage = NOTHING_USED

    @property
    def kept(self) -> Usage:
        cost = _less(self.usage.cost_usd, self.wasted.cost_usd)
        inputs = self.usage.input_tokens - self.wasted.input_tokens
        return Usage(inputs, self.usage.output_tokens - self.wasted.output_tokens, cost_usd=cost)


@dataclass(slots=True)
class Help:
    """Only events change it, through `apply`; `large` prices a usage on the model that helps, by participant.

    Where it says who can be helped, only their turns are counted.
    """

    large: Mapping[str, Cost] = field(default_factory=dict)
    _rows: defaultdict[tuple[str, Role], _Row] = field(default_factory=lambda: defaultdict(_Row))
    _turn: defaultdict[tuple[str, Role], _Row] = field(default_factory=lambda: defaultdict(_Row))
    _asking: set[str] = field(default_factory=set)
    _turns: int = 0
    _helped: int = 0
    _saved: int = 0
    _all_large: float | None = 0.0

    def apply(self, event: Event) -> None:
        match event:
            case ModelReplied(speaker=speaker, role=role):
                for rows in (self._rows, self._turn):
                    _count(rows[speaker, role], event)
            case DraftDropped(speaker=speaker, role=role):
                self._saved += event.saved_tokens
                for rows in (self._rows, self._turn):
                    rows[speaker, role].dropped += 1
                    rows[speaker, role].wasted += event.usage
            case HelpAsked(speaker=speaker):
                self._asking.add(speaker)
            case TurnFinished() | TurnFailed():
                self._end_turn(event)

    def spent(self, speaker: str) -> tuple[int, Usage]:
        """The calls of other models that a participant has used, and what they came to."""
        others = [row for (name, role), row in self._rows.items() if name == speaker and role != "own"]
        return sum(row.calls for row in others), sum((row.usage for row in others), NOTHING_USED)

    def summed(self) -> HelpSummed | None:
        """None where nobody could have been helped."""
        if not self.large and all(role == "own" for _, role in self._rows):
            return None
        others = (row.usage for (_, role), row in self._rows.items() if role != "own")
        cost = sum(others, NOTHING_USED).cost_usd
        all_large = self._all_large if self.large else None
        return HelpSummed(self._turns, self._helped, cost, all_large, self._saved, tuple(self._told()))

    def _end_turn(self, event: TurnFinished | TurnFailed) -> None:
        speaker = event.speaker
        mine = {role: self._turn.pop((name, role)) for name, role in [*self._turn] if name == speaker}
        asked = speaker in self._asking
        self._asking.discard(speaker)
        if isinstance(event, TurnFailed):
            return
        self._turns += not self.large or speaker in self.large
        self._helped += asked
        if cost := self.large.get(speaker):
            self._all_large = _plus(self._all_large, cost(_answered_by(mine)))

    def _told(self) -> Iterator[Mapping[str, Any]]:
        for (speaker, role), row in self._rows.items():
            if row.calls > row.dropped:
                yield _said(speaker, role, row.calls - row.dropped, row.kept, row.seconds)
        for speaker in dict.fromkeys(speaker for speaker, _ in self._rows):
            dropped = [row for (name, _), row in self._rows.items() if name == speaker and row.dropped]
            if dropped:
                wasted = sum((row.wasted for row in dropped), NOTHING_USED)
                yield _said(speaker, "wasted", sum(row.dropped for row in dropped), wasted, 0.0)


def _count(row: _Row, event: ModelReplied) -> None:
    row.calls += 1
    row.usage += event.usage
    row.seconds += event.seconds


def _answered_by(rows: Mapping[Role, _Row]) -> Usage:
    """The usage of the answer itself: the participant's own, or where it has none that counts, the helper's."""
    own = rows.get("own")
    if own and own.calls > own.dropped:
        return own.kept
    return next((rows[role].kept for role in _ANSWERING if role in rows), UNKNOWN_USAGE)


def _said(participant: str, role: str, calls: int, usage: Usage, seconds: float) -> Mapping[str, Any]:
    return {
        "participant": participant,
        "role": role,
        "calls": calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "seconds": round(seconds, 3),
    }


def _plus(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b
