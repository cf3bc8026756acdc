"""Messages as Ollama writes them, and back; each message is encoded once in its life."""

import base64
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, get_args

from ...core.errors import ConfigError
from ...core.messages import Document, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from .. import _extra
from .._calls import call_id, with_results_joined
from .._json import dumps, read_arguments
from .._shape import given
from .._texts import flowing, told_as_failure

WIRE = "ollama"
own = partial(_extra.own, WIRE)
kept = partial(_extra.kept, WIRE)
KNOWN = frozenset(("role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"))
ROLES: Mapping[str, Role] = {role: role for role in get_args(Role)}
MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def encode_messages(messages: Iterable[Message]) -> bytes:
    """The JSON objects, joined by commas."""
    return b",".join([message.encoded.get(WIRE) or _encoded(message) for message in messages])


def message_bodies(message: Message) -> Iterable[dict[str, Any]]:
    """Results of tools are messages of their own; whatever else is said follows them."""
    for result in message.tool_results:
        body = _said("tool", result.parts)
        body["content"] = told_as_failure(result, body["content"])
        named = {"tool_name": result.call.name, "tool_call_id": call_id(result.call)}
        yield body | named | own(result.extra)
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    if rest or not message.tool_results:
        role = "user" if message.role == "tool" else message.role
        yield _said(role, rest) | own(message.extra)


def decode_messages(bodies: Iterable[Mapping[str, Any]]) -> list[Message]:
    return with_results_joined(bodies, decode_message)


def decode_message(body: Mapping[str, Any], calls: Mapping[str, ToolCall] | None = None) -> Message:
    """`calls` are the earlier calls of tools by their ids."""
    role = body.get("role") or "assistant"
    if role not in ROLES:
        raise ConfigError(f"A message has the role {role!r}; there is system, user, assistant and tool.")
    if role == "tool":
        return Message("tool", (_decode_result(body, calls or {}),))
    thought = given(body, "thinking", "")
    thinking = (Thinking(thought),) if thought else ()
    requested = tuple(decode_call(call) for call in body.get("tool_calls") or ())
    return Message(ROLES[role], (*thinking, *_decode_shown(body), *requested), extra=kept(body, KNOWN))


def decode_call(body: Mapping[str, Any]) -> ToolCall:
    function = body["function"]
    said = function.get("arguments") or {}
    arguments, malformed = (said, "") if isinstance(said, Mapping) else read_arguments(str(said))
    if set(arguments) == {"malformed"} and isinstance(arguments["malformed"], str):
        arguments, malformed = {}, arguments["malformed"]
    extra = kept(body, frozenset(("id", "type", "function")))
    return ToolCall(given(function, "name", ""), arguments, given(body, "id", ""), malformed, extra=extra)


def _encoded(message: Message) -> bytes:
    encoded = message.encoded[WIRE] = b",".join(dumps(body) for body in message_bodies(message))
    return encoded


def _said(role: str, parts: Iterable[Part]) -> dict[str, Any]:
    parts = list(parts)
    join = "".join if role == "assistant" else flowing
    body: dict[str, Any] = {"role": role, "content": join(map(_words, parts))}
    if thinking := "".join(part.text for part in parts if isinstance(part, Thinking)):
        body["thinking"] = thinking
    if images := [_picture(part) for part in parts if isinstance(part, Image)]:
        body["images"] = images
    if calls := [_encode_call(part) for part in parts if isinstance(part, ToolCall)]:
        body["tool_calls"] = calls
    return body


def _words(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case Document(media_type, data, _, name) if media_type.startswith("text/"):
            return f"{name or 'file'}:\n{data.decode('utf-8', 'replace')}\n\n"
        case Document(media_type):
            raise ConfigError(f"Ollama reads no files of type {media_type}; give it the text or pictures of the pages.")
        case _:
            return ""


def _picture(image: Image) -> str:
    if not image.data and image.url:
        raise ConfigError(f"Ollama takes pictures as bytes, not by address: download {image.url} first.")
    return base64.b64encode(image.data).decode()


def _encode_call(call: ToolCall) -> dict[str, Any]:
    arguments = {"malformed": call.malformed} if call.malformed else call.arguments
    return {"id": call_id(call), "function": {"name": call.name, "arguments": arguments}} | own(call.extra)


def _decode_result(body: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> ToolResult:
    identity = given(body, "tool_call_id", "")
    call = calls.get(identity) or ToolCall(given(body, "tool_name", ""), id=identity)
    return ToolResult(call, tuple(_decode_shown(body)), extra=kept(body, KNOWN))


def _decode_shown(body: Mapping[str, Any]) -> Iterable[Text | Image]:
    if content := given(body, "content", ""):
        yield Text(content)
    for encoded in body.get("images") or ():
        data = base64.b64decode(encoded)
        yield Image(next((kind for magic, kind in MAGIC.items() if data.startswith(magic)), "image/png"), data)
