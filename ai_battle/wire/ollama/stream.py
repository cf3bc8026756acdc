"""An answer of `/api/chat` as it comes, line by line."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ...core.exchange import ModelResponse
from ...core.messages import Message, Part, Text, Thinking, ToolCall
from .._calls import new_id
from .._errors import UNREADABLE, cut, in_stream, malformed, no_answer, readable_answer
from .._hearing import heard
from .._json import dumps, loads
from .._shape import given
from ..ndjson import LineTokenizer
from .messages import decode_call
from .response import answer


class StreamReader:
    """One per stream. The answer is whole when a line has said `"done": true`."""

    def __init__(self) -> None:
        self._lines = LineTokenizer()
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self._last: Mapping[str, Any] | None = None
        self._begun = False

    @property
    def done(self) -> bool:
        """Nothing more is awaited: the rest of the stream may be left unread."""
        return self._last is not None

    whole = done

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def bill(self) -> Mapping[str, Any]:
        """The part of the body in which the usage stands, as far as it has come."""
        return self._last or {}

    def feed(self, data: bytes) -> list[Event]:
        return heard(self._read, self._lines.feed(data))

    def close(self) -> list[Event]:
        return heard(self._read, self._lines.close())

    def finish(self) -> ModelResponse:
        if not self._begun:
            raise no_answer(self._lines.unread or self._lines.head)
        if self._last is None:
            raise cut(self.text, self._lines.unread)
        said = (Thinking("".join(self._thinking)), Text(self.text))
        parts: list[Part] = [part for part in said if part.text]
        with readable_answer(self._last):
            return answer(Message("assistant", (*parts, *self._calls)), self._last)

    def _read(self, lines: Iterable[bytes], events: list[Event]) -> None:
        for line in lines:
            try:
                self._take(loads(line), events)
            except UNREADABLE as error:
                raise self._unreadable(line) from error

    def _take(self, line: Mapping[str, Any], events: list[Event]) -> None:
        if "error" in line:
            raise in_stream(line, self.text)
        message = line["message"]
        self._begun = True
        if thought := given(message, "thinking", ""):
            self._thinking.append(thought)
            events.append(ThinkingDelta(thought))
        if content := given(message, "content", ""):
            self._text.append(content)
            events.append(TextDelta(content))
        if calls := message.get("tool_calls"):
            events.extend(self._take_call(call) for call in calls)
        if line.get("done"):
            self._last = line

    def _take_call(self, body: Mapping[str, Any]) -> ToolCallDelta:
        call = decode_call(body)
        taken = {earlier.id for earlier in self._calls}
        call = call if call.id and call.id not in taken else replace(call, id=new_id())
        self._calls.append(call)
        arguments = call.malformed or dumps(call.arguments).decode()
        return ToolCallDelta(len(self._calls) - 1, call.id, call.name, arguments)

    def _unreadable(self, line: bytes) -> Exception:
        """A first line that is not of this API is a wrong server; a later one is a fault on the way."""
        return malformed(line, self.text) if self._begun else no_answer(self._lines.head)
