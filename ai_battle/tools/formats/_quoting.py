"""Calls that stand in what a tool returned: whoever repeats one quotes it, and it is not run."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ...core.exchange import ToolSpec
from ...core.messages import Message, ToolResult
from ...wire.dialects.reader import read
from ...wire.dialects.reading import Reading
from ...wire.dialects.schemas import call_key


def results_in(messages: Iterable[Message]) -> tuple[ToolResult, ...]:
    return tuple(result for message in messages for result in message.tool_results)


def is_quoted(reading: Reading, text: str, specs: tuple[ToolSpec, ...], results: Iterable[ToolResult]) -> bool:
    """Whether all that looks like a call in `text` stands in a result too, as a text or as an equal call."""
    returned = _returned(results)
    if not returned or not reading.spans:
        return False
    return _all_stand_in(returned, quotations(reading, text)) or _repeats(reading, returned, specs)


def stands_in(text: str, results: Iterable[ToolResult]) -> bool:
    """Whether a result holds this very text, white space aside."""
    return _all_stand_in(_returned(results), [text])


def quotations(reading: Reading, text: str) -> list[str]:
    """What looks like a call in `text`, as it stands there."""
    return [text[span.start : span.end] for span in reading.spans]


def _returned(results: Iterable[ToolResult]) -> list[str]:
    return [one for result in results for one in _texts(result.text)]


def _all_stand_in(returned: list[str], quoted: list[str]) -> bool:
    flat = _flat(" ".join(returned))
    return bool(flat) and all(_flat(one) in flat for one in quoted)


def _repeats(reading: Reading, returned: list[str], specs: tuple[ToolSpec, ...]) -> bool:
    quoted = {call_key(call) for one in returned for call in read(one, specs).calls}
    return bool(reading.calls) and quoted.issuperset(map(call_key, reading.calls))


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
