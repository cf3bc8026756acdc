"""What a run has used, and the limits it keeps: near a limit it is brought to an end, not cut off."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from ..core.events import BudgetReached
from ..core.exchange import NOTHING_USED, Usage
from ..core.plugins import check_options

NEAR = 0.9
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit. They are soft: at 90 % the discussion is asked to wrap up, and that answer is still paid for."""

    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    tool_calls: int | None = None

    @classmethod
    def of(cls, said: "Limits | Mapping[str, Any]") -> "Limits":
        if isinstance(said, Limits):
            return said
        check_options(cls, "limits", said)
        return cls(**said)


@dataclass(slots=True)
class Ledger:
    """What was used so far. `known_cost` leaves out what has no known price; `seconds` goes on while the run does."""

    usage: Usage = NOTHING_USED
    known_cost: float = 0.0
    tool_calls: int = 0
    _seconds_before: float = 0.0
    _started: float | None = field(default=None)

    def add(self, usage: Usage) -> None:
        self.usage += usage
        self.known_cost += usage.cost_usd or 0.0

    def spent_before(self, seconds: float) -> None:
        """Time of an earlier process, which counts as well."""
        if self._started is None:
            self._seconds_before += seconds

    def start(self) -> None:
        self._started = monotonic()

    @property
    def seconds(self) -> float:
        return self._seconds_before + (monotonic() - self._started if self._started is not None else 0.0)


def nearest(limits: Limits, ledger: Ledger) -> BudgetReached | None:
    """The limit that is used up most, when at least 90 % of it are."""
    near = max(_shares(limits, ledger), key=lambda reached: reached.share, default=None)
    return near if near and near.share >= NEAR - ROUNDING else None


def _shares(limits: Limits, ledger: Ledger) -> Iterator[BudgetReached]:
    if limits.cost_usd is not None:
        yield BudgetReached("cost_usd", ledger.known_cost, limits.cost_usd)
    if limits.tokens is not None:
        yield BudgetReached("tokens", ledger.usage.total_tokens, limits.tokens)
    if limits.seconds is not None:
        yield BudgetReached("seconds", ledger.seconds, limits.seconds)
    if limits.tool_calls:  # with none at all there is nothing to use up
        yield BudgetReached("tool_calls", ledger.tool_calls, limits.tool_calls)
