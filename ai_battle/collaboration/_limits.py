"""Limits what helpers may use in a turn or in a run."""

from dataclasses import dataclass, field
from typing import Literal

from ..core.errors import ConfigError
from ..core.ledger import Budget, Ledger, SpendingLimits


@dataclass(slots=True)
class HelpUse:
    """What helpers have used and how often they were asked, in an earlier process of the run too."""

    ledger: Ledger = field(default_factory=Ledger)
    calls: int = 0


@dataclass(frozen=True, slots=True)
class HelpLimits:
    """The most that helpers may use per turn or per run; None means no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    per: Literal["turn", "run"] = "run"
    unpriced: Literal["refuse", "allow"] = "refuse"

    def __post_init__(self) -> None:
        for name, most in (("calls", self.calls), ("tokens", self.tokens), ("cost_usd", self.cost_usd)):
            if most is not None and most < 0:
                raise ConfigError(f"{name} is at least 0, not {most!r}.")
        if self.per not in ("turn", "run"):
            raise ConfigError(f"per is turn or run, not {self.per!r}.")

    def budget(self, use: HelpUse) -> Budget:
        return Budget(SpendingLimits(self.cost_usd, self.tokens, unpriced=self.unpriced), use.ledger, "helpers")

    def limit_reached(self, use: HelpUse) -> str:
        """Describes the limit that forbids asking a helper; empty if none does."""
        limit = self.budget(use).full_limit
        if self.calls is not None and use.calls >= self.calls:
            limit = f"calls ({use.calls} of {self.calls})"
        return f"the limit of {limit.replace(' (', ' for helpers is reached (')[:-1]} per {self.per})" if limit else ""
