"""The parts of a message as Chat Completions write them, both ways, and the shape that parts must have."""

import base64
import mimetypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ...core.events import Event, ThinkingDelta
from ...core.messages import Document, Image, Part, Text, Thinking, join_text
from .. import bodies
from ..checks import ObjectShape, TaggedShape, address, text, text_or
from ..checks import base64 as base64_text
from ..messages import Content, file_text, flowing

WIRE = "openai"
own = partial(bodies.own, WIRE)
unknown_fields = partial(bodies.unknown_fields, WIRE)

_URL = ObjectShape({"url!": address})
AUDIO = {"input_audio!": {"data!": base64_text, "format!": text}}
_PART = TaggedShape(
    "type",
    {
        "text": {"text!": text},
        "refusal": {"refusal!": text},
        "image_url": {"image_url!": lambda url: (address if isinstance(url, str) else _URL)(url)},
        "input_audio": AUDIO,
        "file": {"file!": {"file_data": address, "filename": text, "file_id": text}},
    },
)

# Some clients send words as they are among the parts.
CONTENT = text_or([lambda part: None if isinstance(part, str) else _PART(part)], "a list of parts")


def refusal(text: str) -> Text:
    """Returns what a model says instead of an answer; on this wire it is a part of its own kind."""
    return Text(text, extra={WIRE: {"type": "refusal", "refusal": text}})


def is_refusal(part: Part) -> bool:
    return isinstance(part, Text) and own(part.extra).get("type") == "refusal"


REFUSES = ThinkingDelta("", extra={WIRE: {"type": "refusal"}})
"""The text that follows is a refusal."""


def refuses(event: Event) -> bool:
    return type(event) is ThinkingDelta and event.extra is not None and own(event.extra).get("type") == "refusal"


def encode_content(
    parts: Sequence[Content], join: Callable[[Iterable[str]], str] = flowing
) -> str | list[dict[str, Any]]:
    """Returns one string for text alone, which every server takes, and a list of parts for all else.

    What another API alone has a name for has no text here, and says nothing.
    """
    if all(isinstance(part, Text) and WIRE not in part.extra for part in parts):
        return join(part.text for part in parts if isinstance(part, Text))
    return [encode_part(part) for part in parts if not _is_foreign(part)]


def _is_foreign(part: Content) -> bool:
    return isinstance(part, Text) and not part.text and bool(part.extra) and WIRE not in part.extra


def encode_part(part: Content) -> dict[str, Any]:
    """Writes a part; one that we have no name for goes back as it came: its `extra` has the `type`."""
    extra = own(part.extra)
    if "type" in extra:
        return extra
    match part:
        case Text(text):
            return {"type": "text", "text": text, **extra}
        case Image():
            return {"type": "image_url", "image_url": {"url": _address(part), **extra}}
        case Document(media_type, data) if data and media_type.startswith("text/"):  # files are PDFs here
            return {"type": "text", "text": file_text(part), **extra}
        case Document(name=name):
            return {"type": "file", "file": {"filename": name or "document.pdf", "file_data": _address(part), **extra}}


def decode_content(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, Mapping):
        raise TypeError("content is an object")
    return tuple(Text(part) if isinstance(part, str) else _decode_part(part) for part in content or ())


def _decode_part(part: Mapping[str, Any]) -> Part:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text, extra=unknown_fields(part, _PART.names["text"]))
        case {"type": "refusal", "refusal": str(text)}:
            return refusal(text)
        case {"type": "image_url", "image_url": {"url": str()} as image}:
            return image_at(image["url"], unknown_fields(image, _URL.names))
        case {"type": "image_url", "image_url": str(url)}:
            return image_at(url, {})
        case {"type": "file", "file": {"file_data": str(url)} as file}:
            extra = unknown_fields(file, frozenset(("filename", "file_data")))
            return document_at(url, bodies.field_or(file, "filename", ""), extra)
        case {"type": "input_audio", "input_audio": {"data": str(), "format": str()}}:
            return audio(part)
        case {"type": "thinking", "thinking": list(thoughts)}:  # Mistral's
            return Thinking(join_text(decode_content(thoughts)))
    return Text("", extra={WIRE: dict(part)})


def image_at(url: str, extra: Mapping[str, Any]) -> Image:
    """Returns the picture at an address, which may be a data URL."""
    if (read := read_data_url(url)) is not None:
        return Image(*read, extra=extra)
    return Image(mimetypes.guess_type(url)[0] or "image/png", url=url, extra=extra)


def document_at(url: str, name: str, extra: Mapping[str, Any]) -> Document:
    """Returns the file at an address, which may be a data URL."""
    if (read := read_data_url(url)) is not None:
        return Document(*read, name=name, extra=extra)
    return Document(mimetypes.guess_type(name or url)[0] or "application/pdf", url=url, name=name, extra=extra)


def audio(part: Mapping[str, Any]) -> Document:
    """Returns a recording as a file, which it is to APIs that have no name for it; here it goes back as it came."""
    sound = part["input_audio"]
    return Document(f"audio/{sound['format']}", base64.b64decode(sound["data"]), extra={WIRE: dict(part)})


def _address(file: Image | Document) -> str:
    return file.url or f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"


def read_data_url(url: str) -> tuple[str, bytes] | None:
    """Returns media type and bytes; None for an address of another kind. Raises `ValueError` for broken base64."""
    start, comma, encoded = url.partition(",")
    if not comma or not start.startswith("data:") or not start.endswith(";base64"):
        return None
    return start[5:-7].partition(";")[0], base64.b64decode(encoded)
