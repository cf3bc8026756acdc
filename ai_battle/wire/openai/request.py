"""A request as Chat Completions write it, and back."""

from collections.abc import Mapping
from typing import Any, cast

from ...core.exchange import ModelRequest, ToolSpec
from ...core.messages import Message, Part, Text
from .._checks import check, check_choice
from .._errors import readable_request
from .._extra import NOTHING
from .._json import dumps
from .._schema_shape import without_nulls
from .._shape import ANY_OBJECT
from .._texts import flowing
from ..bodies import DecodeCache, decode_piece
from .messages import decode_messages, encode_messages, encode_system
from .parts import WIRE, kept, own
from .quirks import USUAL, Quirks
from .shape import REQUEST, tools_shape

NOT_HERE = frozenset(("num_ctx", "keep_alive"))
SAMPLING = frozenset(
    (
        "temperature", "top_p", "top_k", "min_p", "seed", "stop", "frequency_penalty", "presence_penalty",
        "parallel_tool_calls",
    )
)  # fmt: skip
RENAMED = {"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "reasoning_effort": "reasoning"}
TOOLS: DecodeCache[tuple[ToolSpec, ...]] = DecodeCache()
KNOWN = SAMPLING | RENAMED.keys() | {"model", "messages", "tools", "tool_choice", "stream", "stream_options"}


def encode_request(request: ModelRequest, model: str, *, stream: bool = False, quirks: Quirks = USUAL) -> bytes:
    """The JSON body. Messages and tools that were sent before bring the bytes of that time."""
    head: dict[str, Any] = {"model": model, **_encode_options(request.options, quirks)}
    if request.tools:
        head |= _encode_choice(request.tool_choice)
    else:
        head.pop("parallel_tool_calls", None)  # which servers refuse then
    if stream:
        head |= {"stream": True, "stream_options": {"include_usage": True}} if quirks.usage else {"stream": True}
    head |= own(request.extra) | _encode_format(request)
    messages = encode_messages(request.messages, quirks)
    if request.system:
        messages = b",".join((encode_system(request.system), messages)) if messages else encode_system(request.system)
    tools = (b',"tools":[', b",".join(map(_encode_tool, request.tools)), b"]") if request.tools else ()
    return b"".join((dumps(head)[:-1], *tools, b',"messages":[', messages, b"]}"))


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """What a server receives; a system message that opens it is the system prompt.

    Raises a `ConfigError` that names the place of what is wrong. Results of tools that fit no call are kept as they
    are; `paired` puts them right.
    """
    check(body, REQUEST)
    tools = _tools_of(body.get("tools"))
    functions = (tool.name for tool in tools if "type" not in own(tool.extra))
    check_choice(_chosen(body.get("tool_choice")), functions, "tool_choice.function.name")
    with readable_request("Chat Completions"):
        messages = decode_messages(body["messages"])
        system = flowing(map(_words, messages.pop(0).parts)) if messages and _is_system_prompt(messages[0]) else ""
        form = body.get("response_format")
        schema = _schema_in(form)
        known = KNOWN | {"response_format"} if schema is not None and form == _format(schema) else KNOWN
        return ModelRequest(
            tuple(messages),
            system,
            _allowed(tools, body.get("tool_choice")),
            _decode_choice(body.get("tool_choice")),
            schema,
            _decode_options(body),
            extra=kept(body, known),
        )


def _chosen(choice: Any) -> str | None:
    return choice["function"]["name"] if isinstance(choice, Mapping) and choice.get("type") == "function" else None


def _allowed(tools: tuple[ToolSpec, ...], choice: Any) -> tuple[ToolSpec, ...]:
    """A client may name those that are to be chosen from."""
    match choice:
        case {"type": "allowed_tools", "allowed_tools": {"tools": list(allowed)}}:
            names = [each["function"]["name"] for each in allowed if each["type"] == "function"]
            return tuple(tool for tool in tools if tool.name in names and "type" not in own(tool.extra))
    return tools


def _tools_of(came: Any) -> tuple[ToolSpec, ...]:
    raw = came if isinstance(came, bytes) else b""
    if raw and (made := TOOLS.get(raw)):
        return made
    tools = decode_piece(raw) if raw else came or ()
    check({"tools": tools or None}, tools_shape)
    with readable_request("Chat Completions"):
        made = tuple(map(_decode_tool, tools))
    return TOOLS.put(raw, made) if raw else made


def _encode_options(options: Mapping[str, Any], quirks: Quirks) -> dict[str, Any]:
    """Options that this API has no name of its own for go through under theirs: many servers take more."""
    said = {name: value for name, value in options.items() if name not in NOT_HERE and value not in NOTHING}
    if "max_tokens" in said:
        said[quirks.max_tokens] = said.pop("max_tokens")
    if "reasoning" in said:
        effort = said.pop("reasoning")
        said["reasoning_effort"] = ("none", "medium")[effort] if isinstance(effort, bool) else effort
    return said


def _decode_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: body[name] for name in SAMPLING if body.get(name) is not None}
    return options | {name: body[field] for field, name in RENAMED.items() if body.get(field) is not None}


