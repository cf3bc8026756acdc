"""Runs the calls that a model requests: within limits, none twice, and reading calls in parallel."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from time import monotonic
from typing import Literal

from ..core.client import run_together, turn_calls
from ..core.errors import ConfigError, ToolError
from ..core.events import Emit, Warned
from ..core.ledger import book_tool_call, limit_reached
from ..core.messages import Text, ToolCall, ToolResult
from ..core.plugins import translate_errors
from ..core.tooling import UNKNOWN_OUTCOME, EarlierCall, ToolCalled, ToolDecided, ToolReturned
from ..wire.dialects.schemas import call_key
from .approval import Consent, refusal_words
from .manager import GIVEN_UP, ToolManager
from .results import LONGEST_ERROR, cut

LONGEST_PAUSE = 5.0
MAX_PARALLEL = 8
MAX_FAILURES = 5
CIRCLE = "the model goes in a circle"
REPEATED_QUESTION = "the model asks again for what it was given"
NOT_RUN_AGAIN = (
    "This was returned by an equal call that was made for this answer before; it was not run again. Something else was "
    "changed since. Make the call once more only if it has to take effect a second time."
)
NO_SUCH_TOOLS = "the model calls tools that there are not, or writes calls that can't be read"


@dataclass(frozen=True, slots=True)
class RunnerLimits:
    """Limits of one answer.

    If results have more than `summarize_threshold` characters, the answer is requested at once, without tools. With
    `allow_chaining` a model may call again after it has seen results. After a round that brought nothing new there is a
    pause of `backoff_seconds`; it doubles with each further one.
    """

    max_rounds: int = 3
    allow_chaining: bool = True
    summarize_threshold: int = 4000
    backoff_seconds: float = 0.1
    calls: int = 50

    def __post_init__(self) -> None:
        if self.max_rounds < 1:
            raise ConfigError("max_rounds must be at least 1; leave out the tools to have none called.")

    @property
    def rounds(self) -> int:
        return self.max_rounds if self.allow_chaining else 1

    def pause_after(self, idle: int) -> float:
        """Returns the seconds to wait after so many rounds in a row that brought nothing new."""
        return min(LONGEST_PAUSE, self.backoff_seconds * 2.0 ** min(idle - 1, 60)) if idle else 0.0


DEFAULT = RunnerLimits()


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call as the model wrote it, and as it would run (`prepared`) or the `problem` that prevents it.

    Equal calls have the same `key`. A call that `writes` may change what others read; if it does so outside of a fence,
    it is made `once` for all drafts of a turn. The result of a volatile call may differ in a later round.
    """

    call: ToolCall
    key: str
    prepared: ToolCall | None = None
    writes: bool = False
    once: bool = False
    is_volatile: bool = False
    problem: str = ""
    is_unknown: bool = False

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(slots=True)
class _Round:
    """Counts the outcomes of the calls of one round."""

    keys: list[str] = field(default_factory=list)
    replayed: int = 0
    unknown: int = 0
    stale: int = 0
    has_news: bool = False

    def is_all(self, count: int) -> bool:
        return bool(self.keys) and count == len(self.keys)


