"""`tool_calls`: the calls in the answer are those in the reference, in any order.

The reference is a list of `{name, arguments}`, or of BFCL's `{name: {argument: [accepted values]}}`, in which the value
`""` makes an argument optional, and a single value needs no list. An empty list means that nothing may be called.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.messages import ToolCall
from ...wire.dialects.arguments import fit
from ...wire.dialects.reader import parse_tool_calls
from ...wire.dialects.schemas import canonical
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer

OMITTED = ""
Wanted = tuple[str, Callable[[Mapping[str, Any]], bool]]


class ToolCalls:
    def lacks(self, task: Task) -> str:
        if not task.reference:
            return "a reference: the calls that are right"
        if _wanted_calls(task) is None:
            return "a reference that is a list of calls: [{name, arguments}]"
        return "" if task.tools else "tools"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        calls = answer.calls or parse_tool_calls(answer.text, task.tools)
        wanted = _wanted_calls(task) or []
        if len(calls) != len(wanted):
            return AnswerScore(0.0, f"{len(calls)} calls, right are {len(wanted)}")
        missing = _without_match(calls, wanted, task)
        return AnswerScore(0.0, f"no call fits {missing}") if missing else AnswerScore(1.0)


def _without_match(calls: Sequence[ToolCall], wanted: Sequence[Wanted], task: Task) -> str:
    """Returns the name of a wanted call that no unused call matches, or ""."""
    left = list(calls)
    for name, accepts in wanted:
        found = next((call for call in left if _fits(call, name, accepts, task)), None)
        if found is None:
            return name
        left.remove(found)
    return ""


def _fits(call: ToolCall, name: str, accepts: Callable[[Mapping[str, Any]], bool], task: Task) -> bool:
    if call.malformed or _accepted_name(call.name) != _accepted_name(name):
        return False
    tool = next((tool for tool in task.tools if _accepted_name(tool.name) == _accepted_name(name)), None)
    return accepts(fit(call.arguments, tool.schema).arguments if tool else call.arguments)


def _wanted_calls(task: Task) -> list[Wanted] | None:
    """Returns the wanted calls, or None if the reference can't be read."""
    try:
        value = json.loads(task.reference)
    except ValueError:
        return None
    each = [_call(one) for one in value] if isinstance(value, list) else [None]
    return [one for one in each if one] if all(each) else None


def _call(value: Any) -> Wanted | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("name"), str):
        right = value.get("arguments") or {}
        return (value["name"], lambda given: _is_same(given, right)) if isinstance(right, dict) else None
    (name, possible), *more = value.items() or [("", None)]
    return None if more or not isinstance(possible, dict) else (name, lambda given: _is_possible(given, possible))


def _is_possible(given: Mapping[str, Any], possible: Mapping[str, Any]) -> bool:
    if not given.keys() <= possible.keys():
        return False
    for name, accepted in possible.items():
        values = accepted if isinstance(accepted, list) else [accepted]
        if name not in given:
            if OMITTED not in values:
                return False
        elif not any(_is_same(given[name], value) for value in values):
            return False
    return True


def _is_same(given: Any, right: Any) -> bool:
    """Compares like BFCL: texts ignoring case, spacing and punctuation."""
    match given, right:
        case str(), str():
            return _folded_text(given) == _folded_text(right)
        case list(), list():
            return len(given) == len(right) and all(map(_is_same, given, right))
        case dict(), dict():
            return given.keys() == right.keys() and all(_is_same(given[key], right[key]) for key in given)
    return canonical(given) == canonical(right)


def _folded_text(text: str) -> str:
    return "".join(character for character in text.casefold() if character not in " ,./-_*^'\"")


def _accepted_name(name: str) -> str:
    """Replaces the characters that APIs don't accept in names."""
    return "".join(character if character.isalnum() else "_" for character in name)


create = ToolCalls
