"""Requests of generateContent; the model and whether to stream stand in its address."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from ...core.exchange import ModelRequest, ToolSpec
from ...core.messages import Message, Part, Role, ToolCall, ToolResult
from .._errors import readable_request
from .._extra import kept, own
from .._json import dumps
from .._turns import turns
from .options import decode_choice, decode_config, encode_choice, encode_config, generation
from .parts import WIRE, Body, decode_part, encode_parts, in_camel_case

READ = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"})
IN_TOOLS = frozenset({"name", "description", "parametersJsonSchema", "parameters"})
OURS = frozenset({"generationConfig", "thinkingConfig", "tools", "systemInstruction"})
TURNS: Mapping[Role, bytes] = {
    "system": b'{"role":"user","parts":[',
    "user": b'{"role":"user","parts":[',
    "tool": b'{"role":"user","parts":[',
    "assistant": b'{"role":"model","parts":[',
}


def encode_request(request: ModelRequest, model: str, *, stream: bool = False) -> bytes:
    """The body, without the options that are `unsupported`; it is the same for a stream."""
    extra = own(WIRE, request.extra)
    head: Body = {name: value for name, value in extra.items() if name not in OURS}
    if request.system:
        head["systemInstruction"] = {"parts": [{"text": request.system}]}
    declared = [{"functionDeclarations": [*map(_encode_tool, request.tools)]}] if request.tools else []
    if tools := [*declared, *extra.get("tools", ())]:
        head["tools"] = tools
    head |= encode_choice(request) | encode_config(request, model)
    start = dumps(head)[:-1] + b"," if head else b"{"
    encoded = _encode_messages(request.messages, modern=generation(model) >= (3, 0))
    return b"".join((start, b'"contents":[', *turns(encoded), b"]}"))


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """The request that a client sent, in camelCase or snake_case. Raises `ConfigError`."""
    with readable_request("generateContent"):
        body = in_camel_case(body)
        options, extra = decode_config(body.get("generationConfig") or {})
        tools, served = _decode_tools(body.get("tools") or ())
        extra |= served | {name: value for name, value in body.items() if name not in READ}
        return ModelRequest(
            tuple(_decode_messages(body["contents"])),
            _text_of(body.get("systemInstruction") or {}),
            tools,
            decode_choice(body.get("toolConfig")),
            (body.get("generationConfig") or {}).get("responseJsonSchema"),
            options,
            extra={WIRE: extra} if extra else {},
        )


def _encode_messages(messages: Iterable[Message], *, modern: bool) -> list[tuple[bytes, bytes]]:
    key = f"{WIRE} modern" if modern else WIRE
    return [(TURNS[m.role], m.encoded.get(key) or _encode_message(m, key, modern=modern)) for m in messages]


def _encode_message(message: Message, key: str, *, modern: bool) -> bytes:
    """Its parts, joined by commas, for all later requests too."""
    return message.encoded.setdefault(key, dumps(encode_parts(message.parts, modern=modern))[1:-1])


def _encode_tool(tool: ToolSpec) -> Body:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "parametersJsonSchema": tool.schema, **own(WIRE, tool.extra)}


def _decode_tools(tools: Iterable[Mapping[str, Any]]) -> tuple[tuple[ToolSpec, ...], Body]:
    """Those that the client runs, and as an extra those that the API runs itself."""
    declared = tuple(_decode_tool(one) for tool in tools for one in tool.get("functionDeclarations") or ())
    served = [rest for tool in tools if (rest := {k: v for k, v in tool.items() if k != "functionDeclarations"})]
    return declared, {"tools": served} if served else {}


def _decode_tool(tool: Mapping[str, Any]) -> ToolSpec:
    schema = tool.get("parametersJsonSchema") or tool.get("parameters") or {"type": "object", "properties": {}}
    return ToolSpec(tool["name"], tool.get("description") or "", schema, extra=kept(WIRE, tool, IN_TOOLS))


def _decode_messages(contents: Iterable[Mapping[str, Any]]) -> Iterable[Message]:
    """Results, which the API puts into a user's turn, become messages of their own."""
    calls: list[ToolCall] = []
    for content in contents:
        role: Role = "assistant" if content.get("role") == "model" else "user"
        parts = [decode_part(part, calls) for part in content.get("parts") or ()]
        calls[:0] = [part for part in parts if isinstance(part, ToolCall)]  # the newest are found first
        for is_result, run in groupby(parts, _is_result):
            yield Message("tool" if is_result else role, tuple(run))


def _is_result(part: Part) -> bool:
    return isinstance(part, ToolResult)


def _text_of(content: Mapping[str, Any]) -> str:
    return "\n\n".join(part.get("text") or "" for part in content.get("parts") or ())
