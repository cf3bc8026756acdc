"""The server's side of OpenAI's Responses API: decodes requests, encodes answers and streams.

Requests and their tools (functions, namespaces, and custom tools that take a text) are here.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, TypeAlias, TypeVar

from ...core.errors import ConfigError
from ...core.exchange import ModelRequest, ToolSpec, object_schema
from ...core.messages import Message
from ..bodies import ANY_OBJECT, EMPTY_VALUES, without_nulls
from ..checks import (
    ObjectShape,
    TaggedShape,
    check,
    check_choice,
    flag,
    list_of,
    number,
    object_,
    one_of,
    positive,
    text,
    text_or,
    tool_schema,
    word_or,
)
from ..errors import readable_request
from ..openai.served import encode_error
from .answers import ResponsesWriter as StreamWriter
from .items import ITEM, WIRE, decode_input, flat_name

__all__ = [
    "CLIENT_TOOLS", "WIRE", "StreamWriter", "decode_request", "encode_error", "expand_references", "keeps",
    "unread_fields",
]  # fmt: skip

UNSUPPORTED = {
    "conversation": "this server stores no conversations: send the last answer's id as previous_response_id",
    "background": "this server has no background mode: leave it out",
    "prompt": "this server stores no prompts: send the text as instructions",
}
OPTIONS = {"max_output_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"}
NOT_KEPT = frozenset(("model", "input", "stream"))

T = TypeVar("T")
Item: TypeAlias = Mapping[str, Any]
Items: TypeAlias = tuple[Item, ...]
Find: TypeAlias = Callable[[str], Awaitable[T | None]]
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
TAKES_TEXT = object_schema({"input": {"type": "string"}})

_TOOL_TYPES = {
    "function": {"name!": text, "description": text, "parameters": tool_schema},
    "custom": {"name!": text, "description": text},
}
CLIENT_TOOLS = frozenset((*_TOOL_TYPES, "namespace"))
"""The types of tools that the client runs; OpenAI runs those of other types."""
_TOOL = TaggedShape("type", {**_TOOL_TYPES, "namespace": {"name!": text, "tools!": [TaggedShape("type", _TOOL_TYPES)]}})
_NAMED = {"name!": text, "namespace": text}
_ALLOWED = {"mode": one_of("auto", "required"), "tools!": [{"name": text, "namespace": text}]}
_CHOICE = TaggedShape("type", {"function": _NAMED, "custom": _NAMED, "allowed_tools": _ALLOWED})
_REQUEST = ObjectShape(
    {
        **dict.fromkeys(("model", "instructions", "previous_response_id"), text),
        **dict.fromkeys(("temperature", "top_p"), number),
        **dict.fromkeys(("parallel_tool_calls", "stream", "store", "background"), flag),
        "input!": text_or(list_of(ITEM, at_least=1), "a list of items"),
        "tools": [_TOOL],
        "tool_choice": word_or(("auto", "none", "required"), _CHOICE),
        "text": {"format": TaggedShape("type", {"json_schema": {"schema!": tool_schema}})},
        "reasoning": {"effort": text, "summary": text},
        "include": [text],
        "metadata": object_,
        "max_output_tokens": positive,
    }
)
ALWAYS_INCLUDED = "reasoning.encrypted_content"


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """Decodes a request. Raises `ConfigError`. Leading system and developer messages join the system prompt.

    Keeps all fields except the conversation in `extra` too, as the answer repeats them.
    """
    _refuse(body)  # before the check, as a body with a stored prompt has no input
    check(body, _REQUEST)
    with readable_request("Responses"):
        system, messages = _split_system(decode_input(body["input"]))
        tools = tuple(_decode_tools(body.get("tools") or ()))
        choice, names = _decode_choice(body.get("tool_choice"), frozenset(tool.name for tool in tools))
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


def unread_fields(body: Mapping[str, Any]) -> list[str]:
    """Returns the fields, and the values of `include`, that a request for a model of another API can't be made of."""
    included = [each for each in body.get("include") or () if each != ALWAYS_INCLUDED]
    return [*_REQUEST.unread(body, _REQUEST.names), *included]


def _split_system(messages: list[Message]) -> tuple[list[str], tuple[Message, ...]]:
    """Separates the texts of leading system messages from the conversation."""
    leading = list(takewhile(lambda message: message.role == "system", messages))
    return [message.text for message in leading], tuple(messages[len(leading) :])


