"""What a tool prints belongs to its result, not on the screen: streams that know who writes."""

import sys
from contextvars import ContextVar
from threading import Lock
from typing import Any

from ._lengths import HeadAndTail

_sink: ContextVar[HeadAndTail | None] = ContextVar("printed", default=None)
_lock = Lock()
_users = 0


class _Routed:
    """A standard stream: text of a running tool goes to that tool's sink, all else where it always went."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> Any:
        return (_sink.get() or self.stream).write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """A tool that closes them would leave the program without."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class collected:  # noqa: N801 - used like contextlib.redirect_stdout
    """What is printed in here, and in the tasks and threads that are started here; at most `limit` characters."""

    __slots__ = ("_before", "_kept")

    def __init__(self, limit: int) -> None:
        self._kept = HeadAndTail(limit)

    def __enter__(self) -> HeadAndTail:
        _route()
        self._before = _sink.set(self._kept)
        return self._kept

    def __exit__(self, *raised: object) -> None:
        _sink.reset(self._before)
        _restore()


def _route() -> None:
    global _users
    with _lock:
        _users += 1
        if not isinstance(sys.stdout, _Routed):
            sys.stdout = _Routed(sys.stdout)
        if not isinstance(sys.stderr, _Routed):
            sys.stderr = _Routed(sys.stderr)


def _restore() -> None:
    """The last one puts the streams back, unless somebody else has put others there meanwhile."""
    global _users
    with _lock:
        _users -= 1
        if not _users and isinstance(sys.stdout, _Routed):
            sys.stdout = sys.stdout.stream
        if not _users and isinstance(sys.stderr, _Routed):
            sys.stderr = sys.stderr.stream
