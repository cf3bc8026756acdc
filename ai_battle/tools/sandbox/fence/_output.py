"""What is kept of a program's output: its head and its tail, however much there was."""


class Output:
    """Takes any amount in constant memory."""

    def __init__(self, cap: int) -> None:
        self.total = 0
        self._half = cap // 2
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = max(0, self._half - len(self._head))
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 4 * self._half:
            self._shorten()

    def kept(self) -> bytes:
        self._shorten()
        left_out = self.total - len(self._head) - len(self._tail)
        if not left_out:
            return bytes(self._head + self._tail)
        return b"%b\n[... %d bytes left out ...]\n%b" % (bytes(self._head), left_out, bytes(self._tail))

    def _shorten(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._half)]
