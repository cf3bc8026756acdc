"""The limits of a run, and what it has used of them: near a limit it is brought to an end, not cut off."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

from ..core.events import BudgetReached
from ..core.exchange import Usage
from ..core.ledger import ROUNDING, Ledger, SpendingLimits
from ..core.plugins import check_options

NEAR = 0.9
LAST_WORDS = 3
"""Turns as dear as the dearest so far that have to fit into what is left: one more, one that sums up, and a margin."""


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit. Near one the discussion is asked to wrap up; dollars and tokens are never passed.

    `unpriced: allow` lets models answer whose price nobody knows, for which a limit in dollars can't hold.
    """

    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    tool_calls: int | None = None
    unpriced: Literal["refuse", "allow"] = "refuse"

    @classmethod
    def of(cls, said: "Limits | Mapping[str, Any]") -> "Limits":
        if isinstance(said, Limits):
            return said
        check_options(cls, "limits", said)
        return cls(**said)

    @property
    def spending(self) -> SpendingLimits:
        return SpendingLimits(self.cost_usd, self.tokens, self.unpriced)


@dataclass(slots=True)
class RunUse:
    """What a run has used so far. Its ledger is booked where providers reply; `seconds` goes on while the run does.

    `dearest_usd` and `longest_tokens` are what a turn has taken at the most.
    """

    ledger: Ledger = field(default_factory=Ledger)
    tool_calls: int = 0
    dearest_usd: float = 0.0
    longest_tokens: int = 0
    _seconds_before: float = 0.0
    _started: float | None = field(default=None)

    def add_seconds_before(self, seconds: float) -> None:
        """Time of an earlier process, which counts as well."""
        if self._started is None:
            self._seconds_before += seconds

    def note_turn(self, usage: Usage) -> None:
        self.dearest_usd = max(self.dearest_usd, usage.cost_usd or 0.0)
        self.longest_tokens = max(self.longest_tokens, usage.total_tokens)

    def start(self) -> None:
        self._started = monotonic()

    @property
    def seconds(self) -> float:
        return self._seconds_before + (monotonic() - self._started if self._started is not None else 0.0)


def nearest(limits: Limits, use: RunUse) -> BudgetReached | None:
    """The limit that is used up most, when it is time for last words."""
    near = [reached for reached in _shares(limits, use) if _is_near(reached)]
    return max(near, key=lambda reached: reached.share, default=None)


def _is_near(reached: BudgetReached) -> bool:
    left = reached.allowed - reached.used
    return reached.share >= NEAR - ROUNDING or left < LAST_WORDS * reached.needed - ROUNDING


def _shares(limits: Limits, use: RunUse) -> Iterator[BudgetReached]:
    if limits.cost_usd is not None:
        yield BudgetReached("cost_usd", use.ledger.known_cost, limits.cost_usd, use.dearest_usd)
    if limits.tokens is not None:
        yield BudgetReached("tokens", use.ledger.usage.total_tokens, limits.tokens, use.longest_tokens)
    if limits.seconds is not None:
        yield BudgetReached("seconds", use.seconds, limits.seconds)
    if limits.tool_calls:  # with none at all there is nothing to use up
        yield BudgetReached("tool_calls", use.tool_calls, limits.tool_calls)