class CallGuard:
    """Remembers the calls of one answer, to decide which are not run again or refused, and to detect circles.

    `ended` says why no more calls are run; `excluded` are the tools that keep failing; `interrupted` are earlier calls
    that only read.
    """

    def __init__(self, limits: RunnerLimits) -> None:
        self.ended = ""
        self.excluded: set[str] = set()
        self.interrupted: set[str] = set()
        self._limits = limits
        self._known: dict[str, tuple[int | None, ToolResult]] = {}  # a volatile result with the round that it holds for
        self._settled: dict[str, ToolResult] = {}  # results of calls that write and were made for this turn before
        self._stale: set[str] = set()  # keys of those after which something else was changed
        self._unasked: set[str] = set()  # earlier calls that the model has not made again
        self._outcomes: dict[tuple[str, str], str] = {}
        self._failures: Counter[str] = Counter()
        self._calls = 0
        self._circled = False
        self._now = _Round()
        self._past: list[_Round] = []

    @property
    def rounds(self) -> int:
        """The number of completed rounds."""
        return len(self._past)

    @property
    def idle(self) -> int:
        """The number of rounds in a row, up to the last one, that brought nothing new."""
        return sum(1 for _ in takewhile(lambda past: not past.has_news, reversed(self._past)))

    @property
    def in_circles(self) -> bool:
        """Returns whether the calls ended because they got nowhere, rather than at a limit."""
        return self.ended in (CIRCLE, REPEATED_QUESTION, NO_SUCH_TOOLS)

    def take_over(self, planned: PlannedCall, earlier: EarlierCall, *, is_stale: bool) -> None:
        """Remembers a call made for this turn before. None that may write is run again at once, unless it failed."""
        result, key = earlier.result, planned.key
        if result and result.is_error and not is_given_up(result):
            return
        self._unasked.add(key)
        if planned.writes:
            self._settle(planned, result, is_stale=is_stale)
        elif result is None:
            self.interrupted.add(key)
        elif earlier.is_fresh and not planned.is_volatile:
            self._known[key] = None, result

    def _settle(self, planned: PlannedCall, result: ToolResult | None, *, is_stale: bool) -> None:
        self._known.clear()
        is_known = result and not result.is_error
        self._settled[planned.key] = result if result and is_known else refusal(planned.call, UNKNOWN_OUTCOME)
        if is_stale:
            self._stale.add(planned.key)

    def settled_result(self, planned: PlannedCall) -> ToolResult | None:
        """Returns the result of an equal call made for this turn before; None if there is none, or it was told.

        From then on this answer's own calls count. An unknown outcome stays unknown.
        """
        key = planned.key
        if (settled := self._settled.get(key)) is None:
            return None
        self._now.keys.append(key)
        self._count_told(key)
        if not settled.is_error:
            del self._settled[key]
            if key in self._stale:
                return replace(settled, call=planned.call, parts=(*settled.parts, Text(f"\n\n{NOT_RUN_AGAIN}")))
            self._known[key] = None, settled
        return replace(settled, call=planned.call)

    def result_without_running(self, planned: PlannedCall) -> ToolResult | None:
        """Returns the result of an equal call, if nothing was written since, or a refusal; None if it must run."""
        key = planned.key
        self._now.keys.append(key)
        if planned.problem:
            self._now.unknown += planned.is_unknown
            if not planned.is_unknown:
                self._count_failure(planned.tool)
            return refusal(planned.call, planned.problem)
        round_, known = self._known.get(key, (None, None))
        if known and round_ in (None, self.rounds):
            self._count_told(key)
            return replace(known, call=planned.call)
        if planned.tool in self.excluded:
            words = f"{planned.tool} failed {MAX_FAILURES} times running and can't be used any more in this answer"
            return refusal(planned.call, words)
        if limit := self._limit():
            self.ended = limit
            return refusal(planned.call, f"It was not run: {limit}")
        self._calls += 1
        book_tool_call()
        return None

    def _count_told(self, key: str) -> None:
        """Counts a result that is told without a run; of a call made before this answer, the first time is news."""
        self._now.replayed += key not in self._unasked
        self._now.has_news |= key in self._unasked
        self._unasked.discard(key)

    def count_unreadable(self, text: str) -> None:
        """Counts an answer whose calls can't be read."""
        self._now.keys.append(text)
        self._now.unknown += 1

    def remember_denied(self, planned: PlannedCall, result: ToolResult) -> None:
        """Takes back the count of a call that is denied, and remembers the denial, so that nobody is asked again."""
        self._calls -= 1
        book_tool_call(-1)
        self._known[planned.key] = None, result

    def learn(self, planned: PlannedCall, result: ToolResult) -> None:
        """Records the result of a call. Failures are not remembered, because they are worth another try."""
        if planned.writes:
            self._known.clear()  # a write may change any other result
        if result.is_error:
            self._count_failure(planned.tool)
            return
        self._failures[planned.tool] = 0
        _, before = self._known.get(planned.key, (None, None))
        is_same = before is not None and before.parts == result.parts
        self._known[planned.key] = self.rounds if planned.is_volatile else None, result
        first = self._outcomes.setdefault((planned.tool, result.text), planned.key)
        is_stale = not planned.writes and first != planned.key
        self._now.replayed += is_same
        self._now.stale += is_stale
        self._now.has_news |= not (is_same or is_stale)

    def end_round(self, returned: int) -> bool:
        """Ends a round that returned so many characters. Returns whether to tell the model that it goes in circles.

        If it goes on, the calls end.
        """
        done, self._now = self._now, _Round()
        self._past.append(done)
        self.ended = self.ended or self._reason(done, returned) or self._limit()
        circle = done.is_all(done.replayed + done.stale) or self._is_cycle()
        if self.ended or not circle:
            return False
        if self._circled:
            self.ended = CIRCLE
        self._circled = True
        return not self.ended

    def _reason(self, done: _Round, returned: int) -> str:
        if done.is_all(done.replayed):
            return REPEATED_QUESTION
        if len(self._past) > 1 and all(past.is_all(past.unknown) for past in self._past[-2:]):
            return NO_SUCH_TOOLS
        if len(self._past) >= self._limits.rounds:
            return f"{len(self._past)} of {self._limits.rounds} rounds are used up"
        if returned > (most := self._limits.summarize_threshold):
            return f"the results have {returned:,} characters, and summarize_threshold is {most:,}"
        return ""

    def _is_cycle(self) -> bool:
        """Returns whether the rounds alternate (A-B-A-B), which writes in between hide from the other checks."""
        keys: Sequence[list[str]] = [past.keys for past in self._past[-4:]]
        return len(keys) == 4 and keys[0] == keys[2] and keys[1] == keys[3]

    def _count_failure(self, tool: str) -> None:
        self._failures[tool] += 1
        if self._failures[tool] >= MAX_FAILURES:
            self.excluded.add(tool)

    def _limit(self) -> str:
        """Returns the limit that is reached, or ""."""
        if self._calls >= self._limits.calls:
            return f"{self._calls} calls were made, which is the limit of one answer"
        return limit_reached()


