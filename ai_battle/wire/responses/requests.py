"""Requests of the Responses API."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from ...core.errors import ConfigError
from ...core.exchange import ModelRequest
from ...core.messages import Message
from .._checks import check
from .._errors import readable_request
from .._extra import NOTHING
from .._schema_shape import without_nulls
from .._shape import ANY_OBJECT
from .items import decode_input
from .shape import REQUEST
from .tools import WIRE, decode_choice, decode_tools

KEEPS_NOTHING = "this server keeps no answers: send the whole conversation as input"
REFUSED = {
    "previous_response_id": KEEPS_NOTHING,
    "conversation": KEEPS_NOTHING,
    "background": "this server answers at once",
    "prompt": "this server keeps no prompts: send its text as instructions",
}
OPTIONS = {"max_output_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"}
NOT_KEPT = frozenset(("model", "input", "stream"))


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """What a client sent; all fields but the conversation are kept in `extra` as well, for the answer repeats them.

    A leading message of the system or the developer belongs to the system prompt. Raises `ConfigError`.
    """
    check(body, REQUEST)
    _refuse(body)
    with readable_request("Responses"):
        system, messages = _apart(decode_input(body["input"]))
        tools = tuple(decode_tools(body.get("tools") or ()))
        choice, names = decode_choice(body.get("tool_choice"), frozenset(tool.name for tool in tools))
        form = (body.get("text") or {}).get("format") or {}
        return ModelRequest(
            messages,
            "\n\n".join(filter(None, (body.get("instructions"), *system))),
            tuple(tool for tool in tools if tool.name in names),
            choice,
            ANY_OBJECT if form.get("type") == "json_object" else without_nulls(form.get("schema")),
            _decode_options(body),
            extra={WIRE: {name: value for name, value in body.items() if name not in NOT_KEPT}},
        )


def _apart(messages: list[Message]) -> tuple[list[str], tuple[Message, ...]]:
    """What the system and the developer say first, and the conversation."""
    leading = list(takewhile(lambda message: message.role == "system", messages))
    return [message.text for message in leading], tuple(messages[len(leading) :])


def _refuse(body: Mapping[str, Any]) -> None:
    for name, why in REFUSED.items():
        if body.get(name) not in (*NOTHING, False):
            raise ConfigError(f"{name} is not possible here: {why}.")
    items = body["input"] if isinstance(body["input"], list) else ()
    for index, item in enumerate(items):
        if item.get("type") == "item_reference":
            raise ConfigError(f"input[{index}] refers to an item; {KEEPS_NOTHING}.")


def _decode_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {ours: body[theirs] for theirs, ours in OPTIONS.items() if body.get(theirs) is not None}
    if effort := (body.get("reasoning") or {}).get("effort"):
        options["reasoning"] = effort
    if body.get("parallel_tool_calls") is False:
        options["parallel_tool_calls"] = False
    return options
