"""Answers, and every way in which deltas may have told them before they were whole."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from hypothesis import strategies as st

from ai_battle.core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import ModelResponse, Usage
from ai_battle.core.messages import Message, Part, Text, Thinking, ToolCall

from .values import names, objects, words

USED = Usage(21, 8, 4, 0, 3)


class Writer(Protocol):
    def begin(self) -> bytes: ...
    def feed(self, event: Event) -> bytes: ...
    def finish(self, response: ModelResponse) -> bytes: ...


class Said(NamedTuple):
    """What an answer says, whatever its blocks are."""

    text: str
    thinking: str
    calls: list[tuple[str, str, Mapping[str, Any]]]


def content_of(message: Message) -> Said:
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return Said(message.text, message.thinking, calls)


def write_stream(writer: Writer, deltas: Iterable[Event], response: ModelResponse) -> bytes:
    return b"".join((writer.begin(), *map(writer.feed, deltas), writer.finish(response)))


def answer(*parts: Part, **fields: Any) -> ModelResponse:
    return ModelResponse(Message("assistant", parts), **{"usage": USED, "model": "upstream", **fields})


def answer_deltas(*parts: Part, size: int = 3) -> list[Event]:
    """The deltas of a whole answer, so many characters each; calls are numbered."""
    calls = [part for part in parts if isinstance(part, ToolCall)]
    return [delta for part in parts for delta in _deltas(part, size, calls)]


def _deltas(part: Part, size: int, calls: list[ToolCall]) -> Iterator[Event]:
    match part:
        case Text(text):
            yield from (TextDelta(piece) for piece in _pieces(text, size))
        case Thinking(text, signature):
            yield from (ThinkingDelta(piece) for piece in _pieces(text, size))
            if signature:
                yield ThinkingDelta("", signature)
        case ToolCall(name, arguments, id_):
            index = calls.index(part)
            yield ToolCallDelta(index, id_, name)
            yield from (ToolCallDelta(index, arguments=piece) for piece in _pieces(json.dumps(arguments), size))


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _with_ids_apart(parts: list[Part]) -> list[Part]:
    return [ToolCall(p.name, p.arguments, f"{p.id}{i}") if isinstance(p, ToolCall) else p for i, p in enumerate(parts)]


def _shuffle(draw: st.DrawFn, deltas: list[Event]) -> list[Event]:
    """The fragments of calls in a row, mixed as they come from a server that works on several at once."""
    mixed: list[Event] = []
    while deltas:
        run = [delta for delta in deltas[: _run(deltas)] if isinstance(delta, ToolCallDelta)]
        lanes = [[delta for delta in run if delta.index == index] for index in dict.fromkeys(d.index for d in run)]
        mixed += [lane.pop(0) for lane in lanes]
        while lanes := [lane for lane in lanes if lane]:
            mixed.append(draw(st.sampled_from(lanes)).pop(0))
        mixed += deltas[len(run) : len(run) + 1]
        deltas = deltas[len(run) + 1 :]
    return mixed


def _run(deltas: list[Event]) -> int:
    kinds = [isinstance(delta, ToolCallDelta) for delta in deltas]
    return kinds.index(False) if False in kinds else len(kinds)


parts_said = (
    st.builds(Text, words.filter(bool))
    | st.builds(Thinking, words.filter(bool))
    | st.builds(ToolCall, names, objects, st.just("call_"))
)


@st.composite
def tellings(draw: st.DrawFn) -> tuple[list[Event], ModelResponse]:
    """Deltas and the answer that they belong to: they tell all of it, or its beginning, or nothing."""
    parts = _with_ids_apart(
        [*draw(st.lists(parts_said, max_size=5)), Text("so"), *draw(st.lists(parts_said, max_size=2))]
    )
    whole = draw(st.integers(0, len(parts)))
    begun = [Text(part.text[:1]) for part in parts[whole : whole + 1] if isinstance(part, Text)]
    deltas = answer_deltas(*parts[:whole], *begun, size=draw(st.integers(1, 9)))
    is_calling = any(isinstance(part, ToolCall) for part in parts)
    return _shuffle(draw, deltas), answer(*parts, stop="tool_calls" if is_calling else "end")
