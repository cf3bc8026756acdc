"""A request to `/api/chat`, and back."""

from collections.abc import Mapping
from typing import Any

from ...core.exchange import ModelRequest, ToolSpec
from .._errors import readable_request
from .._extra import NOTHING
from .._json import dumps
from .._shape import ANY_OBJECT
from .messages import decode_messages, encode_messages, kept, own

OUTSIDE = ("keep_alive", "think", "logprobs", "top_logprobs")  # of the options that Ollama takes beside `options`
UNKNOWN = frozenset(("parallel_tool_calls",))
LEVELS: Mapping[str, str] = {
    "none": "low", "minimal": "low", "xhigh": "high", "max": "high", "false": "low", "true": "medium",
}  # fmt: skip
KNOWN = frozenset(("model", "messages", "tools", "stream", "options", "format", *OUTSIDE))


def encode_request(request: ModelRequest, model: str, *, stream: bool = False) -> bytes:
    """The JSON body. Messages that were sent before bring the bytes of that time."""
    head: dict[str, Any] = {"model": model, "stream": stream, **_encode_options(request.options, model)}
    if tools := _allowed(request):
        head["tools"] = [_encode_tool(tool) for tool in tools]
    if request.output_schema is not None:
        head["format"] = "json" if request.output_schema == ANY_OBJECT else request.output_schema
    head |= own(request.extra)
    messages = encode_messages(request.messages)
    if request.system:
        system = dumps({"role": "system", "content": request.system})
        messages = b",".join((system, messages)) if messages else system
    return b"".join((dumps(head)[:-1], b',"messages":[', messages, b"]}"))


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """What a server receives; a system message that opens it is the system prompt. Raises `ConfigError`."""
    with readable_request("/api/chat"):
        messages = decode_messages(body["messages"])
        system = messages.pop(0).text if messages and messages[0].role == "system" else ""
        form = body.get("format")
        schema = form if isinstance(form, dict) else None
        return ModelRequest(
            tuple(messages),
            system,
            tuple(_decode_tool(tool) for tool in body.get("tools") or ()),
            output_schema=schema,
            options=_decode_options(body),
            extra=kept(body, KNOWN if schema is not None else KNOWN - {"format"}),
        )


def _allowed(request: ModelRequest) -> list[ToolSpec]:
    """Ollama has no tool choice: a model can only call what it is offered."""
    choice = request.tool_choice
    return [tool for tool in request.tools if choice in ("auto", "required", tool.name)]


def _encode_options(options: Mapping[str, Any], model: str) -> dict[str, Any]:
    inside = {name: value for name, value in options.items() if value not in NOTHING and name not in UNKNOWN}
    outside = {name: inside.pop(name) for name in OUTSIDE if name in inside}
    if "reasoning" in inside:
        outside["think"] = _think(inside.pop("reasoning"), model)
    if "max_tokens" in inside:
        inside["num_predict"] = inside.pop("max_tokens")
    if isinstance(inside.get("stop"), str):
        inside["stop"] = [inside["stop"]]
    return outside | ({"options": inside} if inside else {})


def _think(reasoning: Any, model: str) -> bool | str:
    """Only gpt-oss knows levels, and it can't do without; all others take yes or no."""
    return LEVELS.get(str(reasoning).lower(), reasoning) if "gpt-oss" in model else reasoning not in (False, "none")


def _decode_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(body.get("options") or {})
    if "num_predict" in options:
        options["max_tokens"] = options.pop("num_predict")
    options |= {name: body[name] for name in OUTSIDE if name != "think" and body.get(name) is not None}
    if body.get("think") is not None:
        options["reasoning"] = "none" if body["think"] is False else body["think"]
    return options


def _encode_tool(tool: ToolSpec) -> dict[str, Any]:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": described | own(tool.extra)}


def _decode_tool(body: Mapping[str, Any]) -> ToolSpec:
    function = body["function"]
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    extra = kept(function, frozenset(("name", "description", "parameters")))
    return ToolSpec(function["name"], function.get("description") or "", schema, extra=extra)
