"""Encodes and decodes OpenAI's Chat Completions and Embeddings APIs, which most servers speak.

Requests are here; the messages in them and the answers have files of their own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from ...core.exchange import ModelRequest, RawBody, ToolSpec
from ...core.messages import Text
from ..bodies import (
    ANY_OBJECT,
    EMPTY_VALUES,
    DecodeCache,
    PatternSearch,
    checkable,
    dumps,
    encode_raw,
    with_raw_messages,
)
from ..checks import (
    ObjectShape,
    Shape,
    ShapeError,
    TaggedShape,
    check,
    check_choice,
    flag,
    list_of,
    number,
    object_,
    objects_in,
    one_of,
    positive,
    text,
    text_or,
    tool_schema,
    without_nulls,
    word_or,
)
from ..errors import readable_request
from ..messages import join_separated
from .answers import ChatReader as StreamReader
from .answers import ChatWriter as StreamWriter
from .answers import decode_embedding, decode_response, decode_usage, encode_error, encode_response
from .messages import CUSTOM, MESSAGES, USUAL, WIRE, Quirks, encode_messages, own, unknown_fields

__all__ = [
    "WIRE", "Quirks", "StreamReader", "StreamWriter", "add_messages", "decode_embedding", "decode_head",
    "decode_request", "decode_response", "decode_usage", "encode_embedding_request", "encode_error",
    "encode_request", "encode_response", "options_in", "pass_request", "unread_fields",
]  # fmt: skip

UNSUPPORTED = frozenset(("num_ctx", "keep_alive"))
SAMPLING: Mapping[str, Shape] = {
    **dict.fromkeys(("temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty"), number),
    "seed": number,
    "stop": text_or([text], "a list of texts"),
    "parallel_tool_calls": flag,
}
Tools: TypeAlias = tuple[tuple[ToolSpec, ...], list[Any]]
RENAMED = {"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "reasoning_effort": "reasoning"}
NEEDS_REENCODING = PatternSearch(rb'"(?:developer|reasoning)', 10)
"""Finds the role and the fields in messages that some servers reject or ignore, so that these must be re-encoded."""
KNOWN_FIELDS = (
    frozenset(SAMPLING) | RENAMED.keys() | {"model", "messages", "tools", "tool_choice", "stream", "stream_options"}
)

_DESCRIBED = ObjectShape({"name!": text, "description": text, "parameters": tool_schema})
_TOOLS = list_of(TaggedShape("type", {"function": {"function!": _DESCRIBED}, "custom": CUSTOM}, otherwise="function"))
_BY_NAME = {"function!": {"name!": text}}
_ALLOWED = {"mode": one_of("auto", "required"), "tools!": [TaggedShape("type", {"function": _BY_NAME})]}
_CHOICE = TaggedShape("type", {"function": _BY_NAME, "allowed_tools": {"allowed_tools!": _ALLOWED}})


def _check_deprecated(value: object) -> None:
    if value not in ([], "auto", "none"):
        raise ShapeError("is deprecated and not supported: use tools and tool_choice")


def _require_one(value: object) -> None:
    if value != 1:
        raise ShapeError("must be 1: this server gives one answer")


_REQUEST = ObjectShape(
    {
        **dict.fromkeys(("max_tokens", "max_completion_tokens"), positive),
        **SAMPLING,
        **dict.fromkeys(("model", "reasoning_effort"), text),
        **dict.fromkeys(("functions", "function_call"), _check_deprecated),
        "messages!": list_of(at_least=1),
        "tool_choice": word_or(("auto", "none", "required"), _CHOICE),
        "n": _require_one,
        "stream": flag,
        "stream_options": {"include_usage": flag},
        "response_format": TaggedShape("type", {"json_schema": {"json_schema": {"schema": tool_schema}}}),
        "logit_bias": object_,
    }
)
READ = KNOWN_FIELDS | _REQUEST.names - {"logit_bias"}
"""The fields that a request for a model of another API can be made of."""


def encode_request(request: ModelRequest, model: str, *, stream: bool = False, quirks: Quirks = USUAL) -> bytes:
    """Returns the JSON body. Messages and tools that were sent before reuse their encoded bytes."""
    head: dict[str, Any] = {"model": model, **_encode_options(request.options, quirks)}
    extra = own(request.extra)
    tools = [*map(_encode_tool, request.tools), *map(dumps, extra.pop("tools", ()))]
    if tools:
        head |= _encode_choice(request.tool_choice)
    else:
        head.pop("parallel_tool_calls", None)  # servers reject it without tools
    if stream:
        head |= {"stream": True, "stream_options": {"include_usage": True}} if quirks.usage else {"stream": True}
    head |= extra | _encode_format(request)
    messages = encode_messages(request, quirks)
    offered = (b',"tools":[', b",".join(tools), b"]") if tools else ()
    return b"".join((dumps(head)[:-1], *offered, b',"messages":[', messages, b"]}"))


def encode_embedding_request(request: ModelRequest, model: str) -> bytes:
    """Asks for the embedding of the last message's text."""
    return dumps({"model": model, "input": request.messages[-1].text, "encoding_format": "float"})


