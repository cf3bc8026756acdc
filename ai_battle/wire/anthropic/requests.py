"""Requests of the Messages API."""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, TypeAlias, cast

from ...core.exchange import ModelRequest, ToolSpec
from ...core.messages import Document, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from .._calls import MessageCache
from .._checks import check, check_choice
from .._errors import readable_request
from .._extra import kept, own
from .._json import dumps
from .._schema_shape import without_nulls
from .._turns import turns
from ..bodies import DecodeCache, decode_piece
from .blocks import WIRE, Block, content_blocks, decode_said, encode_part
from .options import CURRENT, decode_options, decode_tool_choice, encode_options
from .shape import REQUEST, message_shape, tools_shape

# Without the caller's own choices: the model and whether to stream.
READ = frozenset({
    "model", "stream", "messages", "system", "tools", "tool_choice", "max_tokens", "temperature", "top_p", "top_k",
    "stop_sequences", "thinking", "output_config",
})  # fmt: skip
IN_TOOLS = frozenset({"name", "description", "input_schema"})
Tools: TypeAlias = tuple[tuple[ToolSpec, ...], dict[str, Any]]
TOOLS: DecodeCache[Tools] = DecodeCache()
OURS = frozenset({"system", "tools", "reasoning"})  # fields of `extra` with a meaning of our own

MARK = {"cache_control": {"type": "ephemeral"}}
MARK_BYTES = b',"cache_control":{"type":"ephemeral"}}'
TURNS: Mapping[Role, bytes] = {
    "system": b'{"role":"system","content":[',
    "user": b'{"role":"user","content":[',
    "tool": b'{"role":"user","content":[',
    "assistant": b'{"role":"assistant","content":[',
}

# A coding assistant's first system block is a header for billing; it changes with each request and is no prompt.
BILLING = "x-anthropic-billing-header"


def encode_request(request: ModelRequest, model: str, *, stream: bool = False, version: str = CURRENT) -> bytes:
    """The body for `anthropic-version: version`, without the options that are `unsupported` there, others `clamped`.

    The option `cache` marks the system prompt and the last message for the prompt cache.
    """
    extra = own(WIRE, request.extra)
    head = {"model": model} | encode_options(request, model, version) | _system(request)
    if stream:
        head["stream"] = True
    head |= {name: value for name, value in extra.items() if name not in OURS}
    tools = [*map(_encode_tool, request.tools), *map(dumps, extra.get("tools", ()))]
    offered = (b',"tools":[', b",".join(tools), b"]") if tools else ()
    return b"".join((dumps(head)[:-1], *offered, b',"messages":[', *turns(_encode_messages(request, version)), b"]}"))


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """The request that a client sent; fields of this API alone go to `extra`.

    Raises a `ConfigError` that names the place of what is wrong. Results of tools that fit no call are kept as they
    are; `paired` puts them right.
    """
    check(body, REQUEST)
    tools, served = _tools_of(body.get("tools"))
    names = (*(tool.name for tool in tools), *(tool.get("name") for tool in served.get("tools", ())))
    check_choice(_chosen(body), names, "tool_choice.name")
    with readable_request("Messages"):
        options, extra = decode_options(body)
        system, came = _decode_system(body.get("system") or "")
        extra |= came | served | {name: value for name, value in body.items() if name not in READ}
        return ModelRequest(
            tuple(message for each in MESSAGES.decode(body["messages"]) for message in each.messages),
            system,
            tools,
            decode_tool_choice(body.get("tool_choice"), tools),
            without_nulls(((body.get("output_config") or {}).get("format") or {}).get("schema")),
            options,
            extra={WIRE: extra} if extra else {},
        )


def _chosen(body: Mapping[str, Any]) -> str | None:
    choice = body.get("tool_choice") or {}
    return choice["name"] if choice.get("type") == "tool" else None


