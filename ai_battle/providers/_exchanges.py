"""An exchange with a model as a recording holds it, and what makes two requests the same."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import Message
from ..wire.genai import message_from_json, message_to_json, usage_from_json, usage_to_json

_KEPT_AS = "recording"


@dataclass(frozen=True, slots=True)
class Asked:
    """What makes two requests the same: digests of what is long, the options as they are."""

    messages: tuple[str, ...]
    system: str = ""
    tools: str = ""
    output_schema: str = ""
    tool_choice: str = "auto"
    options: str = "{}"
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """`deltas` are the events of the stream, `response` or `error` is how it ended."""

    model: str
    asked: Asked
    deltas: list[list[Any]]
    response: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


def digested(request: ModelRequest) -> Asked:
    return Asked(
        tuple(_digest_of(message) for message in request.messages),
        _digest(request.system),
        _digest([_tool(tool) for tool in request.tools]),
        _digest(request.output_schema),
        request.tool_choice,
        to_json(dict(sorted(request.options.items()))).decode(),
        _digest(request.extra),
    )


def response_to_json(response: ModelResponse) -> dict[str, Any]:
    return {
        "message": message_to_json(response.message),
        "steps": [message_to_json(step) for step in response.steps],
        "stop": response.stop,
        "usage": usage_to_json(response.usage),
        "model": response.model,
        "extra": response.extra,
    }


def response_from_json(said: Mapping[str, Any]) -> ModelResponse:
    return ModelResponse(
        message_from_json(said["message"]),
        tuple(message_from_json(step) for step in said["steps"]),
        said["stop"],
        usage_from_json(said["usage"]),
        said["model"],
        extra=said["extra"],
    )


def values(request: ModelRequest) -> Iterator[tuple[str, Any]]:
    """What was sent, by digest."""
    for message in request.messages:
        yield _digest_of(message), message
    yield _digest(request.system), request.system
    tools = [_tool(tool) for tool in request.tools]
    yield _digest(tools), tools


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "schema": tool.schema, "extra": tool.extra}


def _digest_of(message: Message) -> str:
    """Kept with the message, so that a long history is not hashed anew each turn."""
    kept = message.encoded.get(_KEPT_AS)
    if kept is None:
        kept = message.encoded[_KEPT_AS] = _digest(message_to_json(message)).encode()
    return kept.decode()


def _digest(value: Any) -> str:
    return hashlib.sha256(to_json(value)).hexdigest()[:24] if value else ""
