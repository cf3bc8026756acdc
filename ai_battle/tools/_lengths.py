"""Long texts cut to their head and tail, with the cut named."""

from collections import deque


def cut(text: str, limit: int) -> str:
    """The text, or its head and tail when it is longer than `limit`."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}{_mark(len(text) - 2 * half)}{text[len(text) - half :]}"


class HeadAndTail:
    """A text file in which only the first and the last characters are kept, however much is written."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._written = 0

    def write(self, text: str) -> int:
        self._written += len(text)
        room = self._half - len(self._head)
        self._head += text[:room]
        if rest := text[room:][-self._half :]:
            self._tail.append(rest)
            self._tail_length += len(rest)
        while self._tail and self._tail_length - len(self._tail[0]) >= self._half:
            self._tail_length -= len(self._tail.popleft())
        return len(text)

    def text(self) -> str:
        if not self._written:
            return ""
        tail = "".join(self._tail)[-self._half :]
        missing = self._written - len(self._head) - len(tail)
        return f"{self._head}{_mark(missing) if missing else ''}{tail}"


def _mark(missing: int) -> str:
    return f"\n[... {missing:,} characters cut ...]\n"
