"""Encodes and decodes requests, answers, streams and errors of Anthropic's Messages API.

Requests are here; their options, the blocks of messages, and the answers have files of their own.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, TypeAlias, cast

from ...core.exchange import ModelRequest, RawBody, ToolSpec
from ...core.messages import Document, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from ..advice import RESULT, RESULT_BLOCK
from ..bodies import DecodeCache, dumps, encode_raw, own, turns, unknown_fields, with_raw_messages, without_nulls
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
)
from ..errors import readable_request
from ..requests import MessageCache, checkable
from .answers import MessagesReader as StreamReader
from .answers import MessagesWriter as StreamWriter
from .answers import decode_response, decode_usage, encode_error, encode_response, encode_usage, stop_of
from .blocks import BLOCKS, TEXT, WIRE, Block, content_blocks, decode_client_block, encode_part
from .options import (
    CLASSIC,
    CURRENT,
    clamped_options,
    decode_options,
    decode_tool_choice,
    encode_options,
    sent_max_tokens,
    unsupported_options,
    with_accepted_schema,
)

__all__ = [
    "CLASSIC", "CURRENT", "WIRE", "StreamReader", "StreamWriter", "add_messages", "clamped_options",
    "decode_head", "decode_request", "decode_response", "decode_usage", "encode_error",
    "encode_request", "encode_response", "encode_usage", "options_in", "pass_request", "sent_max_tokens", "stop_of",
    "unread_fields", "unsupported_options",
]  # fmt: skip

Tools: TypeAlias = tuple[tuple[ToolSpec, ...], dict[str, Any]]


_NO_CALL = rejection("is a tool call, which only the assistant may send")
_ROLES = {"user": {**BLOCKS, "tool_use": _NO_CALL}, "assistant": {**BLOCKS, RESULT_BLOCK: RESULT}, "system": BLOCKS}
_MESSAGE = TaggedShape(
    "role",
    {role: {"content!": text_or([TaggedShape("type", blocks)], "a list of blocks")} for role, blocks in _ROLES.items()},
    strict_kinds=True,
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
        "tool_choice": TaggedShape("type", _CHOICES, strict_kinds=True),
        "max_tokens": positive,
        "stop_sequences": [text],
        "stream": flag,
        "metadata": object_,
        "thinking": {"type!": text, "budget_tokens": positive},
        "output_config": {"effort": text, "format": {"type": text, "schema": tool_schema}},
    }
)
READ = _REQUEST.names - {"metadata"} | {"tools"}
"""The fields that a request for a model of another API can be made of."""
OWN_KEYS = frozenset({"system", "tools", "reasoning"})  # keys of `extra` that are not fields of the body

CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
MARK_BYTES = b"," + dumps(CACHE_MARK)[1:]
ROLES: Mapping[Role, bytes] = {"system": b"system", "user": b"user", "tool": b"user", "assistant": b"assistant"}
TURNS = {role: b'{"role":"%b","content":[' % theirs for role, theirs in ROLES.items()}

# Claude Code's first system block is a billing header. It changes with each request and is not part of the prompt.
BILLING = "x-anthropic-billing-header"


def encode_request(request: ModelRequest, model: str, *, stream: bool = False, version: str = CURRENT) -> bytes:
    """Returns the JSON body for `anthropic-version: version`, with unsupported options dropped and others clamped.

    The option `cache` marks the system prompt and the last message for the prompt cache.
    """
    request, extra = with_accepted_schema(request), own(WIRE, request.extra)
    head = {"model": model} | encode_options(request, model, version) | _encode_system(request)
    if stream:
        head["stream"] = True
    head |= {name: value for name, value in extra.items() if name not in OWN_KEYS}
    tools = [*map(_encode_tool, request.tools), *map(dumps, extra.get("tools", ()))]
    offered = (b',"tools":[', b",".join(tools), b"]") if tools else ()
    return b"".join((dumps(head)[:-1], *offered, b',"messages":[', *turns(_encode_messages(request, version)), b"]}"))


def pass_request(body: RawBody, model: str) -> bytes:
    """Returns a client's body with the model replaced."""
    head = body.once((WIRE, model), lambda fields: encode_raw({**fields, "model": model}))
    return with_raw_messages(head, body.fields["messages"])


def unread_fields(body: Mapping[str, Any]) -> list[str]:
    """Returns the fields that a request for a model of another API can't be made of."""
    return [*_REQUEST.unread(body, READ)]


