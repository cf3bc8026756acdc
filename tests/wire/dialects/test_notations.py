"""Calls in the spellings of models and frameworks, and texts beside them that only look like calls."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.wire.dialects.reader import StreamingReader, parse_tool_calls, read

_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}


def _tool(tool: str, *required: str, **parameters: Any) -> dict[str, Any]:
    return {"name": tool, "parameters": {"type": "object", "properties": parameters, "required": list(required)}}


OFFERED = {
    "a": [
        _tool("get_rate", "base", "quote", base=_TEXT, quote=_TEXT),
        _tool("play_song", "title", title=_TEXT, volume=_NUMBER),
        _tool("list_rooms"),
    ],
    "b": [
        _tool("find_flights", "origin", "dest", origin=_TEXT, dest=_TEXT, adults=_NUMBER),
        _tool("note_add", "text", text=_TEXT, tags={"type": "array", "items": _TEXT}),
        _tool("ping"),
        _tool("calc.sum", "numbers", numbers={"type": "array", "items": {"type": "number"}}),
    ],
    "c": [
        _tool("get_weather", "city", city=_TEXT, days=_NUMBER, metric={"type": "boolean"}),
        _tool(
            "book_table",
            "restaurant",
            "guests",
            restaurant=_TEXT,
            guests=_NUMBER,
            tags={"type": "array", "items": _TEXT},
        ),
        _tool("convert", "amount", "unit", amount={"type": "number"}, unit=_TEXT),
        _tool("list_users"),
    ],
    "d": [
        _tool("git:log", "repo", repo=_TEXT),
        _tool("git:search", "text", text=_TEXT),
        _tool("web:search", "text", text=_TEXT),
    ],
}
ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "notations.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_a_call_is_read_in_whatever_notation_it_stands() -> None:
    calls = {(row["offered"], row["text"]): parse_tool_calls(row["text"], OFFERED[row["offered"]]) for row in ROWS}
    found = {place: [[call.name, dict(call.arguments)] for call in each] for place, each in calls.items()}
    assert found == {(row["offered"], row["text"]): row["calls"] for row in ROWS}


@pytest.mark.slow
def test_streamed_they_are_the_same_and_no_call_shows() -> None:
    for row in ROWS:
        reader = StreamingReader(OFFERED[row["offered"]])
        shown = "".join(reader.feed(row["text"][at : at + 3]) for at in range(0, len(row["text"]), 3))
        assert reader.finish() == read(row["text"], OFFERED[row["offered"]]), row["text"]
        assert reader.finish().prose.startswith(shown), row["text"]


def test_what_lines_give_has_the_types_of_the_schema() -> None:
    said = "```tool\nnote_add\ntext: |\n  eggs\n    and milk\ntags:\n- home\n- 'list'\n```"
    (call,) = parse_tool_calls(said, OFFERED["b"])
    assert call.arguments == {"text": "eggs\n  and milk", "tags": ["home", "list"]}
    assert not parse_tool_calls("```tool\nnote_add\ntags: [a]\n```", OFFERED["b"])
