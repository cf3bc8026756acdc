"""Calls of tools and their results in the order that all APIs want: each call answered once, right after its turn."""

from collections.abc import Iterator
from dataclasses import replace

from ..core.exchange import ModelRequest
from ..core.messages import Message, Part, Text, ToolCall, ToolResult

NO_RESULT = "There is no result: the call was interrupted."
NO_CALL = "A tool returned this; its call is no longer part of the conversation:"


def with_pairs(request: ModelRequest) -> ModelRequest:
    messages = paired_messages(request.messages)
    return request if messages is request.messages else replace(request, messages=messages)


def paired_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Returns the conversation repaired, which is itself where nothing is wrong.

    A result that comes too late moves up to its call, a call without a result gets one that says so, and a result
    without a call becomes words of the user's.
    """
    return messages if _is_paired(messages) else tuple(_repair(messages))


def _is_paired(messages: tuple[Message, ...]) -> bool:
    awaited: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            is_right = not awaited
            awaited = {part.id for part in message.parts if isinstance(part, ToolCall)}
        else:  # one result for each call and nothing else; without calls, anything but results
            answered = [part.call.id for part in message.parts if isinstance(part, ToolResult)]
            is_whole = not answered or len(message.parts) == len(answered) == len(awaited)
            is_right, awaited = is_whole and awaited == set(answered), set()
        if not is_right:
            return False
    return not awaited


def _repair(messages: tuple[Message, ...]) -> Iterator[Message]:
    answers, orphans = _results_by_place(messages)
    for place, message in enumerate(messages):
        if not _results_in(message):
            yield message
        elif words := _words_of(message, orphans.get(place, [])):
            yield Message("user", words, message.speaker)
        if calls := _calls_of(message):
            parts = _all_results(calls, answers.get(place, []))
            following = messages[place + 1 : place + 2]
            yield following[0] if following and following[0].parts == parts else Message("tool", parts)


def _words_of(message: Message, orphans: list[ToolResult]) -> tuple[Part, ...]:
    """Returns what the message says besides the results that have a call."""
    words = [part for part in message.parts if not isinstance(part, ToolResult)]
    return (*words, *(part for result in orphans for part in (Text(NO_CALL), *result.parts)))


Results = dict[int, list[ToolResult]]


def _results_by_place(messages: tuple[Message, ...]) -> tuple[Results, Results]:
    """Returns the results of each turn of calls, and those without a call, by the places of the messages.

    Ids may come again in later turns; a result belongs to the last call with its id that has none yet.
    """
    answers, orphans, awaited = Results(), Results(), dict[str, int]()
    for place, message in enumerate(messages):
        awaited |= {call.id: place for call in _calls_of(message)}
        for result in _results_in(message):
            asked = awaited.pop(result.call.id, None)
            found, at = (orphans, place) if asked is None else (answers, asked)
            found.setdefault(at, []).append(result)
    return answers, orphans


def _all_results(calls: tuple[ToolCall, ...], answers: list[ToolResult]) -> tuple[ToolResult, ...]:
    ids = {result.call.id for result in answers}
    missing = {call.id: call for call in calls if call.id not in ids}
    return (*answers, *(ToolResult(call, (Text(NO_RESULT),), is_error=True) for call in missing.values()))


def _results_in(message: Message) -> tuple[ToolResult, ...]:
    return () if message.role == "assistant" else message.tool_results


def _calls_of(message: Message) -> tuple[ToolCall, ...]:
    return message.tool_calls if message.role == "assistant" else ()
