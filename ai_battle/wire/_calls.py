"""Ids of tool calls: each call of an answer has one, and no two have the same."""

import hashlib
from dataclasses import replace
from uuid import uuid4

from ..core.messages import Part, ToolCall
from ._json import dumps


def new_id() -> str:
    return f"call_{uuid4().hex[:24]}"


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
