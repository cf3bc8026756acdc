"""Scripted replies of a fake provider."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..core.exchange import Stop, Usage
from ..core.messages import ToolCall

_WORDS = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model.

    `delay` is the seconds before its first byte, `pace` those between two chunks of a stream; without them a stream is
    written at once. `chunks` is the number of pieces into which a stream cuts the text (0: one for each word). A tool
    call without an id gets one, and missing `usage` and `stop` get plausible values.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    stop: Stop | None = None
    delay: float = 0.0
    pace: float = 0.0
    chunks: int = 0

    @property
    def bill(self) -> Usage:
        return self.usage or Usage()


def reply(text: str = "", *, calls: Iterable[ToolCall] = (), **details: Any) -> Reply:
    """Creates an answer: `reply("Hm.", thinking="Let me see", calls=[call("add", a=1)], delay=0.2, chunks=3)`."""
    return Reply(text, calls=tuple(calls), **details)


def call(name: str, **arguments: Any) -> ToolCall:
    """Creates a tool call: `call("add", a=1, b=2)`. It is also an entry of a `ScriptedClient`."""
    return ToolCall(name, arguments)


@lru_cache(maxsize=512)
def pieces(text: str, count: int) -> tuple[str, ...]:
    """Cuts the text into `count` pieces of similar length, or into words."""
    if not count:
        return tuple(_WORDS.findall(text))
    size = max(1, -(-len(text) // count))
    return tuple(text[start : start + size] for start in range(0, len(text), size))


def complete_reply(partial: Reply, request_number: int, input_tokens: int) -> Reply:
    """Returns the reply with ids, usage and a stop reason filled in."""
    calls = partial.calls and _with_ids(partial.calls, request_number)
    usage = partial.usage or _plausible_usage(partial, input_tokens)
    return replace(partial, calls=calls, usage=usage, stop=partial.stop or ("tool_calls" if calls else "end"))


def _with_ids(calls: Sequence[ToolCall], request_number: int) -> tuple[ToolCall, ...]:
    return tuple(c if c.id else replace(c, id=f"call_{request_number}_{i}") for i, c in enumerate(calls))


def _plausible_usage(partial: Reply, input_tokens: int) -> Usage:
    """Estimates a token as four characters, like real tokenizers. Equal exchanges have equal usage."""
    thought = (len(partial.thinking) + 3) // 4
    called = sum(10 + len(str(c.arguments)) // 4 for c in partial.calls)
    return Usage(input_tokens, (len(partial.text) + 3) // 4 + thought + called, reasoning_tokens=thought)
