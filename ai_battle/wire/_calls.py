"""Tool calls and their results: each call of an answer has an id of its own, and results find their calls by it."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from secrets import token_hex
from typing import Any, TypeAlias

from ..core.messages import Message, Part, ToolCall
from ._checks import Check, check
from ._json import dumps
from .bodies import DecodeCache, decode_piece

DecodeMessage: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, ToolCall]], Iterable[Message]]


def new_id() -> str:
    return f"call_{token_hex(12)}"


def call_id(call: ToolCall) -> str:
    """Its id; a call that never got one has the same in every message that speaks of it."""
    return call.id or "call_" + hashlib.sha256(dumps([call.name, call.arguments])).hexdigest()[:24]


def with_ids(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Servers leave ids out, or give the same one twice."""
    seen: set[str] = set()
    made: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall):
            part = replace(part, id=new_id()) if not part.id or part.id in seen else part
            seen.add(part.id)
        made.append(part)
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one message of a body came out as, and the raw JSON that it was; empty when it was not raw.

    `answered` are the ids of the calls that its results name, each with the call that they belong to, where there is
    one: the same bytes after other calls are other messages.
    """

    messages: tuple[Message, ...]
    raw: bytes = b""
    calls: Mapping[str, ToolCall] = field(default_factory=dict)
    answered: tuple[tuple[str, ToolCall | None], ...] = ()

    def fits(self, calls: Mapping[str, ToolCall]) -> bool:
        return all(calls.get(id_) is call for id_, call in self.answered)


class MessageCache:
    """Decodes the messages of bodies; those that came before, after the same calls, are the same objects again."""

    def __init__(self, shape: Check, decode: DecodeMessage) -> None:
        self._shape = shape
        self._decode = decode
        self._made: DecodeCache[Decoded] = DecodeCache()
        self._joined: DecodeCache[Message] = DecodeCache()

    def decode(self, bodies: Iterable[Any]) -> Iterator[Decoded]:
        """Raises a `ConfigError` that names the place of what is wrong; a message may be raw JSON."""
        calls: dict[str, ToolCall] = {}
        for index, body in enumerate(bodies):
            raw = body if isinstance(body, bytes) else b""
            made = self._made.get(raw) if raw else None
            if made is None or not made.fits(calls):
                made = self._read(decode_piece(raw) if raw else body, raw, calls, index)
            calls |= made.calls
            yield made

    def joined(self, run: Sequence[Decoded]) -> Message:
        """Returns neighbouring results of tools as one message."""
        if len(run) == 1:
            return run[0].messages[0]
        parts = tuple(part for each in run for message in each.messages for part in message.parts)
        if not all(each.raw for each in run):
            return Message("tool", parts)
        raw = b"".join(each.raw for each in run)
        made = self._joined.get(raw)
        if made and len(made.parts) == len(parts) and all(map(is_, made.parts, parts)):
            return made
        return self._joined.put(raw, Message("tool", parts))

    def _read(self, body: Any, raw: bytes, calls: Mapping[str, ToolCall], index: int) -> Decoded:
        check(body, self._shape, f"messages[{index}]")
        messages = tuple(self._decode(body, calls))
        made = {call.id: call for message in messages for call in message.tool_calls}
        ids = {result.call.id for message in messages for result in message.tool_results}
        decoded = Decoded(messages, raw, made, tuple((id_, calls.get(id_)) for id_ in ids))
        return self._made.put(raw, decoded) if raw else decoded


def with_results_joined(
    bodies: Iterable[Mapping[str, Any]], decode: Callable[[Mapping[str, Any], Mapping[str, ToolCall]], Message]
) -> list[Message]:
    """The messages; neighbouring results of tools become one. `decode` is told of the earlier calls by their ids."""
    messages: list[Message] = []
    calls: dict[str, ToolCall] = {}
    for body in bodies:
        message = decode(body, calls)
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls[part.id] = part
        if message.role == "tool" and messages and messages[-1].role == "tool":
            message = Message("tool", messages.pop().parts + message.parts)
        messages.append(message)
    return messages
