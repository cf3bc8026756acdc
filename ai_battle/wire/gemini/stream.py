"""Streams of generateContent: each event is an answer with the next few words."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.errors import ProviderError
from ...core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ...core.exchange import ModelResponse
from .._calls import new_id
from .._errors import UNREADABLE, cut, in_stream, malformed, no_answer
from .._hearing import heard
from .._json import dumps, loads
from .._shape import given, needed
from .._silence import empty
from ..sse import EventTokenizer, ServerEvent
from .parts import Body
from .responses import decode_response


class StreamReader:
    """Puts the answer together from its pieces; whole only when a finish reason has come."""

    def __init__(self) -> None:
        self._tokenizer = EventTokenizer()
        self._answer: Body = {}
        self._candidate: Body = {}
        self._parts: list[tuple[Body, list[str]]] = []
        self._said: list[str] = []
        self._calls: list[str] = []

    @property
    def done(self) -> bool:
        """Never before the body ends: some models give a finish reason with each of their pieces."""
        return False

    @property
    def whole(self) -> bool:
        return "finishReason" in self._candidate or "blockReason" in self._answer.get("promptFeedback", ())

    @property
    def text(self) -> str:
        return "".join(self._said)

    @property
    def bill(self) -> Mapping[str, Any]:
        """The part of the body in which the usage stands, as far as it has come."""
        return self._answer

    def feed(self, data: bytes) -> list[Event]:
        return heard(self._read, self._tokenizer.feed(data))

    def close(self) -> list[Event]:
        return heard(self._read, self._tokenizer.close())

    def finish(self) -> ModelResponse:
        if not self.whole:
            raise self._unfinished()
        parts = [{"text": "".join(texts), **body} if texts else body for body, texts in self._parts]
        candidate = {**self._candidate, "content": {"role": "model", "parts": parts}}
        return decode_response({**self._answer, "candidates": [candidate]})

    def _read(self, tokens: Iterable[ServerEvent], events: list[Event]) -> None:
        for _, payload in tokens:
            try:
                self._hear(loads(payload), events)
            except UNREADABLE as error:
                raise malformed(payload, self.text) from error

    def _hear(self, event: Mapping[str, Any], events: list[Event]) -> None:
        if "error" in event:
            raise in_stream(event, self.text)
        for candidate in event.get("candidates") or ():
            if not candidate.get("index"):
                self._take(candidate, events)
        self._answer.update(event)

    def _take(self, candidate: Mapping[str, Any], events: list[Event]) -> None:
        parts = (candidate.get("content") or {}).get("parts") or ()
        events.extend(event for part in parts if (event := self._take_part(dict(part))))
        self._candidate.update({name: value for name, value in candidate.items() if value is not None})

    def _take_part(self, part: Body) -> Event | None:
        if "functionCall" in part:
            return self._take_call(part)
        if part.get("text") is None:
            self._parts.append((part, []))
            return None
        text = needed(part, "text", str)
        del part["text"]
        self._add_text(text, part)
        if part.get("thought"):
            return ThinkingDelta(text) if text else None
        self._said.append(text)
        return TextDelta(text) if text else None

    def _add_text(self, text: str, about: Body) -> None:
        """A signed piece stays by itself: its signature speaks of it alone."""
        last, texts = self._parts[-1] if self._parts else ({}, [])
        if texts and last == about and "thoughtSignature" not in about:
            texts.append(text)
        else:
            self._parts.append((about, [text]))

    def _take_call(self, part: Body) -> Event:
        call = {**part["functionCall"]}
        if not given(call, "id", "") or call["id"] in self._calls:
            call["id"] = new_id()
        self._calls.append(call["id"])
        self._parts.append(({**part, "functionCall": call}, []))
        arguments = dumps(call.get("args") or {}).decode()
        return ToolCallDelta(len(self._calls) - 1, call["id"], needed(call, "name", str), arguments)

    def _unfinished(self) -> ProviderError:
        tokenizer = self._tokenizer
        if self._answer and not self._candidate and not tokenizer.unread:
            return empty("the server sent no candidates")
        if self._answer:
            return cut(self.text, tokenizer.unread)
        return no_answer(tokenizer.unread or tokenizer.head)
