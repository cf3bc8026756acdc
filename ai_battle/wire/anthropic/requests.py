"""Requests of the Messages API."""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, TypeAlias, cast

from ...core.exchange import ModelRequest, ToolSpec
from ...core.messages import Document, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from ..advice import RESULT, RESULT_BLOCK
from ..bodies import DecodeCache, dumps, encode_raw, own, unknown_fields, with_each_message
from ..checks import (
    ObjectShape,
    TaggedShape,
    check,
    flag,
    list_of,
    number,
    object_,
    positive,
    rejection,
    text,
    text_or,
    tool_schema,
    without_nulls,
)
from ..errors import readable_request
from ..messages import MessageCache, turns
from .blocks import BLOCKS, TEXT, WIRE, Block, content_blocks, decode_client_block, encode_part
from .options import CURRENT, decode_options, decode_tool_choice, encode_options

Tools: TypeAlias = tuple[tuple[ToolSpec, ...], dict[str, Any]]


_THEIRS = rejection("is a call of a tool, which only the assistant makes")
_SAID = {"user": {**BLOCKS, "tool_use": _THEIRS}, "assistant": {**BLOCKS, RESULT_BLOCK: RESULT}, "system": BLOCKS}
_MESSAGE = TaggedShape(
    "role",
    {role: {"content!": text_or([TaggedShape("type", blocks)], "a list of blocks")} for role, blocks in _SAID.items()},
    known_only=True,
)
_TOOL = ObjectShape({"name!": text, "description": text, "input_schema!": tool_schema})
_TOOLS = list_of(TaggedShape("type", {"custom": _TOOL}, otherwise="custom"))
_CHOICE = {"name": text, "disable_parallel_tool_use": flag}
_CHOICES = {"auto": _CHOICE, "any": _CHOICE, "tool": {**_CHOICE, "name!": text}, "none": _CHOICE}
_REQUEST = ObjectShape(
    {
        **dict.fromkeys(("temperature", "top_p", "top_k"), number),
        "model": text,
        "messages!": list_of(at_least=1),
        "system": text_or([TEXT], "a list of blocks"),
        "tool_choice": TaggedShape("type", _CHOICES, known_only=True),
        "max_tokens": positive,
        "stop_sequences": [text],
        "stream": flag,
        "metadata": object_,
        "thinking": {"type!": text, "budget_tokens": positive},
        "output_config": {"effort": text, "format": {"schema": tool_schema}},
    }
)
_READ = _REQUEST.names - {"metadata"} | {"tools"}
OURS = frozenset({"system", "tools", "reasoning"})  # fields of `extra` with a meaning of our own

MARK = {"cache_control": {"type": "ephemeral"}}
MARK_BYTES = b"," + dumps(MARK)[1:]
ROLES: Mapping[Role, bytes] = {"system": b"system", "user": b"user", "tool": b"user", "assistant": b"assistant"}
TURNS = {role: b'{"role":"%b","content":[' % theirs for role, theirs in ROLES.items()}

# A coding assistant's first system block is a header for billing; it changes with each request and is no prompt.
BILLING = "x-anthropic-billing-header"


def encode_request(request: ModelRequest, model: str, *, stream: bool = False, version: str = CURRENT) -> bytes:
    """Returns the body for `anthropic-version: version`, without `unsupported` options, others `clamped`.

    The option `cache` marks the system prompt and the last message for the prompt cache.
    """
    extra = own(WIRE, request.extra)
    head = {"model": model} | encode_options(request, model, version) | _encode_system(request)
    if stream:
        head["stream"] = True
    head |= {name: value for name, value in extra.items() if name not in OURS}
    tools = [*map(_encode_tool, request.tools), *map(dumps, extra.get("tools", ()))]
    offered = (b',"tools":[', b",".join(tools), b"]") if tools else ()
    return b"".join((dumps(head)[:-1], *offered, b',"messages":[', *turns(_encode_messages(request, version)), b"]}"))


def pass_request(fields: Mapping[str, Any], model: str) -> bytes:
    """Returns a client's body with another model."""
    return encode_raw({**fields, "model": model})


