"""The calls that a model wishes for: its own, or those that leaked into its text."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..core.exchange import ModelResponse, ToolSpec
from ..core.messages import ToolCall, ToolResult
from ..wire.dialects.canonical import call_key
from ..wire.dialects.names import Offered
from ..wire.dialects.reader import read
from ..wire.dialects.reading import Reading, without_cut_call
from .formats._written import BEHIND, UNREAD, behind, problems_in


@dataclass(frozen=True, slots=True)
class Wishes:
    """`calls` to run; `problems` are what the model has to know.

    `prose` is the text around calls that stood in it, `after` what stands behind the first of them.
    """

    calls: tuple[ToolCall, ...] = ()
    prose: str = ""
    problems: tuple[str, ...] = ()
    after: str = ""


def wishes(response: ModelResponse, specs: tuple[ToolSpec, ...], results: Iterable[ToolResult] = ()) -> Wishes:
    """What `response` asks for. A call that only repeats what a tool returned is a quotation."""
    if calls := response.tool_calls:
        return Wishes(tuple(_resolved(calls, specs)), response.text, after=response.extra.get(BEHIND, ""))
    if problems := response.extra.get(UNREAD):
        return Wishes(prose=response.text, problems=problems)
    reading = read(response.text, specs)
    if response.stop == "length":
        reading = without_cut_call(reading, response.text)
    if not reading.spans or _is_quoted(reading, response.text, specs, results):
        return Wishes(prose=response.text)
    return Wishes(reading.calls, reading.prose.strip(), problems_in(reading), behind(reading, response.text))


def _resolved(calls: Iterable[ToolCall], specs: tuple[ToolSpec, ...]) -> Iterator[ToolCall]:
    """Under the names of the tools, where a model spells them its own way."""
    offered = Offered(specs)
    for call in calls:
        name = offered.resolve(call.name) or call.name
        yield call if name == call.name else replace(call, name=name)


def _is_quoted(reading: Reading, text: str, specs: tuple[ToolSpec, ...], results: Iterable[ToolResult]) -> bool:
    """Whether all that looks like a call stands in a result too, as a text or as an equal call."""
    returned = [one for result in results for one in _texts(result.text)]
    flat = _flat(" ".join(returned))
    if not flat or all(_flat(text[span.start : span.end]) in flat for span in reading.spans):
        return bool(flat)
    return bool(reading.calls) and _repeats(reading, returned, specs)


def _repeats(reading: Reading, returned: list[str], specs: tuple[ToolSpec, ...]) -> bool:
    quoted = {call_key(call) for one in returned for call in read(one, specs).calls}
    return quoted.issuperset(map(call_key, reading.calls))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _texts(text: str) -> Iterator[str]:
    """The text of a result, and the texts inside of its JSON."""
    yield text
    try:
        yield from _inside(json.loads(text))
    except (ValueError, RecursionError):
        return


def _inside(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _inside(item)
        case dict():
            for item in value.values():
                yield from _inside(item)