def _encode_messages(request: ModelRequest, version: str) -> list[tuple[bytes, bytes]]:
    key = f"{WIRE} {version}"
    encoded = [(TURNS[m.role], m.encoded.get(key) or _encode_message(m, version, key)) for m in request.messages]
    if request.options.get("cache") and encoded:
        opening, blocks = encoded[-1]
        encoded[-1] = (opening, _marked(blocks, request.messages[-1]))
    return encoded


def _encode_message(message: Message, version: str, key: str) -> bytes:
    """Its blocks, joined by commas, for all later requests too; nothing where the API refuses to see any of them."""
    parts: Iterable[Part] = message.parts
    if message.role == "assistant" and version >= CURRENT:
        parts = (Text(f"[{part.name or 'document'}]") if isinstance(part, Document) else part for part in parts)
    blocks = [block for part in parts if (block := encode_part(part))]
    return message.encoded.setdefault(key, dumps(blocks)[1:-1])


def _marked(blocks: bytes, message: Message) -> bytes:
    """The API takes no mark on thinking; a client's own mark stands."""
    last = message.parts[-1] if blocks else Thinking("")
    if isinstance(last, Thinking) or "cache_control" in own(WIRE, last.extra):
        return blocks
    return blocks[:-1] + MARK_BYTES


def _system(request: ModelRequest) -> dict[str, Any]:
    """As blocks where a client sent blocks that still say the same, or where the prompt is to be cached."""
    came = own(WIRE, request.extra).get("system")
    if came and _prompt_in(came) == request.system:
        return {"system": came}
    if not request.system:
        return {}
    return {
        "system": [{"type": "text", "text": request.system, **MARK}] if request.options.get("cache") else request.system
    }


def _decode_system(system: str | Iterable[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    return (system, {}) if isinstance(system, str) else (_prompt_in(system), {"system": system})


def _prompt_in(blocks: Iterable[Mapping[str, Any]]) -> str:
    texts = (block.get("text") or "" for block in blocks)
    return "\n\n".join(text for text in texts if not text.startswith(BILLING))


def _encode_tool(tool: ToolSpec) -> bytes:
    if WIRE not in tool.encoded:
        tool.encoded[WIRE] = dumps(_tool_body(tool))
    return tool.encoded[WIRE]


def _tool_body(tool: ToolSpec) -> Block:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": tool.schema, **own(WIRE, tool.extra)}


def _tools_of(came: Any) -> Tools:
    raw = came if isinstance(came, bytes) else b""
    if raw and (made := TOOLS.get(raw)):
        return made
    tools = decode_piece(raw) if raw else came or ()
    check({"tools": tools or None}, tools_shape)
    with readable_request("Messages"):
        made = _decode_tools(tools)
    return TOOLS.put(raw, made) if raw else made


def _decode_tools(tools: Iterable[Mapping[str, Any]]) -> Tools:
    """Those that the client runs, and as an extra those that the API runs itself."""
    served = [tool for tool in tools if "input_schema" not in tool]
    return tuple(_decode_tool(tool) for tool in tools if "input_schema" in tool), {"tools": served} if served else {}


def _decode_tool(tool: Mapping[str, Any]) -> ToolSpec:
    told = {name: value for name, value in tool.items() if (name, value) != ("type", "custom")}
    return ToolSpec(
        tool["name"],
        tool.get("description") or "",
        without_nulls(tool["input_schema"]),
        extra=kept(WIRE, told, IN_TOOLS),
    )


def _decode_message(message: Mapping[str, Any], known: Mapping[str, ToolCall]) -> Iterable[Message]:
    """Tool results, which the API puts into a user's turn, become messages of their own."""
    role, content = cast(Role, message["role"]), message["content"]
    if isinstance(content, str):
        return (Message(role, (Text(content),) if content else ()),)
    calls = ChainMap[str, ToolCall]({}, cast(dict[str, ToolCall], known))
    parts = [decode_said(block, calls) for block in content_blocks(content)]
    return (Message("tool" if is_result else role, tuple(run)) for is_result, run in groupby(parts, _is_result))


def _is_result(part: Part) -> bool:
    return isinstance(part, ToolResult)


MESSAGES = MessageCache(message_shape, _decode_message)
