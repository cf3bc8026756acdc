"""What comes again and again, as the tools of a coding assistant do with each of its requests, is made once."""

import marshal
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

from ..core.messages import Message, Role, Text

T = TypeVar("T")
MOST = 32
LONGEST = 256 * 1024
MOST_MESSAGES, LONGEST_MESSAGE = 512, 2048
ORDERED = 2
"""The format of marshal in which equal values have equal bytes, however they are shared in memory."""


class Repeats(Generic[T]):
    """Remembers what was made of the tools of the last bodies: of `MOST` lists, and none of more than `LONGEST` bytes.

    A list comes again when nothing differs, not the order of its fields either, nor 1 from 1.0 or true.
    """

    def __init__(self) -> None:
        self._made: OrderedDict[int, tuple[bytes, T]] = OrderedDict()

    def seen(self, body: Any) -> tuple[Any, Callable[[Callable[[], T]], T]]:
        """What of the body is new, and a function from how tools are read to what is made of them, now or before."""
        spelled = _spelled(body.get("tools")) if isinstance(body, dict) else b""
        kept = self._made.get(len(spelled))
        if kept and kept[0] == spelled:
            return {**body, "tools": None}, lambda _: kept[1]
        return body, partial(self._keep, spelled)

    def _keep(self, spelled: bytes, make: Callable[[], T]) -> T:
        made = make()
        if 0 < len(spelled) <= LONGEST:
            self._made[len(spelled)] = (spelled, made)
        if len(self._made) > MOST:
            self._made.popitem(last=False)
        return made


def _spelled(value: Any) -> bytes:
    """Nothing for nothing, and for what is no JSON."""
    try:
        return marshal.dumps(value, ORDERED) if value else b""
    except ValueError:
        return b""


def plain_message(role: Role, text: str) -> Message:
    """A talk is sent anew with each of its turns: its messages are the same objects then, and are encoded already."""
    return (_repeated if len(text) <= LONGEST_MESSAGE else _repeated.__wrapped__)(role, text)


@lru_cache(MOST_MESSAGES)
def _repeated(role: Role, text: str) -> Message:
    return Message(role, (Text(text),) if text else ())
