"""JSON to and from bytes; text that is not Unicode is mended with U+FFFD instead of failing."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

SURROGATES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair, which is a character
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)


def dumps(value: Any) -> bytes:
    try:
        return to_json(value, inf_nan_mode="null", fallback=_plain)
    except PydanticSerializationError:  # half of a surrogate pair
        text = json.dumps(value, ensure_ascii=False, default=_plain)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def loads(data: bytes) -> Any:
    """The value; raises `ValueError` for what is no JSON even when its broken characters are mended."""
    try:
        return from_json(data)
    except ValueError:
        mended = data.decode("utf-8", "replace").encode()
        return from_json(SURROGATES.sub(lambda m: b"\\ufffd" if m["lone"] else m[0], mended))


def is_whole(data: bytes) -> bool:
    """Whether it is an object from its first bracket to its last one: then nothing of it is missing."""
    try:
        return isinstance(loads(data), dict)
    except ValueError:
        return False


def read_arguments(text: str) -> tuple[Mapping[str, Any], str]:
    """Arguments of a tool call and, when `text` is no JSON object, the text itself as malformed."""
    if not text.strip():
        return {}, ""
    try:
        arguments = from_json(text, allow_inf_nan=False)
    except ValueError:
        return {}, text
    if arguments is None:
        return {}, ""
    return (arguments, "") if isinstance(arguments, dict) else ({}, text)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
