"""The shape that a request of Chat Completions must have."""

from .._checks import (
    Misshapen,
    address,
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

_TEXT = fields({"text": text}, "text")
_OBJECT = fields({"url": address}, "url")


def _url(value: object) -> None:
    (address if isinstance(value, str) else _OBJECT)(value)


AUDIO = fields({"input_audio": fields({"data": base64, "format": text}, "data", "format")}, "input_audio")
_PART = by_field(
    "type",
    {
        "text": _TEXT,
        "refusal": fields({"refusal": text}, "refusal"),
        "image_url": fields({"image_url": _url}, "image_url"),
        "input_audio": AUDIO,
        "file": fields({"file": fields({"file_data": address, "filename": text, "file_id": text})}, "file"),
    },
)


def _part(value: object) -> None:
    """Some clients send words as they are among the parts."""
    if not isinstance(value, str):
        _PART(value)


_CONTENT = text_or(list_of(_part), "a list of parts")
_FUNCTION = fields({"name": text, "arguments": text_or(object_, "an object")}, "name")


def _custom(value: object) -> None:
    raise Misshapen("is of the type custom, which is not possible here: offer a function that takes a text")


_CALL = by_field(
    "type",
    {"function": fields({"id": text, "function": _FUNCTION}, "function"), "custom": _custom},
    otherwise="function",
)
_SAID = {"content": _CONTENT, "name": text}
_ASKED = fields(_SAID, "content")
_RETURNED = fields({"content": _CONTENT, "tool_call_id": text}, "tool_call_id")
_THOUGHT = {"reasoning_content": text, "reasoning": text, "refusal": text}
_MESSAGES = {
    "system": _ASKED,
    "developer": _ASKED,
    "user": _ASKED,
    "assistant": fields({**_SAID, **_THOUGHT, "tool_calls": list_of(_CALL)}),
    "tool": _RETURNED,
    "function": fields(_SAID),
}
_ROLES = one_of(*_MESSAGES)
_HAS_ROLE = fields({"role": _ROLES}, "role")
_BY_ROLE = by_field("role", _MESSAGES)
TALKING = ("user", "assistant", "system", "developer")
_TOOL = by_field(
    "type",
    {
        "function": fields(
            {"function": fields({"name": text, "description": text, "parameters": tool_schema}, "name")}, "function"
        ),
        "custom": _custom,
    },
    otherwise="function",
)
_BY_NAME = fields({"function": fields({"name": text}, "name")}, "function")
_ALLOWED = fields(
    {"mode": one_of("auto", "required"), "tools": list_of(by_field("type", {"function": _BY_NAME}))}, "tools"
)
_NAMED = by_field("type", {"function": _BY_NAME, "allowed_tools": fields({"allowed_tools": _ALLOWED}, "allowed_tools")})


def message_shape(value: object) -> None:
    if not is_plain(value, TALKING):
        _HAS_ROLE(value)
        _BY_ROLE(value)


def _choice(value: object) -> None:
    (one_of("auto", "none", "required") if isinstance(value, str) else _NAMED)(value)


def _former(value: object) -> None:
    if value not in ([], "auto", "none"):
        raise Misshapen("is of a former API: offer tools, and choose with tool_choice")


def _one(value: object) -> None:
    if value != 1:
        raise Misshapen("must be 1: there is one answer")


tools_shape = fields({"tools": list_of(_TOOL)})
REQUEST = fields(
    {
        "model": text,
        "messages": list_of(anything, at_least=1),
        "tool_choice": _choice,
        "max_tokens": positive,
        "max_completion_tokens": positive,
        "temperature": number,
        "top_p": number,
        "frequency_penalty": number,
        "presence_penalty": number,
        "n": _one,
        "stop": text_or(list_of(text), "a list of texts"),
        "stream": flag,
        "stream_options": fields({"include_usage": flag}),
        "parallel_tool_calls": flag,
        "reasoning_effort": text,
        "response_format": by_field("type", {"json_schema": fields({"json_schema": fields({"schema": tool_schema})})}),
        "logit_bias": object_,
        "functions": _former,
        "function_call": _former,
    },
    "messages",
)
