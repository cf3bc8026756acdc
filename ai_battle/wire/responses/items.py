"""Decodes the items that a client of the Responses API sends to messages, and names its tools."""

import hashlib
import mimetypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.exchange import ModelRequest
from ...core.messages import Document, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from .. import advice
from ..bodies import own, read_arguments, unknown_fields
from ..checks import Check, ObjectShape, ShapeError, TaggedShape, address, one_of, text, text_or
from ..openai.answers import audio, document_at, image_at
from ..openai.served import AUDIO

WIRE = "responses"
ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
SIGNED = "signed:"  # marks a signature that we put into the field for reasoning that OpenAI encrypts

Calls = dict[str, ToolCall]
Item = Mapping[str, Any]
NAME_LENGTH = 64  # characters of a tool's name


def _file(**inner: Check) -> Check:
    """Requires a picture or a file with its data in one of the fields of `inner`, not a reference to a stored file."""
    fields = ObjectShape({**inner, "filename": text})

    def check_data(value: Any) -> None:
        fields(value)
        if not any(value.get(name) for name in inner):
            raise ShapeError(f"must contain its data, as {' or '.join(inner)}: this server stores no files")

    return check_data


_TEXT = {"type": text, "text!": text}
_PART = TaggedShape(
    "type",
    {
        **dict.fromkeys(("input_text", "output_text", "text"), _TEXT),
        "refusal": {"refusal!": text},
        "input_audio": AUDIO,
        "input_image": _file(image_url=address),
        "input_file": _file(file_data=address, file_url=text),
    },
)
_CONTENT = text_or([_PART], "a list of parts")
_CALL_FIELDS = {"call_id!": text, "name!": text, "namespace": text}
_RESULT_FIELDS = {"call_id!": text, "output!": _CONTENT}
ITEM = TaggedShape(
    "type",
    {
        "message": {"role!": one_of(*ROLES), "content!": _CONTENT},
        "reasoning": {"summary": [_TEXT], "content": [_TEXT], "encrypted_content": text},
        "function_call": {**_CALL_FIELDS, "arguments!": text, "input": text},
        "custom_tool_call": {**_CALL_FIELDS, "arguments": text, "input!": text},
        "function_call_output": _RESULT_FIELDS,
        "custom_tool_call_output": _RESULT_FIELDS,
        advice.OPENROUTER_TOOL: advice.ITEM,
    },
    otherwise="message",
)


def decode_input(given: str | Iterable[Item]) -> list[Message]:
    """Decodes items to messages, joining adjacent items of the assistant and adjacent tool results.

    Drops the items of OpenAI's own tools, which no other provider can read.
    """
    if isinstance(given, str):
        return [Message("user", (Text(given),))]
    messages: list[Message] = []
    calls: Calls = {}
    for item in given:
        decode = _DECODERS.get(item.get("type") or "message")
        message = decode(item, calls) if decode else None
        if message is None:
            continue
        if messages and message.role in ("assistant", "tool") and messages[-1].role == message.role:
            message = Message(message.role, messages.pop().parts + message.parts)
        messages.append(message)
    return messages


def decode_content(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(part for item in content or () if (part := _decode_part(item)))


def _reasoning(item: Item, calls: Calls) -> Message:
    """Decodes thinking and the signature that we sent in it. Keeps an item that OpenAI encrypted in `extra`."""
    texts = [part["text"] for field in ("summary", "content") for part in item.get(field) or ()]
    encrypted: str = item.get("encrypted_content") or ""
    if encrypted.startswith(SIGNED):
        return Message("assistant", (Thinking("\n\n".join(texts), encrypted.removeprefix(SIGNED)),))
    return Message("assistant", (Thinking("\n\n".join(texts), extra={WIRE: {"item": dict(item)}}),))


def _call(item: Item, calls: Calls, arguments: Mapping[str, Any], malformed: str = "") -> Message:
    name = flat_name(item["name"], item.get("namespace") or "")
    call = calls[item["call_id"]] = ToolCall(name, arguments, item["call_id"], malformed)
    return Message("assistant", (call,))


def _advice(item: Item, calls: Calls) -> Message:
    words = advice.advice_words(item.get("advice") or "")
    return Message("assistant", (Text(words, extra={WIRE: {"item": dict(item)}}),))


def _output(item: Item, calls: Calls) -> Message:
    id_ = item["call_id"]
    shown = tuple(part for part in decode_content(item.get("output")) if isinstance(part, Text | Image | Document))
    return Message("tool", (ToolResult(calls.get(id_, ToolCall("", {}, id_)), shown),))


def _decode_part(part: Item) -> Part | None:
    match part["type"]:
        case "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text":
            return Text(part["text"])
        case "refusal":
            return Text(part["refusal"])
        case "input_image" if part.get("image_url"):
            return image_at(part["image_url"], unknown_fields("openai", part, frozenset(("type", "image_url"))))
        case "input_file" if part.get("file_data") or part.get("file_url"):
            return _document(part)
        case "input_audio":
            return audio(part)
    return None


def _document(part: Item) -> Document:
    """Decodes a file. Its `file_data` is a data URL, or bare base64 from some clients."""
    name, data = part.get("filename") or "", part.get("file_data") or ""
    if data and not data.startswith("data:"):
        data = f"data:{mimetypes.guess_type(name)[0] or 'application/pdf'};base64,{data}"
    return document_at(data or part["file_url"], name, {})


def flat_name(name: str, namespace: str) -> str:
    """Joins namespace and name to at most `NAME_LENGTH` characters, always the same way, so that calls match tools."""
    if not namespace:
        return name
    flat = f"{namespace.rstrip('_')}__{name}"
    if len(flat) <= NAME_LENGTH:
        return flat
    return f"{flat[: NAME_LENGTH - 9]}_{hashlib.sha256(flat.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class ClientTool:
    """The client's own name and namespace of a tool, which upstreams know by a flat name."""

    name: str
    namespace: str = ""
    is_custom: bool = False


def client_tools(request: ModelRequest | None) -> dict[str, ClientTool]:
    """Returns the client's tools by flat name, for those whose name or kind differs upstream."""
    extras = {tool.name: own(WIRE, tool.extra) for tool in (request.tools if request else ())}
    return {flat: ClientTool(**extra) for flat, extra in extras.items() if extra}


_DECODERS: Mapping[str, Callable[[Item, Calls], Message]] = {
    "message": lambda item, _: Message(ROLES[item["role"]], decode_content(item.get("content"))),
    "reasoning": _reasoning,
    "function_call": lambda item, calls: _call(item, calls, *read_arguments(item.get("arguments") or "")),
    "function_call_output": _output,
    "custom_tool_call": lambda item, calls: _call(item, calls, {"input": item.get("input") or ""}),
    "custom_tool_call_output": _output,
    advice.OPENROUTER_TOOL: _advice,
}
