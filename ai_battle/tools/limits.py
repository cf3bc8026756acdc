"""How far a model may go with tools before it has to answer."""

from dataclasses import dataclass

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


DEFAULT = RunnerLimits()
