"""Calls that are only offered, quoted, refused or an example, beside such as are meant; in more than 30 languages."""
# ruff: noqa: RUF001

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.wire.dialects.reader import StreamingReader, parse_tool_calls, read

_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}


def _tool(tool: str, *, writes: bool = False, **parameters: Any) -> dict[str, Any]:
    required = [key for key in parameters if key != "limit"]
    schema = {"type": "object", "properties": parameters, "required": required}
    return {"name": tool, "writes": writes, "parameters": schema}


TOOLS = [
    _tool("delete_file", writes=True, path=_TEXT),
    _tool("move_file", writes=True, source=_TEXT, target=_TEXT),
    _tool("run_sql", writes=True, query=_TEXT),
    _tool("transfer_money", writes=True, iban=_TEXT, amount=_NUMBER),
    _tool("send_email", writes=True, to=_TEXT, subject=_TEXT, body=_TEXT),
    _tool("book_flight", writes=True, origin=_TEXT, destination=_TEXT, date=_TEXT),
    _tool("set_alarm", writes=True, time=_TEXT),
    _tool("shutdown_server", writes=True, host=_TEXT),
    _tool("archive_mail", writes=True, folder=_TEXT),
    _tool("post_message", writes=True, channel=_TEXT, text=_TEXT),
    _tool("create_user", writes=True, name=_TEXT, role=_TEXT),
    _tool("rent_car", writes=True, place=_TEXT, days=_NUMBER),
    _tool("weather", city=_TEXT),
    _tool("search_docs", query=_TEXT, limit=_NUMBER),
    _tool("translate", text=_TEXT, target=_TEXT),
    _tool("lookup_train", start=_TEXT, end=_TEXT),
    _tool("convert_currency", amount=_NUMBER, to=_TEXT),
    _tool("get_stock", symbol=_TEXT),
]
ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "proposals.jsonl").read_text(encoding="utf-8").splitlines()
]
CALL = '```tool\n{"tool": "weather", "parameters": {"city": "Lima"}}\n```'
MARKED = '<tool_call>{"name": "weather", "arguments": {"city": "Lima"}}</tool_call>'
WRITING = '```tool\n{"tool": "set_alarm", "parameters": {"time": "06:10"}}\n```'


def test_calls_are_run_where_they_are_meant_and_nowhere_else() -> None:
    calls = {row["text"]: parse_tool_calls(row["text"], TOOLS) for row in ROWS}
    found = {text: [[call.name, dict(call.arguments)] for call in each] for text, each in calls.items()}
    assert found == {row["text"]: row["calls"] for row in ROWS}


@pytest.mark.slow
def test_streamed_they_are_the_same_and_the_text_of_a_proposal_is_shown_as_it_stands() -> None:
    for row in ROWS:
        reader = StreamingReader(TOOLS)
        shown = "".join(reader.feed(row["text"][at : at + 4]) for at in range(0, len(row["text"]), 4))
        assert reader.finish() == read(row["text"], TOOLS), row["text"]
        assert reader.finish().prose.startswith(shown), row["text"]
        assert row["calls"] or reader.finish().prose == row["text"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{CALL}\n\nShall I?", "question"),
        (f"Shall I?\n\n{CALL}", "question"),
        (f"Either this:\n{CALL}\nor\n{CALL}\nas you like.", "offer"),
        (f"For example:\n{CALL}", "example"),
        (f"If you agree, I run this:\n{CALL}", "condition"),
        (f"I will not run this:\n{CALL}", "refusal"),
        (f"{WRITING}\n\nThat is how one sets it.", "unsure"),
        (f"A call like\n\n{MARKED}\n\nwould only tell of today.", "unsure"),
        (f"I advise against it. {MARKED} would only tell of today.", "unsure"),
        (f"To be sure: {MARKED}</b>, and then some.", "unsure"),
        (f"别这样做。{MARKED} 会删除所有照片。", "unsure"),
    ],
)
def test_a_proposal_says_what_it_stands_beside(text: str, kind: str) -> None:
    assert {proposal.kind for proposal in read(text, TOOLS).proposals} == {kind}


def test_a_call_that_writes_needs_a_marker_or_lines_of_its_own_at_the_end() -> None:
    assert parse_tool_calls("set_alarm(time='06:10')", TOOLS)
    assert parse_tool_calls(f"Good morning it is.\n{WRITING}", TOOLS)
    assert not parse_tool_calls("- set_alarm(time='06:10')\n- set_alarm(time='06:20')", TOOLS)
    assert not parse_tool_calls(f"{WRITING}\nThen it rings.", TOOLS)


def test_a_sentence_of_its_own_behind_a_call_leaves_it_a_call() -> None:
    for said in (
        f"Let me see\n{MARKED}\nOne moment.",
        f"我来查一下天气\n{MARKED}\n请稍候",
        f"{MARKED}\nassistant",
        f"{MARKED} ok",
    ):
        assert parse_tool_calls(said, TOOLS), said


def test_what_would_be_done_or_is_proposed_is_not_done_where_the_tool_writes() -> None:
    assert not parse_tool_calls(f"This is what I would set:\n{WRITING}", TOOLS)
    assert parse_tool_calls(f"This is what I would ask:\n{CALL}", TOOLS)
    assert parse_tool_calls(f"I suggest that we look at it:\n{CALL}", TOOLS)


@pytest.mark.parametrize(
    ("sentence", "runs"),
    [
        ("I haven’t set it yet:", False),
        ("It isn't safe to run this:", False),
        ("I won’t run this, as you sleep:", False),
        ("S’il te convient, je le lance :", False),
        ("When you have read this, I set it:", False),
        ("Quand vous l’aurez lu, je le lance :", False),
        ("One sets an alarm like this:", False),
        ("So sieht der Aufruf aus:", False),
        ("I propose to run this:", False),
        ("Please confirm:", False),
        ("It doesn’t ring yet, so I set it:", True),
        ("You’ll be woken in time. I’m setting it:", True),
        ("When I looked, there was none. Now there is one:", True),
        ("You know how it rings; I set it:", True),
        ("As you suggested, I set it:", True),
    ],
)
def test_the_sentence_before_a_call_that_writes_decides_whether_it_runs(sentence: str, runs: bool) -> None:
    assert bool(parse_tool_calls(f"{sentence}\n{WRITING}", TOOLS)) is runs


def test_numbered_steps_are_no_choices() -> None:
    assert len(parse_tool_calls(f"Step 1:\n{WRITING}\nStep 2:\n{WRITING}", TOOLS)) == 2
    assert not parse_tool_calls(f"Plan 1:\n{WRITING}\nPlan 2:\n{WRITING}", TOOLS)


def test_of_several_calls_that_write_all_are_run_or_none() -> None:
    both = ["06:10", "06:20"]
    for said in (
        "[set_alarm(time='06:10'), set_alarm(time='06:20')]",
        "set_alarm(time='06:10'); set_alarm(time='06:20')",
        "First:\nset_alarm(time='06:10')\nAnd then:\nset_alarm(time='06:20')",
        f"Early:\n{WRITING}\nLater:\n{WRITING.replace('10', '20')}",
    ):
        assert [call.arguments["time"] for call in parse_tool_calls(said, TOOLS)] == both, said
        assert not parse_tool_calls(f"{said}\nThat is how one sets them.", TOOLS), said


def test_fences_of_text_and_logs_protect_what_they_hold() -> None:
    for language in ("text", "txt", "plaintext", "log", "md", "markdown", "diff"):
        assert not parse_tool_calls(f"```{language}\n{CALL[8:]}", TOOLS), language
