"""Lines of JSON out of the bytes of an HTTP body, whatever its chunks are."""

from ..core.errors import BadReply
from ._errors import head
from ._json import is_whole
from .sse import HEAD, MAX_EVENT


class LineTokenizer:
    """One per stream. A line that its newline does not end is not a line, but for the last one.

    `head` is how the body began.
    """

    def __init__(self) -> None:
        self.head = b""
        self._unread = bytearray()

    @property
    def unread(self) -> bytes:
        return bytes(self._unread)

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without empty ones. Raises `BadReply` when one outgrows `MAX_EVENT`."""
        if len(self.head) < HEAD:
            self.head += data[: HEAD - len(self.head)]
        end = data.rfind(b"\n")
        if end < 0:
            self._unread += data
            if len(self._unread) > MAX_EVENT:
                message = f"A line of the stream is larger than {MAX_EVENT >> 20} MiB."
                raise BadReply(message, raw=head(self.head))
            return []
        complete = data[:end]
        if self._unread:
            complete = bytes(self._unread) + complete
            self._unread.clear()
        if end + 1 < len(data):
            self._unread += data[end + 1 :]
        return [line for line in complete.split(b"\n") if line and not line.isspace()]

    def close(self) -> list[bytes]:
        """The body has ended: a last line that lacks only its newline counts, if it is whole."""
        line = self.unread
        if not is_whole(line):
            return []
        self._unread.clear()
        return [line]
