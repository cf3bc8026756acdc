"""The parts of a message as content blocks of the Messages API, both ways."""

import mimetypes
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from ...core.messages import Document, Image, Part, Text, Thinking, ToolCall, ToolResult
from .._extra import kept, own
from .._json import dumps, read_arguments
from .._shape import given, needed
from .._texts import flowing

WIRE = "anthropic"

Block = dict[str, Any]
Calls = MutableMapping[str, ToolCall]

# What the API takes as the id of a call; other providers' ids may have dots, colons or blanks.
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


def encode_part(part: Part) -> Block | None:
    """The block of a part; None for what the API refuses to see: blank text, and thinking that it did not sign."""
    extra = own(WIRE, part.extra)
    if "block" in extra:
        return dict(extra["block"])
    return None if _is_refused(part) else {**_bare_block(part), **extra}


def decode_block(block: Mapping[str, Any], calls: Calls) -> Part:
    """The part of a block; a tool result finds the call that it answers in `calls`, where tool uses are entered.

    A block without a counterpart in our values is kept whole and goes back as it came.
    """
    decode = _DECODERS.get(needed(block, "type", str))
    part = decode(block, calls) if decode else None
    return part or Text("", extra=_whole(block))


def _is_refused(part: Part) -> bool:
    match part:
        case Text(text):
            return not text or text.isspace()
        case Thinking(signature=signature):
            return not signature
    return False


def _bare_block(part: Part) -> Block:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Image():
            return {"type": "image", "source": _source(part)}
        case Document():
            named = {"title": part.name} if part.name else {}
            return {"type": "document", "source": _source(part), **named}
        case ToolCall(name, arguments, id_):
            return {"type": "tool_use", "id": wire_id(id_), "name": name, "input": dict(arguments)}
        case ToolResult():
            return _result_block(part)


def wire_id(id_: str) -> str:
    return _NOT_IN_IDS.sub("_", id_) or "call"


def _result_block(result: ToolResult) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": wire_id(result.call.id)}
    if content := [inner for part in result.parts if (inner := encode_part(part))]:
        block["content"] = content
    if result.is_error:
        block["is_error"] = True
    return block


def _source(file: Image | Document) -> dict[str, str]:
    if not file.data:
        return {"type": "url", "url": file.url}
    if file.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": file.data.decode(errors="replace")}
    return {"type": "base64", "media_type": file.media_type, "data": b64encode(file.data).decode()}


def _text(block: Mapping[str, Any], calls: Calls) -> Part:
    return Text(needed(block, "text", str), extra=_rest(block))


def _thinking(block: Mapping[str, Any], calls: Calls) -> Part:
    signature = given(block, "signature", "")
    return Thinking(needed(block, "thinking", str), signature, extra=_rest(block))


def _redacted(block: Mapping[str, Any], calls: Calls) -> Part:
    return Thinking("", extra=_whole(block))


def _image(block: Mapping[str, Any], calls: Calls) -> Part | None:
    source, extra = block["source"], _rest(block)
    match source["type"]:
        case "base64":
            return Image(needed(source, "media_type", str), b64decode(source["data"]), extra=extra)
        case "url":
            url = needed(source, "url", str)
            return Image(mimetypes.guess_type(url)[0] or "image/png", url=url, extra=extra)
    return None


def _document(block: Mapping[str, Any], calls: Calls) -> Part | None:
    source, name, extra = block["source"], given(block, "title", ""), _rest(block)
    match source["type"]:
        case "base64":
            return Document(needed(source, "media_type", str), b64decode(source["data"]), name=name, extra=extra)
        case "text":
            return Document("text/plain", source["data"].encode(), name=name, extra=extra)
        case "url":
            return Document("application/pdf", url=needed(source, "url", str), name=name, extra=extra)
    return None


def _tool_use(block: Mapping[str, Any], calls: Calls) -> Part:
    said, extra = block.get("input") or {}, _rest(block)
    arguments, malformed = (said, "") if isinstance(said, Mapping) else read_arguments(_raw(said))
    call = ToolCall(needed(block, "name", str), arguments, given(block, "id", ""), malformed, extra=extra)
    calls[call.id] = call
    return call


def _raw(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else dumps(arguments).decode()


def _tool_result(block: Mapping[str, Any], calls: Calls) -> Part:
    id_ = needed(block, "tool_use_id", str)
    parts = tuple(_in_result(decode_block(inner, calls), inner) for inner in content_blocks(block.get("content")))
    extra = _rest(block)
    return ToolResult(calls.get(id_, ToolCall("", {}, id_)), parts, bool(block.get("is_error")), extra=extra)


def _in_result(part: Part, block: Mapping[str, Any]) -> Text | Image | Document:
    """A result is texts, pictures and files; of all else other APIs get to see the words, this one what came."""
    if isinstance(part, Text | Image | Document) and not _is_whole(part) and not _is_in_words(part):
        return part
    return Text(_words(block), extra=_whole(block))


def _is_in_words(part: Part) -> bool:
    return isinstance(part, Document) and part.media_type.startswith("text/")


def decode_said(block: Mapping[str, Any], calls: Calls) -> Part:
    """The same for what a client sends: other APIs get to see the words in a block that only this one knows."""
    part = decode_block(block, calls)
    return Text(_words(block), extra=part.extra) if isinstance(part, Text) and _is_whole(part) else part


def _is_whole(part: Part) -> bool:
    return "block" in own(WIRE, part.extra)


def _words(block: Mapping[str, Any]) -> str:
    """Of a document in text or of a search result."""
    match block:
        case {"source": {"type": "text", "data": str(text)}} | {"text": str(text)}:
            return text
        case {"source": {"type": "content", "content": str() | list() as content}} | {
            "content": str() | list() as content
        }:
            return flowing(_words(inner) for inner in content_blocks(content) if isinstance(inner, Mapping))
    return ""


def content_blocks(content: Any) -> Iterable[Mapping[str, Any]]:
    """A string is the API's shorthand for one block of text; nothing at all is none."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or ()


def _rest(block: Mapping[str, Any]) -> dict[str, Any]:
    """What a block has beyond the fields that our values carry (`cache_control`, `citations`, ...)."""
    return kept(WIRE, block, _CARRIED[block["type"]])


def _whole(block: Mapping[str, Any]) -> dict[str, Any]:
    return {WIRE: {"block": dict(block)}}


_CARRIED = {
    "text": frozenset(("type", "text")),
    "thinking": frozenset(("type", "thinking", "signature")),
    "image": frozenset(("type", "source")),
    "document": frozenset(("type", "source", "title")),
    "tool_use": frozenset(("type", "id", "name", "input")),
    "tool_result": frozenset(("type", "tool_use_id", "content", "is_error")),
}
_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Calls], Part | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "image": _image,
    "document": _document,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}
