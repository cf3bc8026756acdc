"""What a tool prints belongs to its result, not on the screen: streams that know who writes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def collected(limit: int) -> Iterator[HeadAndTail]:
    """What is printed in here, and in the tasks and threads that are started here; at most `limit` characters."""
    kept = HeadAndTail(limit)
    _route()
    before = _sink.set(kept)
    try:
        yield kept
    finally:
        _sink.reset(before)
        _restore()


def _route() -> None:
    global _users
    with _lock:
        _users += 1
        for name in ("stdout", "stderr"):
            if not isinstance(stream := getattr(sys, name), _Routed):
                setattr(sys, name, _Routed(stream))


def _restore() -> None:
    """The last one puts the streams back, unless somebody else has put others there meanwhile."""
    global _users
    with _lock:
        _users -= 1
        for name in ("stdout", "stderr"):
            if not _users and isinstance(stream := getattr(sys, name), _Routed):
                setattr(sys, name, stream.stream)
