"""A model that says what its script says; everything around it is the real machinery."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..core.client import ModelClient
from ..core.errors import Unscripted
from ..core.events import Emit, ScriptAdvanced, TextDelta, ThinkingDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.messages import Message, Part, Text, Thinking, ToolCall
from ..core.tokens import estimate_message, estimate_request
from ._script import Line, line, rule

_REMEMBERED = 1_000
_WORDS = re.compile(r"\s*\S+\s*|\s+")
Entry = str | Mapping[str, Any] | ToolCall | Callable[[ModelRequest], Any]


class ScriptedClient(ModelClient):
    """Plays `entries` in order; a rule of `when` that fits what was said last goes before, and uses up no entry.

    An entry is a text, a mapping `{say, think, call, fail, delay}`, a tool call, or a function from the request to
    one of these. `requests` are the last thousand that it was asked; `position` is how many entries are used up,
    and what `start` of its successor should be. `pace` is the seconds between two words.
    """

    def __init__(
        self,
        *entries: Entry,
        when: Iterable[Mapping[str, Any]] = (),
        loop: bool = False,
        start: int = 0,
        pace: float = 0.0,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.position = start
        self.model = "scripted"
        self._entries = [e if callable(e) else line(e, f"script, entry {n}") for n, e in enumerate(entries, 1)]
        self._rules = [rule(r, f"when, rule {n}") for n, r in enumerate(when, 1)]
        self._loop = loop
        self._pace = pace
        self._calls = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.requests.append(request)
        del self.requests[:-_REMEMBERED]
        before = self.position
        said = self._next(request)
        if self.position != before:
            await emit(ScriptAdvanced(self.position))
        await asyncio.sleep(said.delay)
        await self._stream(said, emit)
        if said.fault:
            raise said.fault.raised(said.say)
        message = Message("assistant", tuple(_parts(said)))
        usage = Usage(estimate_request(request), estimate_message(message), cost_usd=0.0)
        return ModelResponse(message, stop="tool_calls" if said.calls else "end", usage=usage, model=self.model)

    def _next(self, request: ModelRequest) -> Line:
        last = _said_last(request)
        answer = next((r.line for r in self._rules if r.match.search(last)), None) or self._next_entry(request)
        return replace(answer, calls=tuple(self._with_id(call) for call in answer.calls))

    def _next_entry(self, request: ModelRequest) -> Line:
        number = self.position % len(self._entries) if self._loop and self._entries else self.position
        if number >= len(self._entries):
            raise Unscripted(
                f"The script of this scripted model is used up (entries: {len(self._entries)}); "
                "add entries to 'script', or say 'loop: true'."
            )
        self.position += 1
        entry = self._entries[number]
        return line(entry(request), f"script, entry {number + 1}") if callable(entry) else entry

    def _with_id(self, call: ToolCall) -> ToolCall:
        self._calls += 1
        return call if call.id else replace(call, id=f"call_{self._calls}")

    async def _stream(self, said: Line, emit: Emit) -> None:
        if said.think:
            await emit(ThinkingDelta(said.think))
        for word in _WORDS.findall(said.say):
            await emit(TextDelta(word))
            if self._pace:
                await asyncio.sleep(self._pace)
        for index, call in enumerate(said.calls):
            await emit(ToolCallDelta(index, call.id, call.name, json.dumps(call.arguments)))


def create(
    model: str,
    *,
    script: Iterable[Any] = (),
    when: Iterable[Mapping[str, Any]] = (),
    loop: bool = False,
    pace: float = 0.0,
    start: int = 0,
) -> ScriptedClient:
    client = ScriptedClient(*script, when=when, loop=loop, start=start, pace=pace)
    client.model = f"scripted/{model}" if model else "scripted"
    return client


def _said_last(request: ModelRequest) -> str:
    if not request.messages:
        return ""
    last = request.messages[-1]
    return "\n".join((last.text, *(result.text for result in last.tool_results)))


def _parts(said: Line) -> Iterable[Part]:
    if said.think:
        yield Thinking(said.think)
    if said.say:
        yield Text(said.say)
    yield from said.calls