def _encode_tool(tool: ToolSpec) -> bytes:
    if WIRE not in tool.encoded:
        tool.encoded[WIRE] = dumps(_tool_body(tool))
    return tool.encoded[WIRE]


def _tool_body(tool: ToolSpec) -> dict[str, Any]:
    """A tool of a type that only this API knows is its `extra` as it came."""
    extra = own(tool.extra)
    if "type" in extra:
        return extra
    described = {"description": tool.description} if tool.description else {}
    return {"type": "function", "function": {"name": tool.name, **described, "parameters": tool.schema, **extra}}


def _decode_tool(body: Mapping[str, Any]) -> ToolSpec:
    if body.get("type", "function") != "function":
        return ToolSpec(body["type"], extra={WIRE: dict(body)})
    function = body["function"]
    schema = without_nulls(function.get("parameters")) or {"type": "object", "properties": {}}
    extra = kept(function, frozenset(("name", "description", "parameters")))
    return ToolSpec(function["name"], function.get("description") or "", schema, extra=extra)


def _encode_choice(choice: str) -> dict[str, Any]:
    if choice == "auto":
        return {}
    named = {"type": "function", "function": {"name": choice}}
    return {"tool_choice": choice if choice in ("none", "required") else named}


def _decode_choice(choice: Any) -> str:
    match choice:
        case {"function": {"name": str(name)}}:
            return name
        case {"allowed_tools": {"mode": str(mode)}}:
            return mode
        case str(mode):
            return mode
        case _:
            return "auto"


def _encode_format(request: ModelRequest) -> dict[str, Any]:
    """As a client put it, where that says the same; a format without a schema is a matter of this API alone."""
    came, schema = own(request.extra).get("response_format"), request.output_schema
    if schema is None and _schema_in(came) is not None:
        return {"response_format": {"type": "text"}}
    return {} if schema is None or _schema_in(came) == schema else {"response_format": _format(schema)}


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": is_strict(schema)}}


def _schema_in(form: Any) -> Mapping[str, Any] | None:
    match form:
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return cast(Mapping[str, Any], without_nulls(schema))
        case {"type": "json_object"}:
            return ANY_OBJECT
        case _:
            return None


def is_strict(schema: Any) -> bool:
    """Whether OpenAI can enforce it: every object closed and all of its properties required."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    return _is_closed(schema) and all(map(is_strict, schema.values()))


def _is_closed(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") != "object" and "properties" not in schema:
        return True
    required, properties = schema.get("required", ()), schema.get("properties", ())
    return schema.get("additionalProperties") is False and set(required) == set(properties)


def _words(part: Part) -> str:
    return part.text if isinstance(part, Text) else ""


def _is_system_prompt(message: Message) -> bool:
    return message.role == "system" and not message.speaker
