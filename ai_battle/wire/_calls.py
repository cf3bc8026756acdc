"""Tool calls and their results: each call of an answer has an id of its own, and results find their calls by it."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from secrets import token_hex
from typing import Any

from ..core.messages import Message, Part, ToolCall
from ._json import dumps


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
