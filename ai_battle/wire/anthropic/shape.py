"""The shape that a request of the Messages API must have."""

from collections.abc import Mapping

from .._checks import (
    Check,
    Misshapen,
    anything,
    base64,
    by_field,
    fields,
    flag,
    list_of,
    number,
    object_,
    one_of,
    positive,
    text,
    text_or,
)
from .._schema_shape import tool_schema
from .._shape import is_plain

_TEXT = fields({"type": text, "text": text}, "text")
_FILE = by_field(
    "type",
    {
        "base64": fields({"media_type": text, "data": base64}, "media_type", "data"),
        "url": fields({"url": text}, "url"),
        "text": fields({"data": text}, "data"),
    },
)
_SHOWN = {
    "text": _TEXT,
    "image": fields({"source": _FILE}, "source"),
    "document": fields({"source": _FILE, "title": text}, "source"),
}
_RETURNED = text_or(list_of(by_field("type", _SHOWN)), "a list of blocks")
_BLOCKS: dict[str, Check] = {
    **_SHOWN,
    "thinking": fields({"thinking": text, "signature": text}, "thinking"),
    "tool_use": fields({"id": text, "name": text, "input": text_or(object_, "an object")}, "id", "name"),
    "tool_result": fields({"tool_use_id": text, "content": _RETURNED, "is_error": flag}, "tool_use_id"),
}


def _not_theirs(value: object) -> None:
    raise Misshapen("is a call of a tool, which only the assistant makes")


def _said(blocks: Mapping[str, Check]) -> Check:
    return fields({"content": text_or(list_of(by_field("type", blocks)), "a list of blocks")}, "content")


_SAID = {"user": _said({**_BLOCKS, "tool_use": _not_theirs}), "assistant": _said(_BLOCKS), "system": _said(_BLOCKS)}
TALKING = (*_SAID,)
_NOBODY = fields({"role": one_of(*_SAID)}, "role")


def message_shape(value: object) -> None:
    if is_plain(value, TALKING):
        return
    role = value.get("role") if isinstance(value, dict) else None
    (_SAID.get(role, _NOBODY) if isinstance(role, str) else _NOBODY)(value)


_TOOL = by_field(
    "type",
    {"custom": fields({"name": text, "description": text, "input_schema": tool_schema}, "name", "input_schema")},
    otherwise="custom",
)
_CHOSEN = {"name": text, "disable_parallel_tool_use": flag}
_CHOICES = {"auto": fields(_CHOSEN), "any": fields(_CHOSEN), "tool": fields(_CHOSEN, "name"), "none": fields(_CHOSEN)}


def _choice(value: object) -> None:
    fields({"type": one_of(*_CHOICES)}, "type")(value)
    by_field("type", _CHOICES)(value)


tools_shape = fields({"tools": list_of(_TOOL)})
REQUEST = fields(
    {
        "model": text,
        "messages": list_of(anything, at_least=1),
        "system": text_or(list_of(_TEXT), "a list of blocks"),
        "tool_choice": _choice,
        "max_tokens": positive,
        "temperature": number,
        "top_p": number,
        "top_k": number,
        "stop_sequences": list_of(text),
        "stream": flag,
        "metadata": object_,
        "thinking": fields({"type": text, "budget_tokens": positive}, "type"),
        "output_config": fields({"effort": text, "format": fields({"schema": tool_schema})}),
        "context_management": anything,
    },
    "messages",
)
