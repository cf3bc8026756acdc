"""What a tool of an MCP server answered, as our tools answer."""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ...core.messages import Image

LARGEST_IMAGE = 8_000_000
LONGEST_TYPE = 60
PICTURES = {
    "image/png": re.compile(rb"\x89PNG"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
"""How the pictures begin that models can see."""


def answer_fields(result: Any) -> dict[str, Any]:
    """Structured content where there is some, texts and images; or the error that the server speaks of."""
    parts = [_part(block) for block in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    if result.is_error:
        return {"error": "\n".join(texts) or "the tool failed and did not say why"}
    found = dict(_structured_fields(result.structured_content, texts))
    images = [part for part in parts if isinstance(part, Image)]
    return {**found, "images": images} if images else found


def _structured_fields(content: Any, texts: list[str]) -> Iterator[tuple[str, Any]]:
    """Servers repeat structured content as text for older clients; that is left out."""
    if content is None:
        yield "result", "\n".join(texts)
        return
    if isinstance(content, dict) and not content.get("error"):
        yield from content.items()
    else:
        yield "result", content
    if rest := [text for text in texts if not _says(text, content)]:
        yield "text", "\n".join(rest)


def _says(text: str, content: Any) -> bool:
    with suppress(ValueError, RecursionError):
        written = json.loads(text)
        return bool(written == content or (isinstance(content, dict) and list(content.values()) == [written]))
    return isinstance(content, dict) and list(content.values()) == [text]


def _part(block: Any) -> "str | Image":
    match block.type:
        case "text":
            return str(block.text)
        case "image":
            return _picture(block.mime_type, block.data)
        case "audio":
            return f"[a sound ({block.mime_type}), which can't be heard here]"
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case "resource":
            return _resource(block.resource)
    return f"[{block.type}]"


def _resource(resource: Any) -> "str | Image":
    if (text := getattr(resource, "text", None)) is not None:
        return f"[{resource.uri}]\n{text}"
    if str(resource.mime_type).startswith("image/"):
        return _picture(resource.mime_type, resource.blob)
    return f"[{resource.uri}: {len(resource.blob) * 3 // 4:,} bytes of {resource.mime_type or 'some kind'}]"


def _picture(media_type: str, data: str) -> "str | Image":
    """A picture of a kind that models can see, whatever the server calls it."""
    what = f"an image ({media_type[:LONGEST_TYPE]})"
    try:
        image = base64.b64decode(data, validate=True)
    except binascii.Error:
        return f"[{what} that can't be read]"
    if len(image) > LARGEST_IMAGE:
        return f"[{what} of {len(image):,} bytes, which is too large]"
    seen = next((kind for kind, mark in PICTURES.items() if mark.match(image)), "")
    return Image(seen, image) if seen else f"[{what} of {len(image):,} bytes, which is none that models can see]"
