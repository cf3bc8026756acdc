"""Measures the reader of tool calls on hostile texts, and on ordinary answers in every dialect."""
# ruff: noqa: E501

import time

from ai_battle import parse_tool_calls

from ..wire.dialects.writers import AROUND, DIALECTS, OFFERED, SIMPLE, WRITTEN

SMALL, LARGE = 64_000, 1_000_000
HOSTILE = (
    "`", "```tool\n", "```tool ", "```tool\n{\n", "```json\n{bad: json: }\n```\n", "{", "[", "[{", '{"a":', '"', '{"\\',
    "<tool_call>", '<tool_call>{"name": "get_time", "arguments": {', "<think>", "[get_time(days=", "[get_time(" + "days=1, " * 9,
    "get_time ", "get_time(", "get_time()\n", "`a` ", "Option A:\nget_time()\n", "get_time days=1\n", "| tool | days |\n",
    '```tool\n{"tool": "get_time", "parameters": {"days": }}\n```\n', '```tool\n{"tool": "get_time"\n```\n', "<function=run_python><parameter=code>", 'Some {prose} with "quotes" (and more). ',
    '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>\n',
)  # fmt: skip


def answers() -> list[str]:
    """Returns answers in each dialect, with small calls and with code, between sentences."""
    return [
        AROUND["around"].replace("%", write(calls))
        for write in DIALECTS.values()
        for calls in (SIMPLE[:2], WRITTEN[:1], WRITTEN[3:5])
    ]


def speed(texts: list[str]) -> float:
    """Returns the megabytes that are read in a second."""
    started = time.process_time()
    for text in texts:
        parse_tool_calls(text, OFFERED)
    return sum(len(text.encode()) for text in texts) / 1e6 / (time.process_time() - started)


def milliseconds(pattern: str, size: int) -> float:
    """Returns the CPU time for `size` characters of a repeated pattern."""
    text = pattern * (size // len(pattern))
    started = time.process_time()
    parse_tool_calls(text, OFFERED)
    return (time.process_time() - started) * 1e3
