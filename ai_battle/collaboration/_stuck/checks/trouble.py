"""Whether the tool calls on the way to an answer got anywhere."""

import json
from collections.abc import Iterator

from ....core.messages import Message, ToolResult
from ....signals.trouble import Step, troubles
from ..case import Case

_NAMES = {"repeated": "call_repeated", "two_errors": "errors_in_a_row", "same_error": "same_error_twice"}


def check(case: Case) -> dict[str, float]:
    steps = list(_steps(case.context.steps))
    if not steps:
        return {}
    measured = troubles(steps)
    found = {name: float(measured[key] > 0) for key, name in _NAMES.items()}
    return {**found, "nothing_found": measured["nothing_yet"]}


def _steps(messages: tuple[Message, ...]) -> Iterator[Step]:
    """Each call with its result, where there is one."""
    for message in messages:
        for result in message.tool_results:
            yield Step(_written(result), result.text, result.is_error)


def _written(result: ToolResult) -> str:
    return f"{result.call.name} {json.dumps(result.call.arguments, sort_keys=True, ensure_ascii=False, default=str)}"
