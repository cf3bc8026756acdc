"""Tool calls that come in fragments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.events import ToolCallDelta
from ...core.messages import ToolCall
from .._calls import new_id
from .._json import dumps, read_arguments
from .._shape import given
from .messages import KNOWN_IN_CALLS
from .parts import kept


@dataclass(slots=True)
class _Growing:
    position: int
    id: str
    name: str
    given_id: str
    arguments: list[str] = field(default_factory=list)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        text = "".join(self.arguments)
        return bool(text) and not read_arguments(text)[1]


class CallsReader:
    """Several servers give every call the same index: a new id, or a new name after complete arguments, starts one."""

    def __init__(self) -> None:
        self._all: list[_Growing] = []
        self._at: dict[Any, _Growing] = {}

    def take(self, fragment: Mapping[str, Any]) -> ToolCallDelta:
        function = fragment.get("function") or {}
        identity, name = given(fragment, "id", ""), given(function, "name", "")
        arguments = _text_of(function.get("arguments"))
        growing = self._going_on(fragment.get("index"), identity)
        if growing is None or _starts_anew(growing, identity, name):
            growing = self._start(fragment, identity, name)
            growing.arguments.append(arguments)
            return ToolCallDelta(growing.position, growing.id, name, arguments)
        growing.name = growing.name or name
        growing.arguments.append(arguments)
        return ToolCallDelta(growing.position, arguments=arguments)

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(_call(growing) for growing in self._all)

    def _going_on(self, index: Any, identity: str) -> _Growing | None:
        """The call that a fragment belongs to; without an index its id tells, and else it is the one before."""
        if index is None and identity:
            return next((growing for growing in self._all if growing.given_id == identity), None)
        return self._at.get(index)

    def _start(self, fragment: Mapping[str, Any], given_id: str, name: str) -> _Growing:
        taken = {growing.id for growing in self._all}
        own_id = given_id if given_id and given_id not in taken else new_id()
        growing = _Growing(len(self._all), own_id, name, given_id, extra=kept(fragment, KNOWN_IN_CALLS))
        self._all.append(growing)
        self._at[fragment.get("index")] = growing
        return growing


def _starts_anew(growing: _Growing, given_id: str, name: str) -> bool:
    if given_id and growing.given_id:
        return given_id != growing.given_id
    return bool(name) and growing.is_complete


def _call(growing: _Growing) -> ToolCall:
    arguments, wrong = read_arguments("".join(growing.arguments))
    return ToolCall(growing.name, arguments, growing.id, wrong, extra=growing.extra)


def _text_of(arguments: Any) -> str:
    """Ollama's relatives send the object itself."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return dumps(arguments).decode()
