"""Requests of the Responses API, with its tools: functions, also in namespaces, and custom tools that take a text."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias, TypeVar

from ...core.errors import ConfigError
from ...core.exchange import ModelRequest, ToolSpec
from ...core.messages import Message
from ..bodies import ANY_OBJECT, NOTHING, own
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
    without_nulls,
    word_or,
)
from ..errors import readable_request
from .items import ITEM, WIRE, decode_input, flat_name

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
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
TAKES_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}

_OURS = {
    "function": {"name!": text, "description": text, "parameters": tool_schema},
    "custom": {"name!": text, "description": text},
}
_TOOL = TaggedShape("type", {**_OURS, "namespace": {"name!": text, "tools!": [TaggedShape("type", _OURS)]}})
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


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """Returns the request; all fields but the conversation are kept in `extra` as well, for the answer repeats them.

    A leading message of the system or the developer belongs to the system prompt. Raises `ConfigError`.
    """
    check(body, _REQUEST)
    _refuse(body)
    with readable_request("Responses"):
        system, messages = _apart(decode_input(body["input"]))
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


def _apart(messages: list[Message]) -> tuple[list[str], tuple[Message, ...]]:
    """Returns what the system and the developer say first, and the conversation."""
    leading = list(takewhile(lambda message: message.role == "system", messages))
    return [message.text for message in leading], tuple(messages[len(leading) :])


def _refuse(body: Mapping[str, Any]) -> None:
    for name, why in REFUSED.items():
        if body.get(name) not in (*NOTHING, False):
            raise ConfigError(f"{name} is not possible here: {why}.")


def keeps(body: Mapping[str, Any]) -> bool:
    """Says whether the client lets its answer be kept, as this API does unless it is told otherwise."""
    return body.get("store") is not False


async def expand_references(body: Mapping[str, Any], conversation: Find[Items], item: Find[Item]) -> dict[str, Any]:
    """Returns the body with the conversation before it, and with items in the places where it refers to them.

    Raises `ConfigError` for what `conversation` and `item` do not find.
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
    """Returns the item that is referred to; some clients leave out that it is a reference, and send its id alone."""
    if not isinstance(given, Mapping) or given.keys() - {"type", "id"} or not isinstance(given.get("id"), str):
        return given
    if given.get("type", "item_reference") != "item_reference":
        return given
    return _require_found(await find(given["id"]), f"Item with id {given['id']!r} not found.", "input")


def _require_found(found: T | None, problem: str, about: str) -> T:
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


@dataclass(frozen=True, slots=True)
class ClientTool:
    """How the client knows a tool that an upstream knows by its flat name."""

    name: str
    namespace: str = ""
    is_custom: bool = False


def _decode_tools(tools: Iterable[Mapping[str, Any]]) -> Iterator[ToolSpec]:
    """Yields the tools that the client runs; what OpenAI runs itself (web search, code) is left out."""
    for tool in tools:
        if tool["type"] == "namespace":
            yield from (_decode_tool(inner, tool["name"]) for inner in tool["tools"] if _is_ours(inner))
        elif _is_ours(tool):
            yield _decode_tool(tool, "")


def _decode_choice(choice: Any, names: frozenset[str]) -> tuple[str, frozenset[str]]:
    """Returns what is to be called, and the tools to choose from. Raises `ConfigError` for one that nobody offers.

    One of those that OpenAI runs itself nobody else can be told to call.
    """
    match choice:
        case "none" | "required":
            return choice, names
        case {"type": "function" | "custom"}:
            check_choice(_flat(choice), names, "tool_choice.name")
            return _flat(choice), names
        case {"type": "allowed_tools", "tools": list(tools)}:
            return choice.get("mode") or "auto", names & frozenset(map(_flat, tools))
    return "auto", names


def _flat(tool: Mapping[str, Any]) -> str:
    return flat_name(tool.get("name") or "", tool.get("namespace") or "")


def known_to_client(request: ModelRequest | None) -> dict[str, ClientTool]:
    """Returns how the client knows its tools, by the flat names of those that it knows otherwise."""
    extras = {tool.name: own(WIRE, tool.extra) for tool in (request.tools if request else ())}
    return {flat: ClientTool(**extra) for flat, extra in extras.items() if extra}


def _is_ours(tool: Mapping[str, Any]) -> bool:
    return tool["type"] in ("function", "custom")


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
    """Returns the description, with the grammar of a custom tool in words: nobody else enforces one."""
    form = tool.get("format")
    grammar = form.get("definition") if isinstance(form, Mapping) else None
    words: str = tool.get("description") or ""
    return f"{words}\n\nThe input must fit this grammar:\n{grammar}".strip() if grammar else words
