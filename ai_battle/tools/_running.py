"""Runs the calls of one round: those that only read at the same time, those that write one after another."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from time import monotonic

from ..core.borders import foreign_code
from ..core.errors import ToolError
from ..core.events import Emit
from ..core.messages import Text, ToolCall, ToolResult
from ..core.tooling import ToolCalled, ToolDecided, ToolReturned
from ..wire.dialects.schemas import call_key
from ._lengths import cut
from ._results import LONGEST_ERROR
from ._waiting import together
from .approval import Consent, refused
from .guard import Asked, Guard, Reject, Replay
from .manager import ToolManager


@dataclass(frozen=True, slots=True)
class _Wish:
    """A call, and as what it would be run; or the `problem` because of which it is refused."""

    call: ToolCall
    asked: Asked
    prepared: ToolCall | None = None
    is_fenced: bool = False
    doubt: str = ""
    problem: str = ""
    unknown: bool = False


class Runner:
    """Runs calls for one answer; where there is a `consent`, those that it allows."""

    def __init__(
        self, manager: ToolManager, guard: Guard, parallel: int, emit: Emit, consent: Consent | None = None
    ) -> None:
        self._manager = manager
        self._guard = guard
        self._room = asyncio.Semaphore(parallel)
        self._emit = emit
        self._consent = consent
        self._started = monotonic()

    @property
    def seconds(self) -> float:
        """How long this answer has been worked on."""
        return monotonic() - self._started

    async def run(self, calls: Iterable[ToolCall]) -> tuple[ToolResult, ...]:
        """A result for each call, in their order."""
        results: list[ToolResult] = []
        for group in _groups([self._wish(call) for call in calls]):
            results += await together([self._result(wish) for wish in group])
        return tuple(results)

    def _wish(self, call: ToolCall) -> _Wish:
        registry = self._manager.registry
        if (tool := registry.get_tool(call.name)) is None:
            problem = _unknown(call.name, registry.names)
            return _Wish(call, Asked(call.name, call_key(call)), problem=problem, unknown=True)
        try:
            prepared = self._manager.prepared(call)
            with foreign_code(f"{call.name} does not say whether it writes", ToolError):
                writes = bool(tool.changes(prepared.arguments))
        except ToolError as error:
            return _Wish(call, Asked(call.name, call_key(call)), problem=str(error))
        return _Wish(call, Asked(call.name, call_key(prepared), writes), prepared, tool.is_fenced, tool.doubt)

    async def _result(self, wish: _Wish) -> ToolResult:
        if wish.problem:
            self._guard.refused(wish.asked.tool, wish.asked.key, unknown=wish.unknown)
            return refusal(wish.call, wish.problem)
        match self._guard.decide(wish.asked, self.seconds):
            case Replay(known):
                return replace(known, call=wish.call)
            case Reject(reason):
                return refusal(wish.call, reason)
        if problem := await self._objection(wish):
            self._guard.denied(wish.asked, result := refusal(wish.call, problem))
            return result
        result = await self._executed(wish)
        self._guard.learn(wish.asked, result)
        return result

    async def _objection(self, wish: _Wish) -> str:
        """Why it may not run; what is decided on is what would run."""
        if self._consent is None:
            return ""
        call = wish.prepared or wish.call
        writes = wish.asked.writes and not wish.is_fenced
        decision = await self._consent.decide(call, writes=writes, doubt=wish.doubt)
        await self._emit(ToolDecided(call, decision.word, decision.by, decision.reason))
        return "" if decision.allowed else refused(call.name, decision)

    async def _executed(self, wish: _Wish) -> ToolResult:
        async with self._room:
            await self._emit(ToolCalled(wish.call))
            started = monotonic()
            result = await self._manager.run(wish.call, wish.prepared)
            await self._emit(ToolReturned(result, monotonic() - started))
        return result


def refusal(call: ToolCall, problem: str) -> ToolResult:
    """What a model is told of a call that was not run."""
    words = json.dumps({"error": cut(problem, LONGEST_ERROR)}, ensure_ascii=False)
    return ToolResult(call, (Text(words),), is_error=True)


def _groups(wishes: Iterable[_Wish]) -> Iterator[list[_Wish]]:
    """Neighbours that can run at the same time: they read, and no two of them ask for the same."""
    group: list[_Wish] = []
    for wish in wishes:
        equal = any(wish.asked.key == other.asked.key for other in group)
        if group and (equal or wish.asked.writes or group[-1].asked.writes):
            yield group
            group = []
        group.append(wish)
    if group:
        yield group


def _unknown(name: str, names: list[str]) -> str:
    return f"Tool not found: {name}; the tools are: {', '.join(names)}"