def options_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a body whose messages and tools are left unread; raises `ConfigError`."""
    check({**body, "messages": [None]}, _REQUEST)
    return decode_options(body)[0]


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """Returns the request that a client sent; fields of this API alone go to `extra`.

    Raises a `ConfigError` that names the place of what is wrong. Results of tools that fit no call are kept as they
    are; `paired_messages` puts them right.
    """
    body = with_each_message(body)
    check(body, _REQUEST)
    with readable_request("Messages"):
        tools, served = TOOLS.decode(body.get("tools"), _decode_tools)
        names, theirs = [tool.name for tool in tools], [tool.get("name") for tool in served.get("tools", ())]
        options, extra = decode_options(body)
        system, came = _decode_system(body.get("system") or "")
        extra |= came | served | {name: value for name, value in body.items() if name not in _READ}
        return ModelRequest(
            tuple(message for each in MESSAGES.decode(body["messages"]) for message in each.messages),
            system,
            tools,
            decode_tool_choice(body.get("tool_choice"), names, theirs),
            _decode_schema(body),
            options,
            extra={WIRE: extra} if extra else {},
        )


def _decode_schema(body: Mapping[str, Any]) -> Any:
    return without_nulls(((body.get("output_config") or {}).get("format") or {}).get("schema"))


def _encode_messages(request: ModelRequest, version: str) -> list[tuple[bytes, bytes]]:
    key = f"{WIRE} {version}"
    encoded = [(TURNS[m.role], m.encoded.get(key) or _encode_message(m, version, key)) for m in request.messages]
    if request.options.get("cache") and encoded:
        opening, blocks = encoded[-1]
        encoded[-1] = (opening, _mark_last(blocks, request.messages[-1]))
    return encoded


def _encode_message(message: Message, version: str, key: str) -> bytes:
    """Returns the blocks, joined by commas, for all later requests too; none where the API refuses to see any."""
    parts: Iterable[Part] = message.parts
    if message.role == "assistant" and version >= CURRENT:
        parts = (Text(f"[{part.name or 'document'}]") if isinstance(part, Document) else part for part in parts)
    blocks = [block for part in parts if (block := encode_part(part))]
    return message.encoded.setdefault(key, dumps(blocks)[1:-1])


def _mark_last(blocks: bytes, message: Message) -> bytes:
    """The API takes no mark on thinking; a client's own mark stands."""
    # The mark goes into the bytes of the last block, so that those of the message stay as they are for later requests.
    last = message.parts[-1] if blocks else Thinking("")
    if isinstance(last, Thinking) or "cache_control" in own(WIRE, last.extra):
        return blocks
    return blocks[:-1] + MARK_BYTES


def _encode_system(request: ModelRequest) -> dict[str, Any]:
    """Writes blocks where a client sent blocks that still say the same, or where the prompt is to be cached."""
    came, system = own(WIRE, request.extra).get("system"), request.system
    if came and _prompt_in(came) == system:
        return {"system": came}
    if not system:
        return {}
    return {"system": [{"type": "text", "text": system, **MARK}] if request.options.get("cache") else system}


def _decode_system(system: str | Iterable[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    return (system, {}) if isinstance(system, str) else (_prompt_in(system), {"system": system})


def _prompt_in(blocks: Iterable[Mapping[str, Any]]) -> str:
    texts = (block.get("text") or "" for block in blocks)
    return "\n\n".join(text for text in texts if not text.startswith(BILLING))


def _encode_tool(tool: ToolSpec) -> bytes:
    if WIRE not in tool.encoded:
        described = {"description": tool.description} if tool.description else {}
        body: Block = {"name": tool.name, **described, "input_schema": tool.schema, **own(WIRE, tool.extra)}
        tool.encoded[WIRE] = dumps(body)
    return tool.encoded[WIRE]


def _decode_tools(tools: Any) -> Tools:
    """Returns the tools that the client runs, and as an extra those that the API runs itself."""
    tools = [] if tools is None else tools
    check(tools, _TOOLS, "tools")
    served = [tool for tool in tools if "input_schema" not in tool]
    return tuple(_decode_tool(tool) for tool in tools if "input_schema" in tool), {"tools": served} if served else {}


def _decode_tool(tool: Mapping[str, Any]) -> ToolSpec:
    came = {name: value for name, value in tool.items() if (name, value) != ("type", "custom")}
    schema = without_nulls(tool["input_schema"])
    return ToolSpec(tool["name"], tool.get("description") or "", schema, extra=unknown_fields(WIRE, came, _TOOL.names))


def _decode_message(message: Mapping[str, Any], known: Mapping[str, ToolCall]) -> Iterable[Message]:
    """Makes messages of their own of tool results, which the API puts into a user's turn."""
    role, content = cast(Role, message["role"]), message["content"]
    if isinstance(content, str):
        return (Message(role, (Text(content),) if content else ()),)
    calls = ChainMap[str, ToolCall]({}, cast(dict[str, ToolCall], known))
    parts = [decode_client_block(block, calls) for block in content_blocks(content)]
    return (Message("tool" if is_result else role, tuple(run)) for is_result, run in groupby(parts, _is_result))


def _is_result(part: Part) -> bool:
    return isinstance(part, ToolResult)


MESSAGES = MessageCache(_MESSAGE, _decode_message)
TOOLS: DecodeCache[Tools] = DecodeCache()