class CallRunner:
    """Runs the calls of one answer with the tools of `manager`, and with a `consent` only those that it allows."""

    def __init__(self, manager: ToolManager, limits: RunnerLimits, emit: Emit, consent: Consent | None = None) -> None:
        self.guard = CallGuard(limits)
        self._manager = manager
        self._places = asyncio.Semaphore(MAX_PARALLEL)
        self._emit = emit
        self._consent = consent
        self._turn = turn_calls()
        self._taken: set[str] = set()  # keys of the writes of other drafts that the guard knows
        earlier = [(self._plan(each.call), each) for each in self._turn.earlier]
        newest = next((planned.key for planned, _ in reversed(earlier) if planned.writes), "")
        for planned, each in earlier:
            self.guard.take_over(planned, each, is_stale=planned.key != newest or not each.is_fresh)

    async def run(self, calls: Iterable[ToolCall]) -> tuple[ToolResult, ...]:
        """Returns a result for each call, in order."""
        # Calls of a group run together; groups run in order, so that a read after a write sees what was written.
        results: list[ToolResult] = []
        for group in _groups(map(self._plan, calls)):
            results += await run_together(*map(self._result, group))
        return tuple(results)

    def _plan(self, call: ToolCall) -> PlannedCall:
        registry = self._manager.registry
        if (tool := registry.get_tool(call.name)) is None:
            problem = f"Tool not found: {call.name}; the tools are: {', '.join(registry.names)}"
            return PlannedCall(call, call_key(call), problem=problem, is_unknown=True)
        try:
            prepared = self._manager.prepare(call)
            with translate_errors(f"{call.name} does not say whether it writes", ToolError):
                writes = bool(tool.changes(prepared.arguments))
        except ToolError as error:
            return PlannedCall(call, call_key(call), problem=str(error))
        key, once = call_key(self._turn.as_recorded(prepared)), writes and not tool.is_fenced
        return PlannedCall(call, key, prepared, writes, once, tool.is_volatile)

    async def _result(self, planned: PlannedCall) -> ToolResult:
        if not planned.once:
            return await self._known_result(planned) or await self._run(planned)
        async with self._turn.lock(planned.key):
            made = self._turn.write_of_another(planned.key, self)
            if made and planned.key not in self._taken:
                self._taken.add(planned.key)
                self.guard.take_over(planned, made, is_stale=planned.key != self._turn.newest)
            return await self._known_result(planned) or await self._run(planned)

    async def _known_result(self, planned: PlannedCall) -> ToolResult | None:
        """Returns the result of a call that does not run."""
        if result := self.guard.settled_result(planned):
            await self._emit(ToolReturned(result, 0.0))
            return result
        result = self.guard.result_without_running(planned)
        if result and planned.problem:
            await self._emit(ToolReturned(result, 0.0))
        return result

    async def _run(self, planned: PlannedCall) -> ToolResult:
        """Returns the result of a call, or the objection to it."""
        # Nobody is asked about a call that would not run anyway, so this comes last.
        if objection := self._turn.refused.get(planned.key) or await self._objection(planned):
            self.guard.remember_denied(planned, result := refusal(planned.call, objection))
            return result
        if planned.key in self.guard.interrupted:
            self.guard.interrupted.remove(planned.key)
            await self._emit(Warned(f"{planned.tool} was interrupted; as it only reads, it is run again."))
        async with self._places:
            if planned.once:
                self._turn.begin_write(planned.key, self, planned.call)
            await self._emit(ToolCalled(planned.call))
            started = monotonic()
            result = await self._manager.run(planned.call, planned.prepared)
            await self._emit(ToolReturned(result, monotonic() - started))
        if planned.once and not is_given_up(result):
            self._turn.end_write(planned.key, None if result.is_error else result)
        self.guard.learn(planned, result)
        return result

    async def _objection(self, planned: PlannedCall) -> str:
        """Returns why the call may not run, or "". The decision is about the call as it would run."""
        tool = self._manager.registry.get_tool(planned.tool)
        if self._consent is None or tool is None:
            return ""
        call = planned.prepared or planned.call
        decision = await self._consent.decide(call, writes=planned.writes and not tool.is_fenced, doubt=tool.doubt)
        word: Literal["allowed", "denied"] = "allowed" if decision.allowed else "denied"
        await self._emit(ToolDecided(call, word, decision.by, decision.reason))
        if decision.allowed:
            return ""
        words = refusal_words(call.name, decision)
        if decision.by == "person":
            self._turn.refused[planned.key] = words
        return words


def is_given_up(result: ToolResult) -> bool:
    """Checks for a call of which nobody knows whether it has taken effect, as it was given up while it ran."""
    return result.is_error and GIVEN_UP in result.text


def refusal(call: ToolCall, problem: str) -> ToolResult:
    """Returns the result that tells the model why a call was not run."""
    words = json.dumps({"error": cut(problem, LONGEST_ERROR)}, ensure_ascii=False)
    return ToolResult(call, (Text(words),), is_error=True)


def _groups(calls: Iterable[PlannedCall]) -> Iterator[list[PlannedCall]]:
    """Yields neighbours that can run in parallel: they only read, and no two are equal."""
    group: list[PlannedCall] = []
    for planned in calls:
        is_equal = any(planned.key == other.key for other in group)
        if group and (is_equal or planned.writes or group[-1].writes):
            yield group
            group = []
        group.append(planned)
    if group:
        yield group
