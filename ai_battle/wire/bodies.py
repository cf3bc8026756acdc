"""Bodies of HTTP requests and answers: JSON to and from bytes, access to fields, and caches of decoded pieces."""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..core.errors import ConfigError

T = TypeVar("T")
MEGABYTE = 1024 * 1024
RAW = ("messages", "tools")  # fields that stay raw JSON, since they are most of a body and mostly known from before
MAX_PIECE_BYTES = 256 * 1024  # bytes of one piece that a cache keeps
SHORTEST_KNOWN, MOST_KNOWN = 16 * 1024, 7  # bytes of a searched beginning that is kept, and how many others are
MOST_MET = 2_048  # hashes of pieces that came once
READ_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
READ_LIST = msgspec.json.Decoder(list[msgspec.Raw])
SURROGATES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a valid pair, which is one character
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)
EMPTY_VALUES: tuple[Any, ...] = (None, "", [], (), {})
ANY_OBJECT: Mapping[str, Any] = {"type": "object", "additionalProperties": True}
"""The schema of an answer that may be any JSON object."""


def dumps(value: Any) -> bytes:
    """Encodes JSON. Replaces lone surrogates, which are not valid Unicode, with U+FFFD."""
    try:
        return to_json(value, inf_nan_mode="null", fallback=_plain_value)
    except PydanticSerializationError:  # half of a surrogate pair
        text = json.dumps(value, ensure_ascii=False, default=_plain_value)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def loads(data: bytes) -> Any:
    """Decodes JSON, replacing invalid characters with U+FFFD if need be. Raises `ValueError` if that isn't enough."""
    try:
        return from_json(data)
    except ValueError:
        mended = data.decode("utf-8", "replace").encode()
        return from_json(SURROGATES.sub(lambda m: b"\\ufffd" if m["lone"] else m[0], mended))


def is_whole(data: bytes) -> bool:
    """Returns whether `data` is a complete JSON object."""
    try:
        return isinstance(loads(data), dict)
    except ValueError:
        return False


def read_arguments(text: str) -> tuple[Mapping[str, Any], str]:
    """Returns the arguments of a tool call, or none and the text itself if it is not a JSON object."""
    if not text.strip():
        return {}, ""
    try:
        arguments = from_json(text, allow_inf_nan=False)
    except ValueError:
        return {}, text
    if arguments is None:
        return {}, ""
    return (arguments, "") if isinstance(arguments, dict) else ({}, text)


