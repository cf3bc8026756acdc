"""Decides what becomes of each call that a model wishes for: it is run, answered from memory, or refused."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..core.ledger import book_tool_call, limit_reached
from ..core.messages import ToolResult
from .limits import RunnerLimits

FAILURES = 3
CIRCLE = "the model goes in a circle"
GIVEN_ALREADY = "the model asks again for what it was given"
NO_SUCH_TOOLS = "the model calls tools that there are not, or writes calls that can't be read"


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as it would be run; `key` is the same for equal calls, `writes`: it may change what others see."""

    tool: str
    key: str
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Execute:
    """The call is run."""


@dataclass(frozen=True, slots=True)
class Replay:
    """An equal call was run before, and nothing was written since: this is its result."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Reject:
    """The call is not run; the model is told why."""

    reason: str


Verdict: TypeAlias = Execute | Replay | Reject


@dataclass(slots=True)
class _Round:
    """What came of the calls of one round so far."""

    keys: list[str] = field(default_factory=list)
    replayed: int = 0
    unknown: int = 0
    stale: int = 0

    def is_all(self, count: int) -> bool:
        return bool(self.keys) and count == len(self.keys)


class Guard:
    """The memory of one answer. `ended` says why no more calls are run, `excluded` are the tools that keep failing."""

    def __init__(self, limits: RunnerLimits) -> None:
        self.ended = ""
        self.excluded: set[str] = set()
        self._limits = limits
        self._known: dict[str, ToolResult] = {}
        self._outcomes: dict[tuple[str, str], str] = {}
        self._failures: Counter[str] = Counter()
        self._calls = 0
        self._circled = False
        self._now = _Round()
        self._past: list[_Round] = []

    @property
    def rounds(self) -> int:
        """How many rounds are over."""
        return len(self._past)

    def decide(self, asked: Asked, seconds: float = 0.0) -> Verdict:
        """`seconds` is how long this answer has been worked on."""
        self._now.keys.append(asked.key)
        if known := self._known.get(asked.key):
            self._now.replayed += 1
            return Replay(known)
        if asked.tool in self.excluded:
            return Reject(f"{asked.tool} failed {FAILURES} times running and can't be used any more in this answer")
        if spent := self._spent(seconds):
            self.ended = spent
            return Reject(f"It was not run: {spent}")
        self._calls += 1
        book_tool_call()
        return Execute()

    def refused(self, tool: str, key: str, *, unknown: bool) -> None:
        """A call that could not even be tried: its tool is unknown, or its arguments do not fit."""
        self._now.keys.append(key)
        self._now.unknown += unknown
        if not unknown:
            self._failed(tool)

    def denied(self, asked: Asked, result: ToolResult) -> None:
        """A call that was to be run may not be: it counts neither as made nor as failed, and nobody is asked again."""
        self._calls -= 1
        book_tool_call(-1)
        self._known[asked.key] = result

    def learn(self, asked: Asked, result: ToolResult) -> None:
        """A call was run. What is written may change any other result, and failures are worth another try."""
        if asked.writes:
            self._known.clear()
        if result.is_error:
            self._failed(asked.tool)
            return
        self._failures[asked.tool] = 0
        self._known[asked.key] = result
        first = self._outcomes.setdefault((asked.tool, result.text), asked.key)
        self._now.stale += not asked.writes and first != asked.key

    def end_round(self, seconds: float = 0.0) -> bool:
        """Takes stock after so many `seconds` of this answer.

        Whether the model has to be told that it goes in a circle: once, the next one is the end.
        """
        done, self._now = self._now, _Round()
        self._past.append(done)
        self.ended = self.ended or self._reason(done) or self._spent(seconds)
        circle = done.is_all(done.replayed + done.stale) or self._is_cycle()
        if self.ended or not circle:
            return False
        if self._circled:
            self.ended = CIRCLE
        self._circled = True
        return not self.ended

    @property
    def in_circles(self) -> bool:
        """Whether it ended because the calls got nowhere, not at a limit."""
        return self.ended in (CIRCLE, GIVEN_ALREADY, NO_SUCH_TOOLS)

    def _reason(self, done: _Round) -> str:
        if done.is_all(done.replayed):
            return GIVEN_ALREADY
        if all(past.is_all(past.unknown) for past in self._past[-2:]) and len(self._past) > 1:
            return NO_SUCH_TOOLS
        if len(self._past) >= self._limits.rounds:
            return f"{len(self._past)} of {self._limits.rounds} rounds are used up"
        return ""

    def _is_cycle(self) -> bool:
        """A-B-A-B, where each has written something in between."""
        keys: Sequence[list[str]] = [past.keys for past in self._past[-4:]]
        return len(keys) == 4 and keys[0] == keys[2] and keys[1] == keys[3]

    def _failed(self, tool: str) -> None:
        self._failures[tool] += 1
        if self._failures[tool] >= FAILURES:
            self.excluded.add(tool)

    def _spent(self, seconds: float) -> str:
        if self._limits.calls is not None and self._calls >= self._limits.calls:
            return f"{self._calls} calls were made, which is the limit of one answer"
        if self._limits.seconds is not None and seconds >= self._limits.seconds:
            return f"the {self._limits.seconds:g} s for the tools of one answer are used up"
        return limit_reached()
