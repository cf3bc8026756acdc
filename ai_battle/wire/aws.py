"""Amazon's event streams: messages in frames of bytes, each with the event of another API inside.

Source: "Amazon Transcribe streaming, event stream encoding" and botocore's `eventstream`: total length, headers'
length, a checksum of both (12 bytes), headers, payload, a checksum of all; numbers are big-endian.
"""

import struct
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

from ..core.errors import BadReply
from .bodies import dumps, loads
from .errors import UNREADABLE, malformed_error

MAX_FRAME = 16 * 1024 * 1024
_PRELUDE = struct.Struct(">III")
_CHECK = struct.Struct(">I")
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_LENGTHS = (6, 7)
KINDS = {
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
    "accessDeniedException": "permission_error",
    "resourceNotFoundException": "not_found_error",
    "modelTimeoutException": "timeout_error",
    "serviceUnavailableException": "overloaded_error",
}


class Frames:
    """One per stream: the events inside of its frames, as a stream of server-sent events says them."""

    def __init__(self) -> None:
        self._unread = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Raises `BadReply` for what is no such stream."""
        self._unread += data
        return b"".join(b"data: %b\n\n" % event for event in self._events())

    def _events(self) -> Iterator[bytes]:
        while len(self._unread) >= _PRELUDE.size:
            length, of_headers, check = _PRELUDE.unpack_from(self._unread)
            if crc32(self._unread[:8]) != check or not 16 + of_headers <= length <= MAX_FRAME:
                raise BadReply("The server's stream is not in Amazon's encoding.", again="once")
            if len(self._unread) < length:
                return
            frame = bytes(self._unread[:length])
            del self._unread[:length]
            if crc32(frame[:-4]) != _CHECK.unpack(frame[-4:])[0]:
                raise BadReply("A part of the server's stream was damaged on its way.", again="once")
            yield _event(frame[12 : 12 + of_headers], frame[12 + of_headers : -4])


def _event(headers: bytes, payload: bytes) -> bytes:
    try:
        named, body = _headers(headers), loads(payload) if payload else {}
        if named.get(":message-type") == "event":
            return b64decode(body["bytes"]) if "bytes" in body else b"{}"
        kind = named.get(":exception-type") or named.get(":error-code") or ""
        return dumps(_error(kind, body, named.get(":error-message", "")))
    except (*UNREADABLE, struct.error) as error:
        raise malformed_error(payload) from error


def _error(kind: str, body: Mapping[str, Any], said: str) -> dict[str, Any]:
    message = body.get("message") or body.get("Message") or said or kind
    return {"type": "error", "error": {"type": KINDS.get(kind, "api_error"), "message": message}}


def _headers(data: bytes) -> dict[str, str]:
    """Returns the headers that are text; the others are passed over."""
    found, place = {}, 0
    while place < len(data):
        name_end = place + 1 + data[place]
        name, kind, place = data[place + 1 : name_end].decode(), data[name_end], name_end + 1
        size = _SIZES.get(kind, 0)
        if kind in _LENGTHS:
            (size,) = struct.unpack_from(">H", data, place)
            place += 2
        if kind == 7:
            found[name] = data[place : place + size].decode()
        place += size
    return found
