"""Server-sent events out of the bytes of an HTTP body, whatever its chunks are."""

from ..core.errors import BadReply
from ._json import is_whole

MAX_EVENT = 16 * 1024 * 1024
HEAD = 500
FIELDS = (b"data:", b"event:", b"error:", b"id:", b"retry:", b":")
LF, CR = b"\n\r"  # numbers: five times as fast to look for as bytes
BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"

ServerEvent = tuple[str, bytes]  # the event's name ("" when it has none) and its data


class EventTokenizer:
    """One per stream. Works on bytes alone, so U+2028 and U+0085 inside of JSON split nothing.

    An event that its blank line does not end is not an event, but for the last one. `head` is how the body began, for
    error messages.
    """

    def __init__(self) -> None:
        self.head = b""
        self._unread = bytearray()
        self._after_cr = False

    @property
    def unread(self) -> bytes:
        return bytes(self._unread)

    @property
    def is_event_stream(self) -> bool:
        """Whether the body began as one, and not as a web page or a JSON document."""
        return self.head.removeprefix(BOM).lstrip().startswith(FIELDS)

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that `data` completes. Raises `BadReply` when one of them outgrows `MAX_EVENT`."""
        if len(self.head) < HEAD:
            self.head += data[: HEAD - len(self.head)]
        if self._after_cr or CR in data:
            data = self._with_plain_newlines(data)
        if not self._unread:  # as a rule a chunk ends where an event ends
            end = data.rfind(b"\n\n")
            if end >= 0:
                if end + 2 < len(data):
                    self._unread += data[end + 2 :]
                return _events(data[:end])
        return self._feed_more(data)

    def close(self) -> list[ServerEvent]:
        """The body has ended: a last event that lacks only its blank line counts, if its data is whole."""
        event = _event(bytes(self._unread).rstrip(b"\n"))
        if event is None or not (event[1] == DONE or is_whole(event[1])):
            return []
        self._unread.clear()
        return [event]

    def _feed_more(self, data: bytes) -> list[ServerEvent]:
        unread = self._unread
        scanned = len(unread)
        unread += data
        end = unread.rfind(b"\n\n", max(scanned - 1, 0))
        if end >= 0:
            complete = bytes(unread[:end])
            del unread[: end + 2]
            return _events(complete)
        if len(unread) > MAX_EVENT:
            raise BadReply(f"An event of the stream is larger than {MAX_EVENT >> 20} MiB.", raw=_head(self.head))
        return []

    def _with_plain_newlines(self, data: bytes) -> bytes:
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
        elif not data:
            return data
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _events(complete: bytes) -> list[ServerEvent]:
    events = []
    for block in complete.split(b"\n\n") if LF in complete else (complete,):
        if LF not in block and block.startswith(b"data: "):
            events.append(("", block[6:]))
        elif (event := _event(block)) is not None:
            events.append(event)
    return events


def _event(block: bytes) -> ServerEvent | None:
    name = ""
    data: list[bytes] = []
    for line in block.removeprefix(BOM).split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value.decode("utf-8", "replace")
        if field in (b"data", b"error"):
            data.append(value)
        if field == b"error":  # llama.cpp says `error: {...}`
            name = "error"
    return (name, b"\n".join(data)) if data else None


def _head(raw: bytes) -> str:
    return raw[:HEAD].decode("utf-8", "replace")
