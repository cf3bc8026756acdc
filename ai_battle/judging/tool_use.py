"""Checks tool calls against their schemas and the prompt, and an answer against the results of its tools."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.exchange import ToolSpec
from ..core.messages import ToolCall, ToolResult, user
from ..signals.invention import Evidence, names_something, takes_anything
from ..signals.languages import has_word_anywhere, name_stems, share, stems
from ..signals.numbers import quantities, rounded_values, stands_among
from ..signals.progress import NEWEST_STEPS, kind_of_error, words
from ..signals.provenance import Known, facts
from ..signals.refusals import QUESTION_MARKS, asks_whether, excuses_itself, gives_up
from .case import Case
from .family import asks_for_tools, tool_stems, tools_meant

MANY_NUMBERS = 3
WORDS_OF_TEXT = 6
"""A value of so many different words is a text, which a model writes itself: a message, a note, a line of code."""
_DIGITS = re.compile(r"\d+")
_CALL_LIST = re.compile(r"\s{0,99}\[\s{0,99}[A-Za-z_][\w.]{0,99}\(\s{0,99}[A-Za-z_]\w{0,99} ?=(?!=)")
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("string", "str"), (str,)),
    **dict.fromkeys(("integer", "int"), (int,)),
    **dict.fromkeys(("number", "float"), (int, float)),
    **dict.fromkeys(("boolean", "bool"), (bool,)),
    **dict.fromkeys(("array", "list", "tuple"), (list, tuple)),
    **dict.fromkeys(("object", "dict"), (dict,)),
}


@dataclass(slots=True)
class CallFindings:
    """Totals of the findings in all calls of an answer."""

    unknown: int = 0
    missing: int = 0
    mistyped: int = 0
    ungrounded: int = 0
    left_out: int = 0
    explained: set[str] = field(default_factory=set)
    numbers: set[float] = field(default_factory=set)


def call_measures(case: Case) -> dict[str, float]:
    tools = {tool.name: tool for tool in case.context.tools}
    prompt_stems = name_stems(case.prompt)
    if not case.calls:
        return _of_no_call(case, tools, prompt_stems)
    tally = CallFindings()
    for call in case.calls:
        _count_argument(call, tools.get(call.name), case, tally)
    unused = sum(fact not in tally.numbers for fact in rounded_values(case.facts))
    return {
        "unknown_parameter": float(tally.unknown > 0),
        "missing_required": float(tally.missing > 0),
        "wrong_type": float(tally.mistyped > 0),
        "value_from_nowhere": float(tally.ungrounded > 0),
        "named_but_left_out": float(tally.left_out > 0),
        "number_not_passed_on": min(unused, MANY_NUMBERS) / MANY_NUMBERS,
        "call_repeated_in_answer": float(len(set(map(_key, case.calls))) < len(case.calls)),
        "prompt_not_served": len(prompt_stems - tally.explained) / max(1, len(prompt_stems)),
        "name_not_asked_for": _mean(1 - share(name_stems(call.name), prompt_stems) for call in case.calls),
    }


def on_the_way(case: Case) -> dict[str, float]:
    """Measures the calls since the prompt. A call with another result is not a repeated one."""
    if not case.steps:
        return {}
    steps = case.steps[-NEWEST_STEPS:]
    calls = [(words(step.call), step.result) for step in steps]
    errors = [kind_of_error(step) for step in steps if step.is_failure]
    return {
        "call_repeated": float(len(set(calls)) < len(calls)),
        "errors_in_a_row": float(len(steps) > 1 and all(step.is_failure for step in steps[-2:])),
        "same_error_twice": float(len(set(errors)) < len(errors)),
    }


def of_no_tool(case: Case) -> float | None:
    """Returns 1 if the text is a list of calls with named arguments and no tool has any of the names."""
    if not case.context.tools or case.calls:
        return None
    return float(
        _CALL_LIST.match(case.text) is not None and case.text.rstrip(" .\n").removesuffix("]").rstrip()[-1:] == ")"
    )


def _of_no_call(case: Case, tools: Mapping[str, ToolSpec], prompt_stems: frozenset[str]) -> dict[str, float]:
    """Measures the absence of calls; empty if there are results, which call for an answer in words.

    Also empty if the prompt has no name, figure or quotation to call a tool with.
    """
    if case.results or not names_something(case.prompt):
        return {}
    if case.text.endswith(QUESTION_MARKS):
        # What the prompt names fills a single parameter; of several, one may be missing.
        return {"no_call": float(all(map(_needs_one_value, tools.values())))}
    due = len(tools) > 1 and asks_for_tools(case.prompt, tools.values())
    names = (tool.name for tool in tools_meant(case.prompt, tools.values()))
    return {"no_call": max((float(due), *(share(name_stems(name), prompt_stems) for name in names)))}


def _needs_one_value(tool: ToolSpec) -> bool:
    return len(tool.schema.get("required") or ()) == 1


def _count_argument(call: ToolCall, tool: ToolSpec | None, case: Case, tally: CallFindings) -> None:
    if tool is None or call.malformed:
        tally.unknown += 1
        return
    properties, required = _properties(tool), tool.schema.get("required") or ()
    tally.missing += sum(name not in call.arguments for name in required)
    tally.explained |= tool_stems(tool)
    tally.ungrounded += not takes_anything(tool) and _has_strange_value(call, properties, case)
    _take_arguments(call, tool, tally)
    prompt_stems, optional = name_stems(case.prompt), properties.keys() - call.arguments.keys() - {*required}
    tally.left_out += sum(not prompt_stems.isdisjoint(name_stems(name)) for name in optional)


def _take_arguments(call: ToolCall, tool: ToolSpec, tally: CallFindings) -> None:
    properties = _properties(tool)
    for name, value in call.arguments.items():
        if name in properties:
            _take_value(value, _schema(properties, name), tally)
        elif not tool.schema.get("additionalProperties"):
            tally.unknown += 1


def _properties(tool: ToolSpec) -> Mapping[str, Any]:
    return tool.schema.get("properties") or {}


def _schema(properties: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    schema = properties.get(name)
    return schema if isinstance(schema, Mapping) else {}


def _has_strange_value(call: ToolCall, properties: Mapping[str, Any], case: Case) -> bool:
    """Checks for a value of a known parameter that is none of listed choices and nothing supports."""
    named = ((name, value) for name, value in call.arguments.items() if name in properties)
    free = (value for name, value in named if not _schema(properties, name).get("enum"))
    return any(not _is_grounded(leaf, case) for value in free for leaf in _leaves(value))


def _take_value(value: Any, schema: Mapping[str, Any], tally: CallFindings) -> None:
    choices = schema.get("enum") or ()
    unlisted = bool(choices) and not isinstance(value, list | dict) and value not in choices
    tally.mistyped += unlisted or not _is_of_type(value, str(schema.get("type")))
    for leaf in _leaves(value):
        tally.explained |= name_stems(str(leaf))
        tally.numbers |= rounded_values(quantities(str(leaf)))


def _is_of_type(value: Any, named: str) -> bool:
    """Checks whether a value has a type. A missing or unknown type allows anything."""
    kinds = _TYPES.get(named)
    return kinds is None or (isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)))


def _is_grounded(leaf: Any, case: Case) -> bool:
    """Checks whether the messages support a value, by its number or half of its words. A text needs no support."""
    if isinstance(leaf, bool) or leaf is None or leaf == "":
        return True
    if isinstance(leaf, int | float):
        return stands_among(float(leaf), case.seen_numbers)
    words = name_stems(str(leaf))
    if len(words) >= WORDS_OF_TEXT or str(leaf).casefold() in case.seen.casefold():
        return True
    if share(words, case.once(_seen_stems)) >= 0.5:
        return True
    return _may_be_date(str(leaf)) and _names_day(case, str(leaf))


def _seen_stems(case: Case) -> frozenset[str]:
    return name_stems(case.seen)


def _may_be_date(value: str) -> bool:
    return len(_DIGITS.findall(value)) > 1 and not any(map(str.isalpha, value))


def _names_day(case: Case, value: str) -> bool:
    """Checks for a number of the date in the messages, or for a word in the prompt such as "tomorrow"."""
    if not case.seen_numbers.isdisjoint(map(float, _DIGITS.findall(value))):
        return True
    return has_word_anywhere(case.prompt, "calendar") or has_word_anywhere(case.prompt, "now")


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, Mapping | list | tuple) and depth < 8:
        for item in list(value.values() if isinstance(value, Mapping) else value)[:50]:
            yield from _leaves(item, depth + 1)
    else:
        yield value


def _mean(values: Iterator[float]) -> float:
    known = list(values)
    return sum(known) / max(1, len(known))


def _key(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(call.arguments, sort_keys=True, default=str)}"


FEW_WORDS = 3
"""A result with this many words or fewer has nothing to report."""
_EMPTY_VALUE = re.compile(
    r"[:=]\s{0,3}(?:\[\s*\]|\{\s*\}|\"\"|null\b|none\b|false\b|0\b(?![.,]\d))|\b(?:0|no) [a-z]", re.IGNORECASE
)


def result_measures(case: Case) -> dict[str, float]:
    """Measures an answer against the tool results, and what it reports that only a tool could know."""
    if not case.context.tools or case.calls or not case.text:
        return {}
    turn = case.context
    weighed = Evidence(case.text, turn.tools, (*turn.history, user(case.prompt), *turn.steps)).findings()
    brought = any(step.has_news for step in case.steps)
    return {
        **{name: float(value) for name, value in weighed.items()},
        "result_denied": float(brought and _declines(case)),
    }


def has_informative_results(case: Case) -> bool:
    """Checks whether a tool returned something to report: a figure, or more than a few words."""
    brought = (step.result for step in case.steps if step.has_news)
    return any(len(text.split()) > FEW_WORDS or any(not fact.is_small for fact in facts(text)) for text in brought)


def _arguments_text(result: ToolResult) -> str:
    return json.dumps(result.call.arguments, ensure_ascii=False, default=str)


def _declines(case: Case) -> bool:
    """Checks whether an answer says that it does not know, and uses nothing of informative results."""
    return (
        (_denies_more(case) or (excuses_itself(case.text) and gives_up(case.text, case.prompt)))
        and has_informative_results(case)
        and not _uses_results(case)
    )


def _denies_more(case: Case) -> bool:
    """Checks whether a "no" goes beyond the results: "none" of an empty list may be right.

    "I see no Dockerfile." answers a question whether there is one; "I can't tell" does not.
    """
    if not has_word_anywhere(case.text, "negation"):
        return False
    finds_nothing = has_word_anywhere(case.text, "finding") or not has_word_anywhere(case.text, "own")
    if finds_nothing and asks_whether(case.question):
        return False
    return not any(_EMPTY_VALUE.search(result.text) for result in case.results)


def _uses_results(case: Case) -> bool:
    """Checks whether an answer has something of the results that the prompt and the calls did not have."""
    given = Known((case.prompt, *map(_arguments_text, case.results)))
    returned = Known([result.text for result in case.results])
    if (stems(returned.text) - stems(given.text)) & stems(case.text):
        return True
    return any(returned.supports(fact) and not given.supports(fact) for fact in facts(case.text))
