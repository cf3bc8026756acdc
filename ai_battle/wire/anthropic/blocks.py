"""Converts parts of messages to and from content blocks of the Messages API, and defines the blocks' shapes."""

import mimetypes
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from ...core.messages import Document, Image, Part, Text, Thinking, ToolCall, ToolResult
from ..advice import advice_words
from ..bodies import dumps, join_separated, own, read_arguments, unknown_fields
from ..checks import Shape, TaggedShape, base64, flag, object_, text, text_or

WIRE = "anthropic"

Block = dict[str, Any]
Calls = MutableMapping[str, ToolCall]

TEXT = {"type": text, "text!": text}
_SOURCE = TaggedShape(
    "type", {"base64": {"media_type!": text, "data!": base64}, "url": {"url!": text}, "text": {"data!": text}}
)
_RESULT_PARTS: dict[str, Shape] = {
    "text": TEXT, "image": {"source!": _SOURCE}, "document": {"source!": _SOURCE, "title": text},
}  # fmt: skip
_RESULT_CONTENT = text_or([TaggedShape("type", _RESULT_PARTS)], "a list of blocks")
BLOCKS: dict[str, Shape] = {
    **_RESULT_PARTS,
    "thinking": {"thinking!": text, "signature": text},
    "tool_use": {"id!": text, "name!": text, "input": text_or(object_, "an object")},
    "tool_result": {"tool_use_id!": text, "content": _RESULT_CONTENT, "is_error": flag},
}
"""The shapes of blocks by type. Blocks of other types and all other fields are passed on unchanged."""
_CARRIED = TaggedShape("type", BLOCKS).names

# The API rejects ids of calls with these characters, and other providers' ids contain dots, colons or spaces.
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


def encode_part(part: Part) -> Block | None:
    """Returns the block of a part, or None if the API rejects it: blank text, or thinking without its signature."""
    extra = own(WIRE, part.extra)
    if "block" in extra:
        return dict(extra["block"])
    match part:
        case Text(text) if not text or text.isspace():
            return None
        case Thinking(signature=""):
            return None
    return {**_bare_block(part), **extra}


def _bare_block(part: Part) -> Block:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Image():
            return {"type": "image", "source": _encode_source(part)}
        case Document():
            named = {"title": part.name} if part.name else {}
            return {"type": "document", "source": _encode_source(part), **named}
        case ToolCall(name, arguments, id_):
            return {"type": "tool_use", "id": wire_id(id_), "name": name, "input": dict(arguments)}
        case ToolResult():
            return _encode_result(part)


def _encode_result(result: ToolResult) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": wire_id(result.call.id)}
    if content := [inner for shown in result.parts if (inner := encode_part(shown))]:
        block["content"] = content
    return block | ({"is_error": True} if result.is_error else {})


def wire_id(id_: str) -> str:
    return _NOT_IN_IDS.sub("_", id_) or "call"


def _encode_source(file: Image | Document) -> dict[str, str]:
    if not file.data:
        return {"type": "url", "url": file.url}
    if file.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": file.data.decode(errors="replace")}
    return {"type": "base64", "media_type": file.media_type, "data": b64encode(file.data).decode()}


def decode_block(block: Mapping[str, Any], calls: Calls) -> Part:
    """Decodes a block whose shape was checked. Adds calls to `calls`, and looks up a result's call there.

    A block without a counterpart in our values is kept whole and sent back unchanged.
    """
    kind = block["type"]
    if kind not in _CARRIED:
        return (Thinking if kind == "redacted_thinking" else Text)("", extra=_unknown_block(block))
    extra = unknown_fields(WIRE, block, _CARRIED[kind])
    match kind:
        case "text":
            return Text(block["text"], extra=extra)
        case "thinking":
            return Thinking(block["thinking"], block.get("signature") or "", extra=extra)
        case "tool_use":
            return _decode_call(block, calls, extra)
        case "tool_result":
            return _decode_result(block, calls, extra)
    return _decode_file(block, extra)


