"""The shape that a request of the Responses API must have."""

from collections.abc import Mapping
from typing import Any

from .._checks import (
    Check,
    Misshapen,
    address,
    anything,
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
from ..openai.shape import AUDIO

_TEXT = fields({"type": text, "text": text}, "text")


def _file(inner: Mapping[str, Check]) -> Check:
    """A picture or a file that comes along, in one of the fields of `inner`, and is not referred to."""
    check = fields({**inner, "filename": text})

    def checked(value: Any) -> None:
        check(value)
        if not any(value.get(name) for name in inner):
            raise Misshapen(f"must bring its data, as {' or '.join(inner)}: this server keeps no files")

    return checked


_CONTENT = text_or(
    list_of(
        by_field(
            "type",
            {
                "input_text": _TEXT,
                "output_text": _TEXT,
                "text": _TEXT,
                "refusal": fields({"refusal": text}, "refusal"),
                "input_audio": AUDIO,
                "input_image": _file({"image_url": address}),
                "input_file": _file({"file_data": address, "file_url": text}),
            },
        )
    ),
    "a list of parts",
)
_THOUGHTS = list_of(_TEXT)
_CALLED = {"call_id": text, "name": text, "namespace": text, "arguments": text, "input": text}
_RETURNED = fields({"call_id": text, "output": _CONTENT}, "call_id", "output")
_ITEM = by_field(
    "type",
    {
        "message": fields(
            {"role": one_of("user", "assistant", "system", "developer"), "content": _CONTENT}, "role", "content"
        ),
        "reasoning": fields({"summary": _THOUGHTS, "content": _THOUGHTS, "encrypted_content": text}),
        "function_call": fields(_CALLED, "call_id", "name", "arguments"),
        "custom_tool_call": fields(_CALLED, "call_id", "name", "input"),
        "function_call_output": _RETURNED,
        "custom_tool_call_output": _RETURNED,
    },
    otherwise="message",
)
_NAMED = {"name": text, "description": text, "parameters": tool_schema}
_FUNCTION = fields(_NAMED, "name")
_OURS = {"function": _FUNCTION, "custom": fields({"name": text, "description": text}, "name")}
_TOOL = by_field(
    "type",
    {**_OURS, "namespace": fields({"name": text, "tools": list_of(by_field("type", _OURS))}, "name", "tools")},
)
_CHOICES = {
    "function": fields({"name": text, "namespace": text}, "name"),
    "custom": fields({"name": text, "namespace": text}, "name"),
    "allowed_tools": fields(
        {"mode": one_of("auto", "required"), "tools": list_of(fields({"name": text, "namespace": text}))}, "tools"
    ),
}


def _choice(value: object) -> None:
    (one_of("auto", "none", "required") if isinstance(value, str) else by_field("type", _CHOICES))(value)


REQUEST = fields(
    {
        "model": text,
        "input": text_or(list_of(_ITEM, at_least=1), "a list of items"),
        "instructions": text,
        "tools": list_of(_TOOL),
        "tool_choice": _choice,
        "text": fields({"format": by_field("type", {"json_schema": fields({"schema": tool_schema}, "schema")})}),
        "reasoning": fields({"effort": text, "summary": text}),
        "include": list_of(text),
        "metadata": object_,
        "max_output_tokens": positive,
        "temperature": number,
        "top_p": number,
        "parallel_tool_calls": flag,
        "stream": flag,
        "store": flag,
        "background": flag,
        "previous_response_id": text,
        "truncation": anything,
    },
    "input",
)