def pass_request(body: RawBody, model: str, quirks: Quirks = USUAL) -> bytes:
    """Returns a client's body with the model replaced, or b"" if the server's quirks require re-encoding it."""
    messages: bytes = body.fields["messages"]
    head = body.once((WIRE, model, quirks), lambda fields: _pass_head(fields, model, quirks))
    return with_raw_messages(head, messages) if head and not NEEDS_REENCODING.finds(messages) else b""


def _pass_head(fields: Mapping[str, Any], model: str, quirks: Quirks) -> bytes:
    is_refused = fields.keys() & UNSUPPORTED or ("max_tokens" in fields and quirks.max_tokens != "max_tokens")
    if is_refused or not quirks.names or not quirks.usage:
        return b""
    # A stream reports its usage, which we must book, only on request.
    usage = {"stream_options": {"include_usage": True}} if fields.get("stream") else {}
    return encode_raw({**fields, "model": model, **usage})


def unread_fields(body: Mapping[str, Any]) -> list[str]:
    """Returns the fields that a request for a model of another API can't be made of."""
    return [*_REQUEST.unread(body, READ)]


def options_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a body without decoding its messages and tools. Raises `ConfigError`."""
    check(checkable(body), _REQUEST)
    return _decode_options(body)


def _decode_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: body[name] for name in SAMPLING if body.get(name) is not None}
    return options | {name: body[field] for field, name in RENAMED.items() if body.get(field) is not None}


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """Decodes a client's request. A leading system message becomes the system prompt.

    Raises `ConfigError` naming the place of an invalid value. Keeps tool results without a call, which
    `paired_messages` repairs.
    """
    return add_messages(decode_head(body), body)


def decode_head(body: Mapping[str, Any]) -> ModelRequest:
    """Decodes a request except its messages. Raises `ConfigError`."""
    check(checkable(body), _REQUEST)
    with READABLE:
        tools, served = TOOLS.decode(body.get("tools"), _decode_tools)
        choice, form = body.get("tool_choice"), body.get("response_format")
        schema = _schema_in(form)
        known = KNOWN_FIELDS | {"response_format"} if schema is not None and form == _format(schema) else KNOWN_FIELDS
        return ModelRequest(
            (),
            "",
            _allowed_tools(tools, choice),
            _decode_choice(choice, tools),
            schema,
            _decode_options(body),
            extra=unknown_fields({**body, "tools": served}, known - {"tools"}),
        )


def add_messages(head: ModelRequest, body: Mapping[str, Any], *, paired: bool = False) -> ModelRequest:
    """Returns the request with the messages of its body. Raises `ConfigError`."""
    with READABLE:
        messages = MESSAGES.decode(body["messages"], paired=paired)
        if messages[0].role == "system" and not messages[0].speaker:
            system = join_separated(part.text for part in messages[0].parts if isinstance(part, Text))
            return head.with_messages(messages[1:], system)
        return head.with_messages(messages)


def _allowed_tools(tools: tuple[ToolSpec, ...], choice: Any) -> tuple[ToolSpec, ...]:
    """Returns the tools that the model may call: all, or those that `allowed_tools` lists."""
    match choice:
        case {"type": "allowed_tools", "allowed_tools": {"tools": list(allowed)}}:
            names = [each["function"]["name"] for each in allowed if each["type"] == "function"]
            return tuple(tool for tool in tools if tool.name in names)
    return tools


def _encode_options(options: Mapping[str, Any], quirks: Quirks) -> dict[str, Any]:
    """Encodes options. Passes on those that this API does not define, since many servers accept more."""
    encoded = {name: value for name, value in options.items() if name not in UNSUPPORTED and value not in EMPTY_VALUES}
    if "max_tokens" in encoded:
        encoded[quirks.max_tokens] = encoded.pop("max_tokens")
    if "reasoning" in encoded:
        effort = encoded.pop("reasoning")
        encoded["reasoning_effort"] = ("none", "medium")[effort] if isinstance(effort, bool) else effort
    return encoded


def _encode_tool(tool: ToolSpec) -> bytes:
    if WIRE not in tool.encoded:
        tool.encoded[WIRE] = dumps(_tool_body(tool))
    return tool.encoded[WIRE]


def _tool_body(tool: ToolSpec) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {
        "type": "function",
        "function": {"name": tool.name, **described, "parameters": tool.schema, **own(tool.extra)},
    }


def _decode_tools(tools: Any) -> Tools:
    """Returns the functions, and for `extra` the tools of types that only this API has, which the upstream runs."""
    tools = [] if tools is None else tools
    check(tools, _TOOLS, "tools")
    served = [tool for tool in tools if tool.get("type", "function") != "function"]
    return tuple(_decode_tool(tool["function"]) for tool in tools if tool not in served), served


def _decode_tool(function: Mapping[str, Any]) -> ToolSpec:
    schema = without_nulls(function.get("parameters")) or {"type": "object", "properties": {}}
    extra = unknown_fields(function, _DESCRIBED.names)
    return ToolSpec(function["name"], function.get("description") or "", schema, extra=extra)


def _encode_choice(choice: str) -> dict[str, Any]:
    if choice == "auto":
        return {}
    named = {"type": "function", "function": {"name": choice}}
    return {"tool_choice": choice if choice in ("none", "required") else named}


def _decode_choice(choice: Any, tools: Iterable[ToolSpec]) -> str:
    """Raises `ConfigError` if the chosen function is not among the tools."""
    match choice:
        case {"type": "function", "function": {"name": str(name)}}:
            check_choice(name, [tool.name for tool in tools], "tool_choice.function.name")
            return name
        case {"allowed_tools": {"mode": str(mode)}}:
            return mode
        case str(mode):
            return mode
        case _:
            return "auto"


def _encode_format(request: ModelRequest) -> dict[str, Any]:
    """Returns the format of the answer, or no field if the client's own format in `extra` has the same schema."""
    came, schema = own(request.extra).get("response_format"), request.output_schema
    if schema is None and _schema_in(came) is not None:
        return {"response_format": {"type": "text"}}
    return {} if schema is None or _schema_in(came) == schema else {"response_format": _format(schema)}


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": all(map(_is_closed, objects_in(schema)))},
    }


def _schema_in(form: Any) -> Mapping[str, Any] | None:
    match form:
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return cast(Mapping[str, Any], without_nulls(schema))
        case {"type": "json_object"}:
            return ANY_OBJECT
        case _:
            return None


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Returns whether OpenAI can enforce the schema: objects are closed, and all their properties are required."""
    if schema.get("type") != "object" and "properties" not in schema:
        return True
    required, properties = schema.get("required", ()), schema.get("properties", ())
    return schema.get("additionalProperties") is False and set(required) == set(properties)


TOOLS: DecodeCache[Tools] = DecodeCache()
READABLE = readable_request("Chat Completions")
