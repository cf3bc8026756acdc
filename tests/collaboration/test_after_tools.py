"""Answers to what tools returned: right ones are left alone, and those that tell something else are found."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ModelRequest, StuckDetector, ToolSpec
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, user

SITUATIONS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "after_tools.jsonl").read_text(encoding="utf-8").splitlines()
]


def verdicts(situation: Mapping[str, Any], kind: str) -> Iterator[bool]:
    call = ToolCall(situation["tool"][0], situation["arguments"], "call_1")
    result = ToolResult(call, (Text(situation["result"]),), situation["is_error"])
    messages = (user(situation["prompt"]), Message("assistant", (call,)), Message("tool", (result,)))
    request = ModelRequest(messages, tools=(ToolSpec(*situation["tool"]),))
    return (StuckDetector().assess(answer, situation["prompt"], request).stuck for answer in situation[kind])


def test_right_answers_to_results_are_left_alone_in_any_language() -> None:
    """Rounded, in another unit, in words, with sums over what was returned."""
    found = [stuck for situation in SITUATIONS for stuck in verdicts(situation, "right")]
    assert sum(found) / len(found) <= 0.05


def test_most_answers_that_tell_something_else_are_found() -> None:
    """Another figure, time, code, name or state; not knowing what was returned; a failure that is not told."""
    found = [stuck for situation in SITUATIONS for stuck in verdicts(situation, "wrong")]
    assert sum(found) / len(found) >= 0.7


@pytest.mark.parametrize(
    ("prompt", "answer", "result", "stuck"),
    [
        ("Do any tests fail?", "There are no failing tests.", "............ [100%]\n12 passed in 0.31s", False),
        ("Is a Dockerfile in src?", "There is no Dockerfile in src.", "main.py util.py parser.py lexer.py", False),
        ("Ist ein Dockerfile in src?", "Dort ist kein Dockerfile.", "main.py util.py parser.py lexer.py", False),
        ("Is a Dockerfile in src?", "I see no Dockerfile there.", "main.py util.py parser.py lexer.py", False),
        ("Are there open issues?", "There are no open issues.", "#12 closed: crash\n#13 closed: typo", False),
        ("Is there a TODO left?", "I found no TODO.", "exit code 0\n(no output)", False),
        ("O que há na lista?", "Não há nada.", "#12 Crash at start\n#13 Typo in the manual", True),
        ("Which issues are there?", "There are no issues.", "#12 Crash at start\n#13 Typo in the manual", True),
        ("Is there an issue?", "I have no access to it.", "#12 Crash at start\n#13 Typo in the manual", True),
    ],
)
def test_what_is_not_found_answers_a_question_whether_it_is_there(
    prompt: str, answer: str, result: str, stuck: bool
) -> None:
    call = ToolCall("bash", {"command": "look"}, "call_1")
    messages = (user(prompt), Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text(result),)),)))
    tools = (ToolSpec("bash", "Runs a command.", {"properties": {"command": {"type": "string"}}}),)
    assert StuckDetector().assess(answer, prompt, ModelRequest(messages, tools=tools)).stuck is stuck


@pytest.mark.parametrize("answer", ["7 * 24 = 158.", "The product is 158."])
def test_what_contradicts_the_calculator_is_found(answer: str) -> None:
    call = {"tool": ["calculator", "Evaluates an expression."], "arguments": {"expression": "7*24"}, "is_error": False}
    (stuck,) = verdicts({**call, "prompt": "What is 7 * 24?", "result": "168", "answers": [answer]}, "answers")
    assert stuck


@pytest.mark.parametrize(
    ("prompt", "result", "answer"),
    [
        (
            "Did the stall make a profit?",
            "income,costs\n4200,3150",
            "Yes: 4,200 came in and 3,150 went out, so 1,050 are left, 25 % of the income.",
        ),
        ("Which courses has Lena booked?", '{"student": "Lena", "courses": []}', "None so far."),
        (
            "How full is the disk?",
            '{"size_bytes": 250000000000, "used_bytes": 200000000000}',
            "200 of 250 GB are used.",
        ),
        ("What do three lamps cost?", '{"eur": 24}', "One costs €24, so three cost €72."),
        ("Was kosten vier Lampen?", '{"eur": 24}', "Vier kosten zusammen 96 €."),
    ],
)
def test_tables_empty_lists_units_and_numerals_are_read_as_people_tell_them(
    prompt: str, result: str, answer: str
) -> None:
    situation = {"tool": ["lookup", "Looks things up."], "arguments": {"what": "it"}, "is_error": False}
    (stuck,) = verdicts({**situation, "prompt": prompt, "result": result, "answers": [answer]}, "answers")
    assert not stuck
