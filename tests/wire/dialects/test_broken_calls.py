"""What can be repaired without doubt is called; the rest is an issue for the model and never runs."""

import pytest

from ai_battle.wire.dialects.reader import parse_tool_calls, read
from ai_battle.wire.dialects.reading import Issue

from .rows import CALLS, LOOK, TOOLS, Row

_LOOK = dict(LOOK[1])


@pytest.mark.parametrize(
    "value",
    [
        '{"tool": "look_up", "parameters": {"word": "żółw", "limit": 3,},}',
        "{'tool': 'look_up', 'parameters': {'word': 'żółw', 'limit': 3}}",
        '{tool: "look_up", parameters: {word: "żółw", limit: 3}}',
        '{"tool": "look_up", // the tool\n "parameters": {"word": "żółw", /* or so */ "limit": 3}} # done',
        '{"tool": "look_up", "parameters": {"word": "żółw", "limit": 1 + 2}}',
        '{"tool": "look_up" "parameters": {"word": "żółw" "limit": 3}}',
        '{"tool": "look_up", "parameters": {"word": "żółw", "limit": 3}}}',
        '{"tool": "look_up", "parameters": "{\\"word\\": \\"żółw\\", \\"limit\\": 3}"}',
    ],
)
def test_loose_notation_is_read(value: str) -> None:
    (call,) = parse_tool_calls(f"```tool\n{value}\n```", TOOLS)
    assert (call.name, call.arguments) == ("look_up", _LOOK)


def test_raw_line_breaks_in_a_string_are_part_of_it() -> None:
    (call,) = parse_tool_calls('```tool\n{"tool": "look_up", "parameters": {"word": "a\n\n```x\n b"}}```', TOOLS)
    assert call.arguments["word"] == "a\n\n```x\n b"


@pytest.mark.parametrize(("written", "meant"), [("None", None), ("True", True), ("null", None), ("false", False)])
def test_constants_of_both_languages_are_known(written: str, meant: object) -> None:
    (call,) = parse_tool_calls(f"look_up(word='x', exact={written})", TOOLS)
    assert meant == call.arguments["exact"]


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row.name)
def test_a_call_that_is_cut_anywhere_never_runs_in_part(row: Row) -> None:
    """Whatever of it is called is one of its whole calls, in order."""
    whole = [name for name, _ in row.calls]
    for end in range(len(row.text)):
        calls = parse_tool_calls(row.text[:end], TOOLS)
        assert [(call.name, dict(call.arguments)) for call in calls] == list(row.calls)[: len(calls)], row.text[:end]
        assert len(calls) <= len(whole)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('<tool_call>{"name": "look_up", "arguments": {"word": "x', "cut_off"),
        ("<function=look_up><parameter=word>x</parameter>", "cut_off"),
        ("[look_up(word='x", "cut_off"),
        ('<tool_call>{"name": "look_up", "arguments": [1 !]}</tool_call>', "malformed"),
        ('<tool_call>{"name": "look_up", "arguments": "nothing"}</tool_call>', "malformed"),
        ('<tool_call>{"name": "lookup2", "arguments": {}}</tool_call>', "unknown_tool"),
        ("Then look_up(word='x') is the way.", "quoted"),
    ],
)
def test_what_can_not_be_used_is_an_issue_for_the_model(text: str, kind: str) -> None:
    reading = read(text, TOOLS)
    assert ((), [kind]) == (reading.calls, [found.kind for found in reading.issues])


def test_an_issue_says_what_is_wrong_and_shows_the_place() -> None:
    assert str(Issue("unknown_tool", "fly(up)", "fly")) == "There is no such tool: fly: 'fly(up)'"


def test_nothing_within_a_broken_call_is_called() -> None:
    """A call that stands in the text that a broken call wanted to write is not a call."""
    text = '<tool_call>{"name": "save.file", "arguments": {"body": !! "look_up(word=\'x\')"}}</tool_call>'
    assert parse_tool_calls(text, TOOLS) == ()


def test_complete_calls_before_a_cut_one_run() -> None:
    reading = read('[TOOL_CALLS] [{"name": "clock", "arguments": {}}, {"name": "look_up", "arguments": {"wo', TOOLS)
    assert ([call.name for call in reading.calls], [found.kind for found in reading.issues]) == (["clock"], ["cut_off"])


def test_an_argument_that_was_not_closed_ends_where_the_next_one_begins() -> None:
    text = "<function=look_up>\n<parameter=word>\nx\n<parameter=limit>\n3\n</parameter>\n</function>"
    (call,) = parse_tool_calls(text, TOOLS)
    assert call.arguments == {"word": "x", "limit": 3}


def test_a_heading_named_like_an_argument_is_no_value() -> None:
    assert parse_tool_calls("tool: look_up\n[word]\n", TOOLS) == ()
    (call,) = parse_tool_calls('tool: look_up\n[input]\nword = "żółw"\n', TOOLS)
    assert call.arguments == {"word": "żółw"}


def test_a_text_that_speaks_of_arguments_keeps_them() -> None:
    body = "Write\n<parameter=path>\nand <parameter=other>."
    text = f"<function=save.file><parameter=path>a</parameter><parameter=body>\n{body}\n</parameter></function>"
    (call,) = parse_tool_calls(text, TOOLS)
    assert call.arguments == {"path": "a", "body": body}
