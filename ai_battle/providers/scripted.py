"""The provider for scripted answers, to try or test everything else without a model."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..core.client import ModelClient
from ..core.errors import (
    BadReply,
    ConfigError,
    ContextTooLong,
    EmptyAnswer,
    ProviderError,
    RateLimited,
    Refused,
    TimedOut,
    Unreachable,
    Unscripted,
)
from ..core.events import Emit, ScriptAdvanced, TextDelta, ThinkingDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse, TokenEstimator, Usage, estimate_message
from ..core.messages import Message, Part, Text, Thinking, ToolCall
from ..core.plugins import near
from ..core.traits import ProviderTraits

FAULTS: Mapping[str, Callable[..., ProviderError]] = {
    "rate_limited": partial(
        RateLimited, "scripted: rate limited, come back later", again="always", status=429, retry_after=0.0
    ),
    "quota": partial(RateLimited, "scripted: the quota is used up", status=429),
    "unreachable": partial(Unreachable, "scripted: no connection", again="always"),
    "timeout": partial(TimedOut, "scripted: no answer in time", again="always"),
    "server_error": partial(Unreachable, "scripted: the server failed", again="always", status=503),
    "cut": partial(BadReply, "scripted: the answer was cut off", again="always"),
    "bad_reply": partial(BadReply, "scripted: the answer is not one of a model", again="once"),
    "empty": partial(EmptyAnswer, "scripted: the answer is empty", again="once"),
    "refused": partial(Refused, "scripted: the model declined to answer"),
    "context_too_long": partial(ContextTooLong, "scripted: the request does not fit the context window", status=400),
    "unauthorized": partial(ProviderError, "scripted: the key was not accepted", status=401),
    "not_found": partial(ProviderError, "scripted: there is no such model", status=404),
}
"""Make the error of a failure; the text sent before it becomes its `partial`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One answer of a script."""

    say: str = ""
    think: str = ""
    calls: tuple[ToolCall, ...] = ()
    fault: Callable[..., ProviderError] | None = None
    delay: float = 0.0


_CONTENT = ("say", "think", "call", "fail")
_KEYS = (*_CONTENT, "delay")


def line(entry: object, where: str) -> Line:
    """Reads one entry: a text, a tool call or a mapping. Raises `ConfigError`, whose message begins with `where`."""
    match entry:
        case Line():
            return entry
        case str():
            return Line(entry)
        case ToolCall():
            return Line(calls=(entry,))
        case Mapping():
            _check_keys(entry, _KEYS, where)
            return _from_mapping(entry, where)
    raise ConfigError(f"{where} is {entry!r}; write a text in quotes or a mapping with {', '.join(_KEYS)}.")


def rule(entry: object, where: str) -> tuple[re.Pattern[str], Line]:
    """Reads one rule, the answer to each message that matches a pattern. Raises `ConfigError`."""
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where} is {entry!r}; write a mapping such as {{match: 'hello', say: 'Hello!'}}.")
    _check_keys(entry, ("match", *_KEYS), where)
    if not isinstance(pattern := entry.get("match"), str):
        raise ConfigError(f"{where} has no 'match', the pattern that the last message must contain.")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{where}: match: {pattern!r} is not a regular expression: {error}.") from error
    return compiled, _from_mapping(entry, where)


def _check_keys(entry: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    _refuse_unknown(entry, known, where)
    if not any(key in entry for key in _CONTENT):
        raise ConfigError(f"{where} says nothing; it needs one of {', '.join(_CONTENT)}.")


def _refuse_unknown(entry: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in entry:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}{near(str(key), list(known))}")


def _from_mapping(entry: Mapping[str, Any], where: str) -> Line:
    return Line(
        _text(entry.get("say", ""), f"{where}: say"),
        _text(entry.get("think", ""), f"{where}: think"),
        _calls(entry.get("call", ()), f"{where}: call"),
        _fault(entry.get("fail"), f"{where}: fail"),
        _seconds(entry.get("delay", 0.0), f"{where}: delay"),
    )


def _text(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    raise ConfigError(f"{where} is {value!r}; write the text in quotes.")


def _calls(value: object, where: str) -> tuple[ToolCall, ...]:
    return tuple(_call(call, where) for call in (value if isinstance(value, list | tuple) else (value,)))


def _call(value: object, where: str) -> ToolCall:
    if isinstance(value, ToolCall):
        return value
    if not isinstance(value, Mapping) or not isinstance(name := value.get("tool"), str):
        raise ConfigError(f"{where} is {value!r}; write {{tool: NAME, parameters: {{...}}}}.")
    _refuse_unknown(value, ("tool", "parameters"), where)
    if not isinstance(arguments := value.get("parameters") or {}, Mapping):
        raise ConfigError(f"{where}: parameters is {arguments!r}; write a mapping.")
    return ToolCall(name, dict(arguments))


def _fault(name: object, where: str) -> Callable[..., ProviderError] | None:
    if name is None:
        return None
    if isinstance(name, str) and name in FAULTS:
        return FAULTS[name]
    raise ConfigError(f"{where}: there is no fault {name!r}{near(str(name), list(FAULTS))}")


def _seconds(value: object, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    raise ConfigError(f"{where} is {value!r}; write seconds, such as 0.2.")


_REMEMBERED_REQUESTS = 1_000
_WORDS = re.compile(r"\s*\S+\s*|\s+")
Entry = str | Mapping[str, Any] | ToolCall | Callable[[ModelRequest], Any]


class ScriptedClient(ModelClient):
    """Plays `entries` in order, unless a rule in `when` matches the last message, which then uses up no entry.

    An entry is a text, a mapping `{say, think, call, fail, delay}`, a tool call, or a function from the request to
    one of these. `requests` holds the last thousand requests. `position` counts the used entries; pass it as `start`
    to continue the script in another client. `pace` is the seconds between two words.
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
        self._input = TokenEstimator()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.requests.append(request)
        del self.requests[:-_REMEMBERED_REQUESTS]
        before = self.position
        reply = self._next(request)
        if self.position != before:
            await emit(ScriptAdvanced(self.position))
        await asyncio.sleep(reply.delay)
        await self._stream(reply, emit)
        if reply.fault:
            raise reply.fault(partial=reply.say)
        message = Message("assistant", tuple(_parts(reply)))
        usage = Usage(self._input.estimate(request), estimate_message(message), cost_usd=0.0)
        return ModelResponse(message, stop="tool_calls" if reply.calls else "end", usage=usage, model=self.model)

    def _next(self, request: ModelRequest) -> Line:
        last = _newest_text(request)
        answer = next((line for match, line in self._rules if match.search(last)), None) or self._next_entry(request)
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

    async def _stream(self, reply: Line, emit: Emit) -> None:
        if reply.think:
            await emit(ThinkingDelta(reply.think))
        for word in _WORDS.findall(reply.say):
            await emit(TextDelta(word))
            if self._pace:
                await asyncio.sleep(self._pace)
        for index, call in enumerate(reply.calls):
            await emit(ToolCallDelta(index, call.id, call.name, json.dumps(call.arguments)))


TRAITS = ProviderTraits(recited=True, takes_script=True, local=True, free=True)


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


def _newest_text(request: ModelRequest) -> str:
    if not request.messages:
        return ""
    last = request.messages[-1]
    return "\n".join((last.text, *(result.text for result in last.tool_results)))


def _parts(reply: Line) -> Iterable[Part]:
    if reply.think:
        yield Thinking(reply.think)
    if reply.say:
        yield Text(reply.say)
    yield from reply.calls
