"""How far a model may go with tools before it has to answer."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..core.errors import ConfigError

CALLS = 50
LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class RunnerLimits:
    """Limits of one answer; None: no limit.

    Results of more than `summarize_threshold` characters are summed up at once, without tools. With `allow_chaining`
    a model may call again after it has seen results. The pause before the second round is `backoff_seconds`, and
    doubles with each one after it.
    """

    max_rounds: int = 3
    allow_chaining: bool = True
    summarize_threshold: int = 4000
    backoff_seconds: float = 0.1
    calls: int | None = CALLS
    seconds: float | None = None
    cost_usd: float | None = None
    parallel: int = 8

    def __post_init__(self) -> None:
        if self.max_rounds < 1 or self.parallel < 1:
            raise ConfigError("max_rounds and parallel must be at least 1; leave the tools away to have none called.")

    @property
    def rounds(self) -> int:
        return self.max_rounds if self.allow_chaining else 1

    def pause_before(self, round_: int) -> float:
        """The seconds to wait before the calls of this round, which counts from 1, are run."""
        return 0.0 if round_ < 2 else min(LONGEST_PAUSE, self.backoff_seconds * 2.0 ** min(round_ - 2, 60))


def _nothing() -> tuple[float, float]:
    return 0.0, 0.0


@dataclass(slots=True)
class RunBudget:
    """What all answers of one run may use together; None: no limit.

    Calls are counted here, so that answers under way at once share them. `used` tells the seconds and the dollars that
    are gone, those of answers under way among them.
    """

    calls: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    made: int = 0
    used: Callable[[], tuple[float, float]] = field(default=_nothing, repr=False)

    def begin(self, made: int, used: Callable[[], tuple[float, float]]) -> None:
        """A run starts, or goes on after so many calls."""
        self.made = made
        self.used = used

    def spent(self) -> str:
        """Why no more tools are used, if so."""
        if self.calls is not None and self.made >= self.calls:
            return f"the run's tool_calls are used up ({self.made} of {self.calls})"
        seconds, dollars = self.used()
        if self.seconds is not None and seconds >= self.seconds:
            return f"the run's {self.seconds:g} seconds are used up"
        if self.cost_usd is not None and dollars >= self.cost_usd:
            return f"the run's {self.cost_usd:g} dollars are used up"
        return ""


DEFAULT = RunnerLimits()
