"""Calls in every dialect are found, and nothing that only looks like one."""

import pytest

from ai_battle.wire.dialects.reader import StreamingReader, parse_tool_calls, read

from .rows import ANNOUNCED, BARE, CALLS, CLOCK, EXPLICIT, QUOTED, TOOLS, Call


def calls_in(text: str, tools: object = TOOLS) -> list[Call]:
    return [(call.name, dict(call.arguments)) for call in parse_tool_calls(text, tools)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "around", ["%", "I need the tools (all {of} them).\n\n%\n\nLet's see!\n"], ids=["alone", "prose"]
)
def test_a_call_is_read_in_its_dialect_alone_and_between_sentences(around: str) -> None:
    found = {row.name: calls_in(around.replace("%", row.text)) for row in CALLS}
    assert found == {row.name: list(row.calls) for row in CALLS}


def test_an_explicit_dialect_needs_no_list_of_tools() -> None:
    rows = [row for row in EXPLICIT if row.name not in ("toolCalls", "tool_calls of an API")]
    found = {row.name: [call.name for call in parse_tool_calls(row.text)] for row in rows}
    assert found == {row.name: [name for name, _ in row.calls] for row in rows}


def test_without_tools_a_bare_value_is_no_call() -> None:
    assert [row.name for row in BARE + ANNOUNCED if parse_tool_calls(row.text)] == []


def test_what_is_quoted_or_thought_is_not_called() -> None:
    assert [name for name, text in QUOTED.items() if parse_tool_calls(text, TOOLS)] == []


@pytest.mark.parametrize(
    "spelled",
    [
        "look_up",
        "functions.look_up",
        "look-up",
        "look.up",
        "Look_Up",
        "look_up:0",
        "tools.look_up",
        "functions.look_up:12",
    ],
)
def test_a_name_is_resolved_against_the_tools(spelled: str) -> None:
    assert calls_in(f'<tool_call>{{"name": "{spelled}", "arguments": {{"word": "x"}}}}</tool_call>') == [
        ("look_up", {"word": "x"})
    ]


def test_a_name_that_could_be_two_tools_is_neither() -> None:
    text = '<tool_call>{"name": "A.b", "arguments": {}}</tool_call>'
    assert (read(text, ["a.b", "a_b"]).calls, read(text, ["a.b", "a_b"]).issues[0].kind) == ((), "unknown_tool")


@pytest.mark.parametrize(
    "tools",
    [
        ["clock"],
        [{"name": "clock", "parameters": {}}],
        [{"name": "clock", "description": "", "schema": {"type": "object"}}],
    ],
)
def test_tools_may_be_names_or_mappings(tools: object) -> None:
    assert calls_in("<tool_call>clock</tool_call> clock()\n", tools) == [CLOCK] or calls_in("clock()", tools) == [CLOCK]


def test_the_schema_types_the_values_of_tags() -> None:
    text = "<function=scale><parameter=factor>2.5</parameter><parameter=box>{'w': 1}</parameter></function>"
    assert calls_in(text) == [("scale", {"factor": 2.5, "box": {"w": 1}})]


def test_a_string_stays_a_string_where_the_schema_says_so() -> None:
    assert calls_in("<function=look_up><parameter=word>12</parameter></function>") == [("look_up", {"word": "12"})]


def test_the_id_of_a_call_is_kept() -> None:
    (call,) = parse_tool_calls('<tool_call>{"id": "c7", "name": "clock", "arguments": {}}</tool_call>', TOOLS)
    assert call.id == "c7"


def test_half_a_surrogate_pair_does_not_get_into_the_arguments() -> None:
    (call,) = parse_tool_calls('{"name": "look_up", "arguments": {"word": "\\ud83d x"}}', TOOLS)
    assert call.arguments["word"].encode()


def test_what_a_model_invents_after_its_action_is_text_behind_the_call() -> None:
    invented = '\nObservation: 12\nAction: look_up\nAction Input: {"word": "x"}'
    reading = read(f"Action: clock\nAction Input: {{}}{invented}", TOOLS)
    assert [call.name for call in reading.calls] == ["clock"]
    assert reading.prose == invented


def test_an_observation_that_no_action_precedes_hides_nothing() -> None:
    assert len(parse_tool_calls("Observation: it is late.\n<tool_call>clock()</tool_call>", TOOLS)) == 1


def test_prose_is_what_remains() -> None:
    reading = read("Before\n<tool_call>\n" + '{"name": "clock", "arguments": {}}' + "\n</tool_call>\nAfter", TOOLS)
    assert reading.prose == "Before\nAfter"


@pytest.mark.parametrize(
    ("block", "rest"),
    [
        ("```json\n%\n```", ""),
        ("```\n%\n%\n```", ""),
        ("```json\n[%, %]\n```", ""),
        ("```json\n%\n```\n```json\n%\n```", "\n"),
        ("```json\n%\nand words\n```", "```json\n\nand words\n```"),
        ("```json\n{}\n```\n%", "```json\n{}\n```\n"),
    ],
    ids=["one", "two in a block", "a list", "two blocks", "words too", "a block before"],
)
def test_a_block_that_holds_only_calls_is_no_prose_either(block: str, rest: str) -> None:
    text = f"Before\n{block}\nAfter".replace("%", '{"name": "look_up", "arguments": {"word": "a"}}')
    streaming = StreamingReader(TOOLS)
    shown = "".join(map(streaming.feed, text))

    assert read(text, TOOLS).prose == f"Before\n{rest}\nAfter"
    assert f"Before\n{rest}\nAfter".startswith(shown)