def own(wire: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of `extra` that belong to `wire`."""
    return dict(extra[wire]) if wire in extra else {}


def unknown_fields(wire: str, body: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Returns the fields of `body` that are not `known`, as an `extra`. Drops empty ones."""
    if body.keys() <= known:
        return {}
    unknown = {key: value for key, value in body.items() if key not in known and value not in EMPTY_VALUES}
    return {wire: unknown} if unknown else {}


def required_field(body: Mapping[str, Any], field: str, kind: type[T]) -> T:
    return _require_type(body[field], field, kind)


def field_or(body: Mapping[str, Any], field: str, otherwise: T) -> T:
    """Returns the field, or `otherwise` if it is missing or null. Raises `TypeError` if their types differ."""
    value = body.get(field)
    return otherwise if value is None else _require_type(value, field, type(otherwise))


def count(body: Mapping[str, Any], field: str) -> int:
    """Returns a number of tokens, 0 if it is missing or null."""
    return int(body.get(field) or 0)


def given_id(body: Mapping[str, Any]) -> str:
    """Returns the id as text, since some servers send numbers; empty if there is none."""
    return str(body.get("id") or "")


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class DecodeCache(Generic[T]):
    """An LRU cache of decoded JSON, keyed by its bytes. It holds pieces with up to `most` bytes together.

    Assistants send all messages and tools again with each request, but most other pieces come only once. So a piece
    is kept from the second time on.
    """

    def __init__(self, most: int = MEGABYTE) -> None:
        self._most = most
        self._size = 0
        self._made: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._met: set[int] = set()

    def decode(self, came: Any, read: Callable[[Any], T]) -> T:
        """Applies `read` to a value or to raw JSON; returns the object from before for raw JSON that is cached."""
        if not isinstance(came, bytes):
            return read(came)
        made = self.get(came)
        return self.remember(came, read(decode_piece(came)), len(came)) if made is None else made

    def get(self, key: Hashable) -> T | None:
        if (found := self._made.get(key)) is None:
            return None
        self._made.move_to_end(key)
        return found[0]

    def remember(self, key: Hashable, made: T, size: int) -> T:
        """Returns `made`, and caches it from its second call with `key` on unless `size` is above `MAX_PIECE_BYTES`."""
        # Only a hash is kept of a key that came once. A collision does no harm: it caches a piece one call too early.
        if (digest := hash(key)) not in self._met:
            if len(self._met) >= MOST_MET:
                self._met.clear()
            self._met.add(digest)
        elif size <= MAX_PIECE_BYTES:
            self._size += 0 if key in self._made else size
            self._made[key] = made, size
        while self._size > self._most:
            self._size -= self._made.popitem(last=False)[1][1]
        return made


class PatternSearch:
    """Searches raw JSON messages for a pattern, whose matches are at most `longest` bytes long.

    A conversation comes again with each turn, so its beginning is not searched again once it has no match. Its last
    quarter does not count as beginning, since clients may send the last messages differently next time.
    """

    def __init__(self, pattern: bytes, longest: int) -> None:
        self._search = re.compile(pattern).search
        self._longest = longest
        self._clear: list[bytes] = []

    def finds(self, messages: bytes) -> bool:
        known = next((each for each in reversed(self._clear) if messages.startswith(each)), b"")
        if self._search(messages, max(0, len(known) - self._longest)):
            return True
        beginning = messages[: min(len(messages) * 3 // 4, MAX_PIECE_BYTES)]
        if len(beginning) > max(len(known), SHORTEST_KNOWN):
            self._clear = [*[each for each in self._clear if each is not known][-MOST_KNOWN:], beginning]
        return False


@dataclass(frozen=True, slots=True)
class BodyHead:
    """All fields of a body except its messages, shared by bodies that have the same. `made` caches derived values."""

    fields: Mapping[str, Any]
    made: dict[Hashable, Any] = field(default_factory=dict)


HEAD_CACHE: DecodeCache[BodyHead] = DecodeCache()


def decode_body(data: bytes) -> dict[str, Any]:
    """Decodes a JSON object, leaving `tools` and `messages` as raw JSON. Raises `ConfigError`.

    Replaces lone surrogates, which editors send; a body with such an error is decoded whole.
    """
    return decode_body_and_head(data)[0]


def decode_body_and_head(data: bytes) -> tuple[dict[str, Any], BodyHead]:
    """Returns the same as `decode_body`, and the part of it that other bodies may share."""
    try:
        if not data.isascii():  # msgspec cuts out raw pieces without checking that they are UTF-8
            data.decode()
        pieces = READ_FIELDS.decode(data)
    except (ValueError, RecursionError):
        pieces = {}
    if "messages" not in pieces:
        fields = _whole_body(data)
        return fields, BodyHead(fields)
    messages = bytes(pieces.pop("messages"))
    head = _decode_head({name: bytes(raw) for name, raw in pieces.items()}, len(data) - len(messages))
    return {**head.fields, "messages": _field("messages", messages)}, head


def _decode_head(pieces: Mapping[str, bytes], size: int) -> BodyHead:
    key = (*pieces, *pieces.values())
    if head := HEAD_CACHE.get(key):
        return head
    return HEAD_CACHE.remember(key, BodyHead({name: _field(name, raw) for name, raw in pieces.items()}), size)


def checkable(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the body with a placeholder for raw `messages`, which are checked one by one when they are decoded."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), bytes):
        return body
    return {**body, "messages": [None]}


def encode_raw(fields: Mapping[str, Any]) -> bytes:
    """Encodes all fields but the messages; fields that are raw JSON already are copied as they are."""
    raw = {name: value for name, value in fields.items() if type(value) is bytes and name != "messages"}
    head = dumps({name: value for name, value in fields.items() if type(value) is not bytes})
    return b"".join((head[:-1], *(b',"%s":%s' % (name.encode(), value) for name, value in raw.items()), b"}"))


def with_raw_messages(body: bytes, messages: bytes) -> bytes:
    """Appends raw JSON messages to an encoded object as its last field."""
    return b"".join((body[:-1], b',"messages":', messages, b"}"))


def decode_piece(raw: bytes) -> Any:
    """Decodes a piece of a body that was left raw. Raises `ConfigError`."""
    try:
        return loads(raw)
    except ValueError as error:
        raise ConfigError(f"The body is not JSON: {error}.") from error


def _field(name: str, raw: bytes) -> Any:
    return raw if name in RAW and raw.startswith(b"[") else decode_piece(raw)


def _whole_body(data: bytes) -> dict[str, Any]:
    try:
        body = from_json(data)
    except ValueError:
        body = _decode_mended(data)
    if not isinstance(body, dict):
        raise ConfigError("The body must be a JSON object.")
    return body


def _decode_mended(data: bytes) -> Any:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"The body is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.") from error
    return decode_piece(data)


def _require_type(value: Any, field: str, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{field} is {type(value).__name__}, not {kind.__name__}")
    return value


def _plain_value(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
