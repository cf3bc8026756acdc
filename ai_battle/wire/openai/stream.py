"""An answer of Chat Completions as it comes, chunk by chunk."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.errors import ProviderError
from ...core.events import Event, TextDelta, ThinkingDelta
from ...core.exchange import UNKNOWN_USAGE, ModelResponse
from ...core.messages import Message, Part, Text, Thinking
from .._errors import UNREADABLE, cut, in_stream, malformed, no_answer, readable_answer
from .._hearing import heard
from .._json import loads
from .._shape import given
from .._silence import empty
from ..sse import DONE, EventTokenizer, ServerEvent
from .calls import CallsReader
from .messages import KNOWN as KNOWN_IN_MESSAGES
from .parts import REFUSES, WIRE, decode_content, kept, refusal
from .response import KNOWN, KNOWN_IN_CHOICES, answer, decode_usage

NONE: frozenset[str] = frozenset()


class StreamReader:
    """One per stream. The answer is whole when a finish reason has come; `[DONE]` may follow or not.

    Of a server that has no field for that reason, `[DONE]` is enough.
    """

    def __init__(self) -> None:
        self.bill: Mapping[str, Any] = {}
        self._tokens = EventTokenizer()
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._refused = False
        self._calls = CallsReader()
        self._first: Mapping[str, Any] = {}
        self._reason = ""
        self._gives_reasons = False
        self._usage = UNKNOWN_USAGE
        self._message_extra: dict[str, Any] = {}
        self._choice_extra: dict[str, Any] = {}
        self._ended = False

    @property
    def done(self) -> bool:
        """Nothing more is awaited: the rest of the stream may be left unread."""
        return self._ended

    @property
    def whole(self) -> bool:
        """Only the usage and `[DONE]` may still come, or nothing at all."""
        return self._ended or bool(self._reason)

    @property
    def text(self) -> str:
        return "".join(self._text)

    def feed(self, data: bytes) -> list[Event]:
        return heard(self._read, self._tokens.feed(data))

    def close(self) -> list[Event]:
        return heard(self._read, self._tokens.close())

    def _read(self, tokens: Iterable[ServerEvent], events: list[Event]) -> None:
        for name, payload in tokens:
            if payload == DONE:
                self._ended = True
                continue
            if not payload:
                continue
            try:
                self._take(name, loads(payload), events)
            except UNREADABLE as error:
                raise malformed(payload, self.text) from error

    def finish(self) -> ModelResponse:
        if not (self._reason or (self._ended and self._first and not self._gives_reasons)):
            raise self._not_whole()
        with readable_answer(self._first):
            return self._answer()

    def _answer(self) -> ModelResponse:
        said = refusal(self.text) if self._refused else Text(self.text)
        thought = Thinking("".join(self._thinking))
        parts: list[Part] = [part for part in (thought, said) if part.text]
        message = Message("assistant", (*parts, *self._calls.calls()), extra=_extra(self._message_extra))
        extra = kept({**self._first, "choice": self._choice_extra}, KNOWN)
        return answer(message, self._reason, self._usage, given(self._first, "model", ""), extra)

    def _not_whole(self) -> ProviderError:
        body = self._tokens
        if not self._first and (self._ended or self._usage is not UNKNOWN_USAGE):
            return empty("the server sent no choices")
        return cut(self.text, body.unread) if body.is_event_stream else no_answer(body.unread or body.head)

    def _take(self, name: str, chunk: dict[str, Any], events: list[Event]) -> None:
        if name == "error" or chunk.get("error"):
            raise in_stream(chunk, self.text)
        if chunk.get("usage") or "x_groq" in chunk:
            self.bill, self._usage = chunk, decode_usage(chunk)
        choices = chunk.get("choices")
        if not choices:
            self._ended = self._ended or bool(self._reason and self._usage is not UNKNOWN_USAGE)
            return
        self._first = self._first or chunk
        for choice in choices:
            self._take_choice(choice, events)

    def _take_choice(self, choice: dict[str, Any], events: list[Event]) -> None:
        if choice.get("index"):
            return  # one answer is asked for
        delta = choice.get("delta") or {}
        if len(delta) > 1 or "content" not in delta:
            self._take_rare(delta, events)
        if content := delta.get("content"):
            self._say(content, events)
        if fragments := delta.get("tool_calls"):
            events.extend(self._calls.take(fragment) for fragment in fragments)
        self._gives_reasons = self._gives_reasons or "finish_reason" in choice
        if reason := choice.get("finish_reason"):
            self._finish_with(reason, choice)
        if probabilities := choice.get("logprobs"):
            _merge(self._choice_extra, {"logprobs": probabilities}, NONE)

    def _say(self, content: Any, events: list[Event]) -> None:
        if isinstance(content, str):
            self._text.append(content)
            events.append(TextDelta(content))
            return
        for part in decode_content(content):  # Mistral streams parts
            if isinstance(part, Thinking):
                self._think(part.text, events)
            elif isinstance(part, Text):
                self._say(part.text, events)

    def _think(self, thought: str, events: list[Event]) -> None:
        self._thinking.append(thought)
        events.append(ThinkingDelta(thought))

    def _take_rare(self, delta: dict[str, Any], events: list[Event]) -> None:
        if thought := given(delta, "reasoning_content", "") or given(delta, "reasoning", ""):
            self._think(thought, events)
        if refused := given(delta, "refusal", ""):
            if not self._refused:
                events.append(REFUSES)
            self._refused = True
            self._say(refused, events)
        if not delta.keys() <= KNOWN_IN_MESSAGES:
            _merge(self._message_extra, delta, KNOWN_IN_MESSAGES)

    def _finish_with(self, reason: str, choice: Mapping[str, Any]) -> None:
        if reason == "error":
            raise in_stream(choice, self.text)
        self._reason = reason
        _merge(self._choice_extra, choice, KNOWN_IN_CHOICES | {"logprobs"})


def _merge(into: dict[str, Any], fields: Mapping[str, Any], known: frozenset[str]) -> None:
    """Lists grow chunk by chunk, and so do those inside of objects (`logprobs.content`)."""
    for key, value in fields.items():
        if key in known or value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value, NONE)
        elif isinstance(value, list):
            into[key] = into.get(key, []) + value
        else:
            into[key] = value


def _extra(fields: dict[str, Any]) -> dict[str, Any]:
    return {WIRE: fields} if fields else {}
