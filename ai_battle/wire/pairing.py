"""Calls of tools and their results in the order that all APIs want: each call answered once, right after its turn."""

from collections.abc import Iterator
from dataclasses import replace

from ..core.exchange import ModelRequest
from ..core.messages import Message, Part, Text, ToolCall, ToolResult

NO_RESULT = "There is no result: the call was interrupted."
NO_CALL = "A tool returned this; its call is no longer part of the conversation:"


def with_pairs(request: ModelRequest) -> ModelRequest:
    messages = paired(request.messages)
    return request if messages is request.messages else replace(request, messages=messages)


def paired(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation repaired, which is itself where nothing is wrong.

    A result that comes too late moves up to its call, a call without a result gets one that says so, and a result
    without a call becomes words of the user's.
    """
    if not any(isinstance(part, ToolCall | ToolResult) for message in messages for part in message.parts):
        return messages
    return tuple(_Pairing(messages).repaired())


class _Pairing:
    def __init__(self, messages: tuple[Message, ...]) -> None:
        self._messages = messages
        self._answers: dict[int, list[ToolResult]] = {}
        self._orphans: dict[int, list[ToolResult]] = {}
        self._match()

    def repaired(self) -> Iterator[Message]:
        for place, message in enumerate(self._messages):
            if _results_in(message):
                yield from self._left_of(place, message)
            else:
                yield message
            if calls := _calls_of(message):
                yield self._answered(place, calls)

    def _match(self) -> None:
        """Ids may come again in later turns; a result belongs to the last call with its id that has none yet."""
        awaited: dict[str, int] = {}
        for place, message in enumerate(self._messages):
            awaited |= {call.id: place for call in _calls_of(message)}
            for result in _results_in(message):
                asked = awaited.pop(result.call.id, None)
                if asked is None:
                    self._orphans.setdefault(place, []).append(result)
                else:
                    self._answers.setdefault(asked, []).append(result)

    def _answered(self, place: int, calls: tuple[ToolCall, ...]) -> Message:
        answers = self._answers.get(place, [])
        told = {result.call.id for result in answers}
        unanswered = {call.id: call for call in calls if call.id not in told}
        missing = [ToolResult(call, (Text(NO_RESULT),), is_error=True) for call in unanswered.values()]
        next_one = self._messages[place + 1] if place + 1 < len(self._messages) else None
        if next_one and next_one.parts == (*answers, *missing):
            return next_one
        return Message("tool", (*answers, *missing))

    def _left_of(self, place: int, message: Message) -> Iterator[Message]:
        """What a message says besides results that have moved to their calls."""
        words: list[Part] = [part for part in message.parts if not isinstance(part, ToolResult)]
        for result in self._orphans.get(place, ()):
            words += (Text(NO_CALL), *result.parts)
        if words:
            yield Message("user", tuple(words), message.speaker)


def _results_in(message: Message) -> tuple[ToolResult, ...]:
    return () if message.role == "assistant" else message.tool_results


def _calls_of(message: Message) -> tuple[ToolCall, ...]:
    return message.tool_calls if message.role == "assistant" else ()
