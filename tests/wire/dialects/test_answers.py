"""Answers written to mislead a reader, each with the calls that a careful person finds in it: often none."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.wire.dialects.reader import StreamingReader, parse_tool_calls, read

from .writers import OFFERED

ROWS = [json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
CALLING = [row for row in ROWS if row["calls"]]
SILENT = [row["text"] for row in ROWS if not row["calls"]]


@pytest.mark.parametrize("row", CALLING, ids=lambda row: row["text"][:40])
def test_what_is_meant_is_called(row: dict[str, Any]) -> None:
    calls = parse_tool_calls(row["text"], OFFERED)
    assert [[call.name, dict(call.arguments)] for call in calls] == row["calls"]


@pytest.mark.parametrize("text", SILENT, ids=lambda text: text[:40])
def test_what_is_shown_told_or_thought_is_not_called(text: str) -> None:
    assert parse_tool_calls(text, OFFERED) == ()


def test_streamed_they_are_the_same_and_only_prose_shows() -> None:
    for row in ROWS:
        reader = StreamingReader(OFFERED)
        shown = "".join(reader.feed(row["text"][at : at + 4]) for at in range(0, len(row["text"]), 4))
        assert reader.finish() == read(row["text"], OFFERED), row["text"]
        assert reader.finish().prose.startswith(shown), row["text"]
