"""Requests of the Responses API."""

from collections.abc import Awaitable, Callable, Mapping
from itertools import takewhile
from typing import Any, TypeAlias, TypeVar

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

REFUSED = {
    "conversation": "this server keeps no conversations: name the answer before as previous_response_id",
    "background": "this server answers at once",
    "prompt": "this server keeps no prompts: send its text as instructions",
}
OPTIONS = {"max_output_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"}
NOT_KEPT = frozenset(("model", "input", "stream"))

T = TypeVar("T")
Item: TypeAlias = Mapping[str, Any]
Items: TypeAlias = tuple[Item, ...]
Find: TypeAlias = Callable[[str], Awaitable[T | None]]


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


def keeps(body: Mapping[str, Any]) -> bool:
    """Whether the client lets its answer be kept, as this API does unless it is told otherwise."""
    return body.get("store") is not False


async def expanded(body: Mapping[str, Any], conversation: Find[Items], item: Find[Item]) -> dict[str, Any]:
    """The body with the conversation before it, and with items in the places where it refers to them.

    Raises `ConfigError` for what `conversation` and `item` do not find.
    """
    before: Items = ()
    if isinstance(previous := body.get("previous_response_id"), str) and previous:
        problem = f"Previous response with id {previous!r} not found."
        before = _found(await conversation(previous), problem, "previous_response_id")
    given = body.get("input")
    if not isinstance(given, list):
        given = [{"role": "user", "content": given}] if before and isinstance(given, str) else given
    if isinstance(given, list):
        given = [*before, *[await _item(each, item) for each in given]]
    return {**body, "input": given}


async def _item(given: Any, find: Find[Item]) -> Any:
    """An item that is only referred to; some clients leave out that it is a reference, and send its id alone."""
    if not isinstance(given, Mapping) or given.keys() - {"type", "id"} or not isinstance(given.get("id"), str):
        return given
    if given.get("type", "item_reference") != "item_reference":
        return given
    return _found(await find(given["id"]), f"Item with id {given['id']!r} not found.", "input")


def _found(found: T | None, problem: str, about: str) -> T:
    if found is None:
        words = f"{problem} Answers are kept for a while, and not at all with store: false; send all items as input."
        raise ConfigError(words, about)
    return found


def _decode_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {ours: body[theirs] for theirs, ours in OPTIONS.items() if body.get(theirs) is not None}
    if effort := (body.get("reasoning") or {}).get("effort"):
        options["reasoning"] = effort
    if body.get("parallel_tool_calls") is False:
        options["parallel_tool_calls"] = False
    return options