def _refuse(body: Mapping[str, Any]) -> None:
    for name, why in UNSUPPORTED.items():
        if isinstance(body, Mapping) and body.get(name) not in (*EMPTY_VALUES, False):
            raise ConfigError(f"{name} is not supported: {why}.")


def keeps(body: Mapping[str, Any]) -> bool:
    """Returns whether the answer may be stored, which is this API's default."""
    return body.get("store") is not False


async def expand_references(body: Mapping[str, Any], conversation: Find[Items], item: Find[Item]) -> dict[str, Any]:
    """Returns the body with the previous conversation put first, and with references replaced by their items.

    Raises `ConfigError` if `conversation` or `item` returns None.
    """
    before: Items = ()
    if isinstance(previous := body.get("previous_response_id"), str) and previous:
        problem = f"Previous response with id {previous!r} not found."
        before = _require_found(await conversation(previous), problem, "previous_response_id")
    given = body.get("input")
    if not isinstance(given, list):
        given = [{"role": "user", "content": given}] if before and isinstance(given, str) else given
    if isinstance(given, list):
        given = [*before, *[await _resolve_item(each, item) for each in given]]
    return {**body, "input": given}


async def _resolve_item(given: Any, find: Find[Item]) -> Any:
    """Returns the item that a reference names, and any other item unchanged. Some clients send only the `id`."""
    if not isinstance(given, Mapping) or given.keys() - {"type", "id"} or not isinstance(given.get("id"), str):
        return given
    if given.get("type", "item_reference") != "item_reference":
        return given
    return _require_found(await find(given["id"]), f"Item with id {given['id']!r} not found.", "input")


def _require_found(found: T | None, problem: str, about: str) -> T:
    if found is None:
        words = f"{problem} Answers are stored for a limited time, or not if store is false; send all items as input."
        raise ConfigError(words, about)
    return found


def _decode_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {ours: body[theirs] for theirs, ours in OPTIONS.items() if body.get(theirs) is not None}
    if effort := (body.get("reasoning") or {}).get("effort"):
        options["reasoning"] = effort
    if body.get("parallel_tool_calls") is False:
        options["parallel_tool_calls"] = False
    return options


def _decode_tools(tools: Iterable[Mapping[str, Any]]) -> Iterator[ToolSpec]:
    """Yields the tools that the client runs, without those that OpenAI runs itself (web search, code)."""
    for tool in tools:
        if tool["type"] == "namespace":
            yield from (_decode_tool(inner, tool["name"]) for inner in tool["tools"] if _is_ours(inner))
        elif _is_ours(tool):
            yield _decode_tool(tool, "")


def _decode_choice(choice: Any, names: frozenset[str]) -> tuple[str, frozenset[str]]:
    """Returns the tool choice and the names of allowed tools. Raises `ConfigError` for an unknown tool.

    Ignores a choice of a tool that only OpenAI can run.
    """
    match choice:
        case "none" | "required":
            return choice, names
        case {"type": "function" | "custom"}:
            check_choice(_flat_tool_name(choice), names, "tool_choice.name")
            return _flat_tool_name(choice), names
        case {"type": "allowed_tools", "tools": list(tools)}:
            return choice.get("mode") or "auto", names & frozenset(map(_flat_tool_name, tools))
    return "auto", names


def _flat_tool_name(tool: Mapping[str, Any]) -> str:
    return flat_name(tool.get("name") or "", tool.get("namespace") or "")


def _is_ours(tool: Mapping[str, Any]) -> bool:
    return tool["type"] in _TOOL_TYPES


def _decode_tool(tool: Mapping[str, Any], namespace: str) -> ToolSpec:
    name, is_custom = tool["name"], tool["type"] == "custom"
    extra: dict[str, Any] = {}
    if namespace or is_custom:
        extra[WIRE] = {"name": name, "namespace": namespace, "is_custom": is_custom}
    if tool.get("strict"):
        extra["openai"] = {"strict": True}
    schema = TAKES_TEXT if is_custom else without_nulls(tool.get("parameters")) or NO_PARAMETERS
    return ToolSpec(flat_name(name, namespace), _description(tool), schema, extra=extra)


def _description(tool: Mapping[str, Any]) -> str:
    """Returns the description with a custom tool's grammar appended, as only OpenAI can enforce one."""
    form = tool.get("format")
    grammar = form.get("definition") if isinstance(form, Mapping) else None
    words: str = tool.get("description") or ""
    return f"{words}\n\nThe input must fit this grammar:\n{grammar}".strip() if grammar else words
