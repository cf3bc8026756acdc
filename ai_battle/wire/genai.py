"""Messages in the shape of the OpenTelemetry GenAI message schema, without loss: the journal's form."""

import base64
from collections.abc import Mapping
from typing import Any

from ..core.exchange import Usage
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult

Json = dict[str, Any]


def message_to_json(message: Message) -> Json:
    named = _without_empty(name=message.speaker)
    parts = [part_to_json(part) for part in message.parts]
    return {"role": message.role, **named, "parts": parts, **_without_empty(extra=message.extra)}


def message_from_json(said: Mapping[str, Any]) -> Message:
    """Raises KeyError or ValueError for what no version of this package wrote."""
    parts = tuple(part_from_json(part) for part in said["parts"])
    return Message(said["role"], parts, said.get("name", ""), extra=said.get("extra", {}))


def part_to_json(part: Part) -> Json:
    return _bare_json(part) | _without_empty(extra=part.extra)


def _bare_json(part: Part) -> Json:
    match part:
        case Text(text):
            return {"type": "text", "content": text}
        case Thinking(text, signature):
            return {"type": "reasoning", "content": text, **_without_empty(signature=signature)}
        case ToolCall():
            return {"type": "tool_call", **_call_to_json(part)}
        case ToolResult():
            return _result_to_json(part)
        case Image():
            return _file_to_json(part, "image")
        case Document(name=name):
            return _file_to_json(part, "document") | _without_empty(name=name)


def part_from_json(said: Mapping[str, Any]) -> Part:
    extra = said.get("extra", {})
    match said["type"]:
        case "text":
            return Text(said["content"], extra=extra)
        case "reasoning":
            return Thinking(said["content"], said.get("signature", ""), extra=extra)
        case "tool_call":
            return _call_from_json(said, extra)
        case "tool_call_response":
            return _result_from_json(said, extra)
        case "blob" | "uri":
            return _file_from_json(said, extra)
        case unknown:
            raise ValueError(f"A message has a part of the unknown type {unknown!r}.")


def usage_to_json(usage: Usage) -> Json:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd")
    return {name: getattr(usage, name) for name in names} | _without_empty(
        estimated=usage.estimated, cache_hour_tokens=usage.cache_hour_tokens
    )


def usage_from_json(said: Mapping[str, Any]) -> Usage:
    return Usage(**said)


def _call_to_json(call: ToolCall) -> Json:
    return {"id": call.id, "name": call.name, "arguments": call.arguments} | _without_empty(malformed=call.malformed)


def _call_from_json(said: Mapping[str, Any], extra: Mapping[str, Any]) -> ToolCall:
    return ToolCall(said["name"], said.get("arguments", {}), said["id"], said.get("malformed", ""), extra=extra)


def _result_to_json(result: ToolResult) -> Json:
    """The call stands in it whole, so that a message can be read without the one before it."""
    match result.parts:
        case (Text(text) as only,) if not only.extra:
            response: Any = text
        case parts:
            response = [part_to_json(part) for part in parts]
    said = {"type": "tool_call_response", **_call_to_json(result.call), "response": response}
    return said | {"is_error": result.is_error} | _without_empty(call_extra=result.call.extra)


def _result_from_json(said: Mapping[str, Any], extra: Mapping[str, Any]) -> ToolResult:
    response = said["response"]
    parts = (Text(response),) if isinstance(response, str) else tuple(map(part_from_json, response))
    shown = tuple(part for part in parts if isinstance(part, Text | Image | Document))
    call = _call_from_json(said, said.get("call_extra", {}))
    return ToolResult(call, shown, said.get("is_error", False), extra=extra)


def _file_to_json(file: Image | Document, modality: str) -> Json:
    said: Json = {"type": "uri", "mime_type": file.media_type, "modality": modality} | _without_empty(uri=file.url)
    if file.data or not file.url:
        said |= {"type": "blob", "content": base64.b64encode(file.data).decode()}
    return said


def _file_from_json(said: Mapping[str, Any], extra: Mapping[str, Any]) -> Image | Document:
    data, url = base64.b64decode(said.get("content", "")), said.get("uri", "")
    if said.get("modality") == "document":
        return Document(said["mime_type"], data, url, said.get("name", ""), extra=extra)
    return Image(said["mime_type"], data, url, extra=extra)


def _without_empty(**fields: Any) -> Json:
    """Returns the fields that say something."""
    return {name: value for name, value in fields.items() if value}
