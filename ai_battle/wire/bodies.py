"""The body of a client's request: JSON within bounds, read at its top level; what comes again is read once."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec
from pydantic_core import from_json

from ..core.errors import ConfigError
from ._json import dumps, loads

T = TypeVar("T")
MEGABYTE = 1024 * 1024
LARGEST = 32 * MEGABYTE
LONGEST = 256 * 1024
READ_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
READ_LIST = msgspec.json.Decoder(list[msgspec.Raw])


class TooLarge(ConfigError):
    """A body beyond the bound, which is no mistake in what it says."""


class DecodeCache(Generic[T]):
    """Remembers what was made of pieces of JSON, by their bytes: of up to `most` bytes, those that were used last.

    Assistants send all messages and tools again with each request.
    """

    def __init__(self, most: int = 2 * MEGABYTE) -> None:
        self._most = most
        self._size = 0
        self._made: OrderedDict[bytes, T] = OrderedDict()

    def get(self, raw: bytes) -> T | None:
        made = self._made.get(raw)
        if made is not None:
            self._made.move_to_end(raw)
        return made

    def put(self, raw: bytes, made: T) -> T:
        """Remembers and returns `made`; what is longer than `LONGEST` is not remembered."""
        if len(raw) <= LONGEST:
            self._size += 0 if raw in self._made else len(raw)
            self._made[raw] = made
        while self._size > self._most:
            self._size -= len(self._made.popitem(last=False)[0])
        return made


def decode_body(data: bytes, largest: int = LARGEST) -> dict[str, Any]:
    """Returns the object that `data` is, with `tools` and each of the `messages` left as raw JSON.

    Halves of surrogate pairs, which editors send, are mended; a body that needs it is read whole. Raises `ConfigError`.
    """
    if len(data) > largest:
        raise TooLarge(f"The body has {len(data):,} bytes; {largest:,} are allowed.")
    try:
        data.decode()
        fields = READ_FIELDS.decode(data)
    except (ValueError, RecursionError):
        return _whole_body(data)
    if "messages" not in fields:
        return _whole_body(data)
    return {name: _field(name, bytes(raw)) for name, raw in fields.items()}


def decode_piece(raw: bytes) -> Any:
    """Returns the value of a piece of a body that was left raw. Raises `ConfigError`."""
    try:
        return loads(raw)
    except ValueError as error:
        raise ConfigError(f"The body is not JSON: {error}.") from error


def with_fields(data: bytes, fields: Mapping[str, Any]) -> bytes:
    """Returns the body with other values of these fields; the bytes of all others stay as they are.

    Raises `ValueError` for what is no JSON object.
    """
    changed = {name: msgspec.Raw(dumps(value)) for name, value in fields.items()}
    return msgspec.json.encode(READ_FIELDS.decode(data) | changed)


def _field(name: str, raw: bytes) -> Any:
    if name == "messages" and raw.startswith(b"["):
        return [bytes(message) for message in READ_LIST.decode(raw)]
    return raw if name == "tools" and raw.startswith(b"[") else decode_piece(raw)


def _whole_body(data: bytes) -> dict[str, Any]:
    try:
        body = from_json(data)
    except ValueError:
        body = _mended(data)
    if not isinstance(body, dict):
        raise ConfigError("The body must be a JSON object.")
    return body


def _mended(data: bytes) -> Any:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"The body is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.") from error
    return decode_piece(data)
