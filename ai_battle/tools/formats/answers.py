"""Turns calls in an answer's text into tool calls, unless the text only quotes a result."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...core.exchange import ModelRequest, ModelResponse, Stop, ToolSpec
from ...core.messages import Message, Part, Text, ToolCall, ToolResult
from ...wire.dialects.reader import read
from ...wire.dialects.reading import Reading
from ...wire.dialects.schemas import call_key

UNREAD, AFTER_CALLS, PROPOSED = "unread_calls", "behind_calls", "proposed_calls"


def with_calls(
    response: ModelResponse, request: ModelRequest, text: str, calls: Iterable[ToolCall], **noted: object
) -> ModelResponse:
    """Returns the response with `text` and these calls; `noted` values go to `extra`."""
    kept = tuple(part for part in response.message.parts if not isinstance(part, Text | ToolCall))
    words = (Text(text),) if text else ()
    identified = tuple(_with_new_ids(request, calls))
    parts: tuple[Part, ...] = (*kept, *words, *identified)
    stop: Stop = "tool_calls" if identified else "end" if response.stop == "tool_calls" else response.stop
    extra = {**response.extra, **{name: value for name, value in noted.items() if value}}
    return replace(response, message=replace(response.message, parts=parts), stop=stop, extra=extra)


def _with_new_ids(request: ModelRequest, calls: Iterable[ToolCall]) -> Iterator[ToolCall]:
    """Yields the calls with ids that are new in the conversation, and equal for equal conversations."""
    known = {call.id for message in request.messages for call in message.tool_calls}
    number = len(known)
    for call in calls:
        number += 1
        while f"call_{number}" in known:
            number += 1
        yield replace(call, id=f"call_{number}")


def problems_in(reading: Reading, specs: Iterable[ToolSpec]) -> tuple[str, ...]:
    """Returns what to tell the model about calls that can't be read, and which tools there are if it named another."""
    issues = [issue for issue in reading.issues if issue.kind != "quoted"]
    is_lost = any(issue.kind == "unknown_tool" for issue in issues)
    names = ", ".join(spec.name for spec in specs) if is_lost else ""
    return (*map(str, issues), *((f"The tools are: {names}",) if names else ()))


def text_after_calls(reading: Reading, text: str) -> str:
    """Returns the text after the first call, without the calls themselves."""
    ends = [span.end for span in reading.spans]
    starts = [*(span.start for span in reading.spans[1:]), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=False))


def results_in(messages: Iterable[Message]) -> tuple[ToolResult, ...]:
    return tuple(result for message in messages for result in message.tool_results)


def is_quoted(reading: Reading, text: str, specs: tuple[ToolSpec, ...], results: Iterable[ToolResult]) -> bool:
    """Returns whether everything that looks like a call in `text` is in a result too, literally or as an equal call.

    A model that repeats a call from a result quotes it: results are data.
    """
    returned = list(_texts(results))
    if not returned or not reading.spans:
        return False
    if _contain_all(returned, quotations(reading, text)):
        return True
    quoted = {call_key(call) for one in returned for call in read(one, specs).calls}
    return bool(reading.calls) and quoted.issuperset(map(call_key, reading.calls))


def is_in_results(text: str, results: Iterable[ToolResult]) -> bool:
    """Returns whether a result contains `text`, whitespace aside."""
    return _contain_all(list(_texts(results)), [text])


def quotations(reading: Reading, text: str) -> list[str]:
    """Returns what looks like a call in `text`, literally."""
    return [text[span.start : span.end] for span in reading.spans]


def _contain_all(returned: list[str], quoted: list[str]) -> bool:
    flat = " ".join(" ".join(returned).split())
    return bool(flat) and all(" ".join(one.split()) in flat for one in quoted)


def _texts(results: Iterable[ToolResult]) -> Iterator[str]:
    """Yields the texts of results, and the strings inside their JSON."""
    for result in results:
        yield result.text
        with suppress(ValueError, RecursionError):
            yield from _texts_inside(json.loads(result.text))


def _texts_inside(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_inside(item)
