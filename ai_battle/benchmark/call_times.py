"""The time that a sample takes its models, whatever its calls waited for and whichever answers came from the cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True, slots=True)
class CallTime:
    """A call from `begun` to `ended`. `seconds` are the model's own, also if its answer came from the cache."""

    begun: float
    ended: float
    seconds: float


class CallTimes:
    """The calls of a sample that has `begun`, and its time if each had taken its own seconds."""

    def __init__(self) -> None:
        self.begun = perf_counter()
        self._calls: list[CallTime] = []

    def note(self, begun: float, seconds: float) -> None:
        self._calls.append(CallTime(begun, perf_counter(), seconds))

    @property
    def last_seconds(self) -> float:
        return self._calls[-1].seconds

    def seconds(self) -> float:
        """Returns the time until now. A call begins after those that had ended by then: calls at once add no time."""
        ends: list[tuple[float, float]] = []
        for call in sorted(self._calls, key=lambda call: call.begun):
            ends.append((call.ended, self._own_time(call.begun, ends) + call.seconds))
        return self._own_time(perf_counter(), ends)

    def _own_time(self, moment: float, ends: Sequence[tuple[float, float]]) -> float:
        """Returns the time at a moment: that of the calls before it, and what has passed since."""
        before = [each for each in ends if each[0] <= moment]
        if not before:
            return moment - self.begun
        return max(own for _, own in before) + moment - max(ended for ended, _ in before)