def options_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a body without decoding its messages and tools. Raises `ConfigError`."""
    check(checkable(body), _REQUEST)
    return decode_options(body)[0]


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """Decodes a client's request. Fields that only this API has go to `extra`.

    Raises `ConfigError` naming the place of an invalid value. Keeps tool results without a call, which
    `paired_messages` repairs.
    """
    return add_messages(decode_head(body), body)


def decode_head(body: Mapping[str, Any]) -> ModelRequest:
    """Decodes a request except its messages. Raises `ConfigError`."""
    check(checkable(body), _REQUEST)
    with READABLE:
        tools, served = TOOLS.decode(body.get("tools"), _decode_tools)
        names, theirs = [tool.name for tool in tools], [tool.get("name") for tool in served.get("tools", ())]
        options, extra = decode_options(body)
        system, came = _decode_system(body.get("system") or "")
        extra |= came | served | {name: value for name, value in body.items() if name not in READ}
        return ModelRequest(
            (),
            system,
            tools,
            decode_tool_choice(body.get("tool_choice"), names, theirs),
            without_nulls(((body.get("output_config") or {}).get("format") or {}).get("schema")),
            options,
            extra={WIRE: extra} if extra else {},
        )


def add_messages(head: ModelRequest, body: Mapping[str, Any], *, paired: bool = False) -> ModelRequest:
    """Returns the request with the messages of its body. Raises `ConfigError`."""
    with READABLE:
        return head.with_messages(MESSAGES.decode(body["messages"], paired=paired))


def _encode_messages(request: ModelRequest, version: str) -> list[tuple[bytes, bytes]]:
    key = f"{WIRE} {version}"
    encoded = [(TURNS[m.role], m.encoded.get(key) or _encode_message(m, version, key)) for m in request.messages]
    if request.options.get("cache") and encoded:
        opening, blocks = encoded[-1]
        encoded[-1] = (opening, _mark_last(blocks, request.messages[-1]))
    return encoded


def _encode_message(message: Message, version: str, key: str) -> bytes:
    """Returns the message's blocks, joined by commas, and keeps them for later requests. May be empty."""
    parts: Iterable[Part] = message.parts
    if message.role == "assistant" and version >= CURRENT:
        parts = (Text(f"[{part.name or 'document'}]") if isinstance(part, Document) else part for part in parts)
    blocks = [block for part in parts if (block := encode_part(part))]
    return message.encoded.setdefault(key, dumps(blocks)[1:-1])


def _mark_last(blocks: bytes, message: Message) -> bytes:
    """Marks the last block for the cache, unless it is thinking, which the API won't mark, or has a client's mark."""
    # `message.encoded` must stay unmarked for later requests, in which this is no longer the last message.
    last = message.parts[-1] if blocks else Thinking("")
    if isinstance(last, Thinking) or "cache_control" in own(WIRE, last.extra):
        return blocks
    return blocks[:-1] + MARK_BYTES


def _encode_system(request: ModelRequest) -> dict[str, Any]:
    """Returns the client's blocks if they still match the prompt, or a block with a cache mark, or plain text."""
    came, system = own(WIRE, request.extra).get("system"), request.system
    if came and _prompt_in(came) == system:
        return {"system": came}
    if not system:
        return {}
    return {"system": [{"type": "text", "text": system, **CACHE_MARK}] if request.options.get("cache") else system}


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
    """Returns the tools that the client runs, and for `extra` those that Anthropic runs."""
    tools = [] if tools is None else tools
    check(tools, _TOOLS, "tools")
    served = [tool for tool in tools if "input_schema" not in tool]
    return tuple(_decode_tool(tool) for tool in tools if "input_schema" in tool), {"tools": served} if served else {}


def _decode_tool(tool: Mapping[str, Any]) -> ToolSpec:
    came = {name: value for name, value in tool.items() if (name, value) != ("type", "custom")}
    schema = without_nulls(tool["input_schema"])
    return ToolSpec(tool["name"], tool.get("description") or "", schema, extra=unknown_fields(WIRE, came, _TOOL.names))


def _decode_message(message: Mapping[str, Any], known: Mapping[str, ToolCall]) -> Iterable[Message]:
    """Decodes a message. Tool results, which the API puts into a user's turn, become separate messages."""
    role, content = cast(Role, message["role"]), message["content"]
    if isinstance(content, str):
        return (Message(role, (Text(content),) if content else ()),)
    calls = ChainMap[str, ToolCall]({}, cast(dict[str, ToolCall], known))
    parts = [decode_client_block(block, calls) for block in content_blocks(content)]
    runs = groupby(parts, lambda part: isinstance(part, ToolResult))
    return (Message("tool" if is_result else role, tuple(run)) for is_result, run in runs)


MESSAGES = MessageCache(_MESSAGE, _decode_message)
TOOLS: DecodeCache[Tools] = DecodeCache()
READABLE = readable_request("Messages")
