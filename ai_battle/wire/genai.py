"""Converts messages without loss to and from the OpenTelemetry GenAI message schema, which the journal uses."""

import base64
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..core.exchange import Usage
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult

Json = dict[str, Any]


def message_to_json(message: Message) -> Json:
    data: Json = {"role": message.role, "name": message.speaker} if message.speaker else {"role": message.role}
    data["parts"] = [part_to_json(part) for part in message.parts]
    return data | {"extra": message.extra} if message.extra else data


def message_from_json(data: Mapping[str, Any]) -> Message:
    """Raises KeyError or ValueError for data that no version of this package wrote."""
    parts = tuple(part_from_json(part) for part in data["parts"])
    return Message(data["role"], parts, data.get("name", ""), extra=data.get("extra", {}))


def part_to_json(part: Part) -> Json:
    return _bare_json(part) | {"extra": part.extra} if part.extra else _bare_json(part)


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


def part_from_json(data: Mapping[str, Any]) -> Part:
    extra = data.get("extra", {})
    match data["type"]:
        case "text":
            return Text(data["content"], extra=extra)
        case "reasoning":
            return Thinking(data["content"], data.get("signature", ""), extra=extra)
        case "tool_call":
            return _call_from_json(data, extra)
        case "tool_call_response":
            return _result_from_json(data, extra)
        case "blob" | "uri":
            return _file_from_json(data, extra)
        case unknown:
            raise ValueError(f"A message has a part of the unknown type {unknown!r}.")


def usage_to_json(usage: Usage) -> Json:
    rare = ("estimated", "cache_hour_tokens")
    return {name: value for name, value in asdict(usage).items() if value or name not in rare}


def usage_from_json(data: Mapping[str, Any]) -> Usage:
    return Usage(**data)


def _call_to_json(call: ToolCall) -> Json:
    data: Json = {"id": call.id, "name": call.name, "arguments": call.arguments}
    return data | {"malformed": call.malformed} if call.malformed else data


def _call_from_json(data: Mapping[str, Any], extra: Mapping[str, Any]) -> ToolCall:
    return ToolCall(data["name"], data.get("arguments", {}), data["id"], data.get("malformed", ""), extra=extra)


def _result_to_json(result: ToolResult) -> Json:
    """Includes the whole call, so that a result can be read without the message that made the call."""
    match result.parts:
        case (Text(text) as only,) if not only.extra:
            response: Any = text
        case parts:
            response = [part_to_json(part) for part in parts]
    data = {"type": "tool_call_response", **_call_to_json(result.call), "response": response}
    data["is_error"] = result.is_error
    return data | {"call_extra": result.call.extra} if result.call.extra else data


def _result_from_json(data: Mapping[str, Any], extra: Mapping[str, Any]) -> ToolResult:
    response = data["response"]
    parts = (Text(response),) if isinstance(response, str) else tuple(map(part_from_json, response))
    shown = tuple(part for part in parts if isinstance(part, Text | Image | Document))
    call = _call_from_json(data, data.get("call_extra", {}))
    return ToolResult(call, shown, data.get("is_error", False), extra=extra)


def _file_to_json(file: Image | Document, modality: str) -> Json:
    data: Json = {"type": "uri", "mime_type": file.media_type, "modality": modality} | _without_empty(uri=file.url)
    if file.data or not file.url:
        data |= {"type": "blob", "content": base64.b64encode(file.data).decode()}
    return data


def _file_from_json(fields: Mapping[str, Any], extra: Mapping[str, Any]) -> Image | Document:
    data, url = base64.b64decode(fields.get("content", "")), fields.get("uri", "")
    if fields.get("modality") == "document":
        return Document(fields["mime_type"], data, url, fields.get("name", ""), extra=extra)
    return Image(fields["mime_type"], data, url, extra=extra)


def _without_empty(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value}
