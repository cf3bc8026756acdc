"""What a script may say: its entries and rules, checked when they are written and not when they are played."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
)
from ..core.messages import ToolCall
from ..core.plugins import near


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure that a script can play; the text said before it is its `partial`."""

    error: type[ProviderError]
    message: str
    again: Any = "never"
    status: int | None = None
    retry_after: float | None = None

    def raised(self, partial: str) -> ProviderError:
        return self.error(
            f"scripted: {self.message}",
            again=self.again,
            status=self.status,
            retry_after=self.retry_after,
            partial=partial,
        )


FAULTS: Mapping[str, Fault] = {
    "rate_limited": Fault(RateLimited, "rate limited, come back later", "always", 429, 0.0),
    "quota": Fault(RateLimited, "the quota is used up", status=429),
    "unreachable": Fault(Unreachable, "no connection", "always"),
    "timeout": Fault(TimedOut, "no answer in time", "always"),
    "server_error": Fault(Unreachable, "the server failed", "always", 503),
    "cut": Fault(BadReply, "the answer was cut off", "always"),
    "bad_reply": Fault(BadReply, "the answer is not one of a model", "once"),
    "empty": Fault(EmptyAnswer, "the answer is empty", "once"),
    "refused": Fault(Refused, "the model declined to answer"),
    "context_too_long": Fault(ContextTooLong, "the request does not fit the context window", status=400),
    "unauthorized": Fault(ProviderError, "the key was not accepted", status=401),
    "not_found": Fault(ProviderError, "there is no such model", status=404),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One answer of a script."""

    say: str = ""
    think: str = ""
    calls: tuple[ToolCall, ...] = ()
    fault: Fault | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """An answer to whatever fits a pattern."""

    match: re.Pattern[str]
    line: Line


_CONTENT = ("say", "think", "call", "fail")
_KEYS = (*_CONTENT, "delay")


def line(entry: object, where: str) -> Line:
    """Reads one entry: a text, a tool call, or a mapping; `where` begins the message of a `ConfigError`."""
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


def rule(entry: object, where: str) -> Rule:
    """Reads one rule: `match`, and what an entry of the script may have."""
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where} is {entry!r}; write a mapping such as {{match: 'hello', say: 'Hello!'}}.")
    _check_keys(entry, ("match", *_KEYS), where)
    if not isinstance(pattern := entry.get("match"), str):
        raise ConfigError(f"{where} has no 'match': the pattern that what was said last must contain.")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{where}: match: {pattern!r} is no regular expression: {error}.") from error
    return Rule(compiled, _from_mapping(entry, where))


def _check_keys(entry: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in entry:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}{near(str(key), list(known))}")
    if not any(key in entry for key in _CONTENT):
        raise ConfigError(f"{where} says nothing; it needs one of {', '.join(_CONTENT)}.")


def _from_mapping(entry: Mapping[str, Any], where: str) -> Line:
    return Line(
        _text(entry, "say", where),
        _text(entry, "think", where),
        _calls(entry.get("call", ()), where),
        _fault(entry.get("fail"), where),
        _seconds(entry.get("delay", 0.0), where),
    )


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    if isinstance(value := entry.get(key, ""), str):
        return value
    raise ConfigError(f"{where}: {key} is {value!r}; write the text in quotes.")


def _calls(value: object, where: str) -> tuple[ToolCall, ...]:
    wanted = value if isinstance(value, list | tuple) else (value,)
    return tuple(_call(call, where) for call in wanted)


def _call(value: object, where: str) -> ToolCall:
    if isinstance(value, ToolCall):
        return value
    if not isinstance(value, Mapping) or not isinstance(name := value.get("tool"), str):
        raise ConfigError(f"{where}: call is {value!r}; write {{tool: NAME, parameters: {{...}}}}.")
    for key in value:
        if key not in ("tool", "parameters"):
            raise ConfigError(f"{where}: call: unknown key {key!r}{near(str(key), ['tool', 'parameters'])}")
    if not isinstance(arguments := value.get("parameters") or {}, Mapping):
        raise ConfigError(f"{where}: call: parameters is {arguments!r}; write a mapping.")
    return ToolCall(name, dict(arguments))


def _fault(name: object, where: str) -> Fault | None:
    if name is None:
        return None
    if isinstance(name, str) and name in FAULTS:
        return FAULTS[name]
    raise ConfigError(f"{where}: fail: there is no fault {name!r}{near(str(name), list(FAULTS))}")


def _seconds(value: object, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    raise ConfigError(f"{where}: delay is {value!r}; write seconds, such as 0.2.")
