"""The limits of a run, and what it has used of them: near a limit it is brought to an end, not cut off."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..core.events import BudgetReached
from ..core.exchange import Usage
from ..core.ledger import ROUNDING, Ledger, SpendingLimits

NEAR = 0.9
LAST_WORDS = 3
"""Turns as dear as the dearest so far that have to fit into what is left: one more, one that sums up, and a margin."""


@dataclass(slots=True)
class RunUse:
    """What a run has used so far: its ledger, and what a turn has taken at the most."""

    ledger: Ledger = field(default_factory=Ledger)
    dearest_usd: float = 0.0
    longest_tokens: int = 0

    def note_turn(self, usage: Usage) -> None:
        self.dearest_usd = max(self.dearest_usd, usage.cost_usd or 0.0)
        self.longest_tokens = max(self.longest_tokens, usage.total_tokens)


def nearest(limits: SpendingLimits, use: RunUse) -> BudgetReached | None:
    """The limit that is used up most, when it is time for last words."""
    near = [reached for reached in _shares(limits, use) if _is_near(reached)]
    return max(near, key=lambda reached: reached.share, default=None)


def _is_near(reached: BudgetReached) -> bool:
    left = reached.allowed - reached.used
    return reached.share >= NEAR - ROUNDING or left < LAST_WORDS * reached.needed - ROUNDING


def _shares(limits: SpendingLimits, use: RunUse) -> Iterator[BudgetReached]:
    ledger = use.ledger
    if limits.cost_usd is not None:
        yield BudgetReached("cost_usd", ledger.known_cost, limits.cost_usd, use.dearest_usd)
    if limits.tokens is not None:
        yield BudgetReached("tokens", ledger.usage.total_tokens, limits.tokens, use.longest_tokens)
    if limits.seconds is not None:
        yield BudgetReached("seconds", ledger.seconds, limits.seconds)
    if limits.tool_calls:  # with none at all there is nothing to use up
        yield BudgetReached("tool_calls", ledger.tool_calls, limits.tool_calls)