def decode_client_block(block: Mapping[str, Any], calls: Calls) -> Part:
    """Decodes a client's block. If only this API has its kind, other APIs get its words as text."""
    part = decode_block(block, calls)
    return Text(_words(block), extra=part.extra) if isinstance(part, Text) and is_whole_block(part) else part


def is_whole_block(part: Part) -> bool:
    """Returns whether the part is a block of a kind that only this API has."""
    return "block" in own(WIRE, part.extra)


def content_blocks(content: Any) -> Iterable[Mapping[str, Any]]:
    """Returns the blocks of a content, which may be a list, a string (short for one text block) or missing."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or ()


def _decode_file(block: Mapping[str, Any], extra: Mapping[str, Any]) -> Image | Document | Text:
    if not (source := _decode_source(block["type"], block["source"])):
        return Text("", extra=_unknown_block(block))
    is_image = block["type"] == "image"
    return Image(*source, extra=extra) if is_image else Document(*source, block.get("title") or "", extra=extra)


def _decode_source(kind: str, source: Mapping[str, Any]) -> tuple[str, bytes, str] | None:
    """Returns media type, bytes and URL, or None for a source that only this API can read."""
    match kind, source["type"]:
        case _, "base64":
            return source["media_type"], b64decode(source["data"]), ""
        case "image", "url":
            return mimetypes.guess_type(source["url"])[0] or "image/png", b"", source["url"]
        case "document", "url":
            return "application/pdf", b"", source["url"]
        case "document", "text":
            return "text/plain", source["data"].encode(), ""
    return None


def _decode_call(block: Mapping[str, Any], calls: Calls, extra: Mapping[str, Any]) -> ToolCall:
    arguments, malformed = block.get("input") or {}, ""
    if not isinstance(arguments, Mapping):
        arguments, malformed = read_arguments(arguments if isinstance(arguments, str) else dumps(arguments).decode())
    call = ToolCall(block["name"], arguments, block.get("id") or "", malformed, extra=extra)
    calls[call.id] = call
    return call


def _decode_result(block: Mapping[str, Any], calls: Calls, extra: Mapping[str, Any]) -> ToolResult:
    id_ = block["tool_use_id"]
    parts = tuple(_in_result(decode_block(inner, calls), inner) for inner in content_blocks(block.get("content")))
    return ToolResult(calls.get(id_) or ToolCall("", {}, id_), parts, bool(block.get("is_error")), extra=extra)


def _in_result(part: Part, block: Mapping[str, Any]) -> Text | Image | Document:
    """Keeps texts, pictures and files. For all else, other APIs get its words and this API the original block."""
    is_in_words = isinstance(part, Document) and part.media_type.startswith("text/")
    if isinstance(part, Text | Image | Document) and not is_whole_block(part) and not is_in_words:
        return part
    return Text(_words(block), extra=_unknown_block(block))


def _words(block: Mapping[str, Any]) -> str:
    """Returns the text of a text document, a search result or advice, after its title and address if it has any."""
    words = _bare_words(block)
    about = ", ".join(value for name in ("title", "source") if isinstance(value := block.get(name), str) and value)
    return f"{about}:\n{words}" if about and words else words


def _bare_words(block: Mapping[str, Any]) -> str:
    match block:
        case {"source": {"type": "text", "data": str(text)}} | {"text": str(text)}:
            return text
        case {"source": {"type": "content", "content": str() | list() as content}} | {
            "content": str() | list() as content
        }:
            return join_separated(_words(inner) for inner in content_blocks(content) if isinstance(inner, Mapping))
        case {"content": {"type": "advisor_result", "text": str(text)}}:
            return advice_words(text)
    return ""


def _unknown_block(block: Mapping[str, Any]) -> dict[str, Any]:
    return {WIRE: {"block": dict(block)}}


def answer_blocks(parts: Iterable[Part]) -> Iterable[Block]:
    for part in parts:
        if isinstance(part, Thinking) and not part.signature and part.text:  # another provider's thinking
            yield {"type": "thinking", "thinking": part.text, "signature": ""}
        elif block := encode_part(part):
            yield block
