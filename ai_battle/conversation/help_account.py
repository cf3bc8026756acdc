"""Sums up what helping models cost and saved, as a fold over the events of a run."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.events import Event, ModelReplied, TurnFailed, TurnFinished, TurnStarted
from ..core.exchange import DOLLAR_DIGITS, NOTHING_USED, Usage
from ..core.helping import (
    AnswersCompared,
    BoostStep,
    DraftDropped,
    HelpArrival,
    HelpAsked,
    HelpFailed,
    HelpSummed,
    Role,
    StuckFound,
)
from .participant import Cost

_ARRIVAL_EVENTS = (HelpAsked, HelpFailed, BoostStep, StuckFound, ModelReplied)
_ANSWER_ROLES: tuple[Role, ...] = ("own", "helper", "boost", "chair", "peer")


@dataclass(slots=True)
class _Row:
    """The calls and usage of a participant's models in one role."""

    calls: int = 0
    usage: Usage = NOTHING_USED
    seconds: float = 0.0
    dropped: int = 0
    wasted: Usage = NOTHING_USED

    def count(self, event: ModelReplied | DraftDropped) -> None:
        if isinstance(event, DraftDropped):
            self.dropped += event.calls
            self.wasted += event.usage
        else:
            self.calls += 1
            self.usage += event.usage
            self.seconds += event.seconds
            if event.failed:
                self.dropped += 1
                self.wasted += event.usage

    @property
    def kept_calls(self) -> int:
        return self.calls - self.dropped

    @property
    def kept_usage(self) -> Usage:
        rest = self.usage - self.wasted
        return Usage(rest.input_tokens, rest.output_tokens, cost_usd=rest.cost_usd, estimated=rest.estimated)


@dataclass
class _TurnHelp(HelpArrival):
    """Also takes help for received once the model itself goes on: a helper that fails then has helped all the same.

    `latest` counts the helper's calls since it was last asked: what it had replied before was advice, or dropped.
    """

    latest: _Row = field(default_factory=_Row)

    def apply(self, event: object) -> None:
        match event:
            case HelpAsked():
                self.latest = _Row()
            case StuckFound() | ModelReplied(role="own"):
                self.came, self.asked = self.has_come, False
            case ModelReplied(role="helper" | "boost"):
                self.latest.count(event)
        super().apply(event)


@dataclass(slots=True)
class HelpAccount:
    """Counts help from events given to `apply`. `large` prices a usage on the helping model, by participant.

    If `large` names the participants that can be helped, only their turns are counted. `asked` counts how often helpers
    were asked, including calls in vain.
    """

    large: Mapping[str, Cost] = field(default_factory=dict)
    _rows: defaultdict[tuple[str, Role], _Row] = field(default_factory=lambda: defaultdict(_Row))
    _turn: defaultdict[tuple[str, Role], _Row] = field(default_factory=lambda: defaultdict(_Row))
    _arrivals: dict[str, _TurnHelp] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    _turns: int = 0
    _helped: int = 0
    _saved: int = 0
    _compared: int = 0
    _replaced: int = 0
    _all_large: float | None = 0.0

    def apply(self, event: Event) -> None:
        match event:
            case TurnStarted(speaker=speaker):
                self._begin_turn(speaker)
            case ModelReplied() | DraftDropped():
                self._count(event)
            case HelpAsked(speaker=speaker):
                self.asked[speaker] += 1
                self._arrivals.setdefault(speaker, _TurnHelp())
            case AnswersCompared(is_replaced=is_replaced):
                self._compared += 1
                self._replaced += is_replaced
            case TurnFinished() | TurnFailed():
                self._end_turn(event)
        if isinstance(event, _ARRIVAL_EVENTS) and (arrival := self._arrivals.get(event.speaker)):
            arrival.apply(event)

    def _count(self, event: ModelReplied | DraftDropped) -> None:
        for rows in (self._rows, self._turn) if event.speaker in self.large else (self._rows,):
            rows[event.speaker, event.role].count(event)
        self._saved += event.saved_tokens if isinstance(event, DraftDropped) else 0

    def total(self) -> HelpSummed | None:
        """Returns the sums for the whole run, or None if nobody could be helped.

        The cost is unknown if the clients report no calls.
        """
        if not self.large and not self.asked and all(role == "own" for _, role in self._rows):
            return None
        others = (row.usage for (_, role), row in self._rows.items() if role != "own")
        cost = sum(others, NOTHING_USED).cost_usd if any(row.calls for row in self._rows.values()) else None
        all_large = self._all_large if self.large else None
        rows = (*self._kept_rows(), *self._wasted_rows())
        return HelpSummed(self._turns, self._helped, cost, all_large, self._saved, rows, self._compared, self._replaced)

    def is_waiting(self, speaker: str) -> bool:
        """Returns whether the participant's turn waits for a helper, which was asked and has not replied."""
        arrival = self._arrivals.get(speaker)
        return bool(arrival and arrival.asked and not arrival.latest.calls)

    def _begin_turn(self, speaker: str) -> None:
        """Begins a turn. Calls before it belong to no turn: they chose a speaker, summed up, or were interrupted."""
        self._arrivals.pop(speaker, None)
        for key in [key for key in self._turn if key[0] == speaker]:
            del self._turn[key]

    def _end_turn(self, event: TurnFinished | TurnFailed) -> None:
        speaker = event.speaker
        mine = {role: self._turn.pop((name, role)) for name, role in [*self._turn] if name == speaker}
        arrival = self._arrivals.pop(speaker, None)
        if isinstance(event, TurnFailed):
            return
        self._turns += not self.large or speaker in self.large
        latest = _Row()
        if arrival:
            self._helped += arrival.has_come
            latest = arrival.latest
        if cost := self.large.get(speaker):
            paid, before = _answer_cost(cost, mine, latest), self._all_large
            self._all_large = None if paid is None or before is None else round(before + paid, DOLLAR_DIGITS)

    def _kept_rows(self) -> Iterator[Mapping[str, Any]]:
        for (speaker, role), row in self._rows.items():
            if row.kept_calls > 0:
                yield _row(speaker, role, row.kept_calls, row.kept_usage, row.seconds)

    def _wasted_rows(self) -> Iterator[Mapping[str, Any]]:
        for speaker in dict.fromkeys(speaker for speaker, _ in self._rows):
            dropped = [row for (name, _), row in self._rows.items() if name == speaker and row.dropped]
            if dropped:
                wasted = sum((row.wasted for row in dropped), NOTHING_USED)
                yield _row(speaker, "wasted", sum(row.dropped for row in dropped), wasted, 0.0)


def _answer_cost(cost: Cost, rows: Mapping[Role, _Row], latest: _Row) -> float | None:
    """Prices the answer itself: the participant's own, or that of the model that answered for it."""
    own, *others = (rows.get(role, _Row()) for role in _ANSWER_ROLES)
    usage = next((row.kept_usage for row in (own, latest, *others) if row.kept_calls > 0), None)
    return cost(usage) if usage else None


def _row(participant: str, role: str, calls: int, usage: Usage, seconds: float) -> Mapping[str, Any]:
    return {
        "participant": participant,
        "role": role,
        "calls": calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "seconds": round(seconds, 3),
        **({"estimated": True} if usage.estimated else {}),
    }
