"""Answers written to mislead a reader, each with the calls that a careful person finds in it: often none."""

import json
from pathlib import Path

from ai_battle.wire.dialects.reader import StreamingReader, parse_tool_calls, read

from .writers import OFFERED

ROWS = [json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
SILENT = [row["text"] for row in ROWS if not row["calls"]]


def test_what_is_meant_is_called_and_nothing_that_is_shown_told_or_thought() -> None:
    calls = {row["text"]: parse_tool_calls(row["text"], OFFERED) for row in ROWS}
    found = {text: [[call.name, dict(call.arguments)] for call in each] for text, each in calls.items()}
    assert found == {row["text"]: row["calls"] for row in ROWS}


def test_streamed_they_are_the_same_and_only_prose_shows() -> None:
    for row in ROWS:
        reader = StreamingReader(OFFERED)
        shown = "".join(reader.feed(row["text"][at : at + 4]) for at in range(0, len(row["text"]), 4))
        assert reader.finish() == read(row["text"], OFFERED), row["text"]
        assert reader.finish().prose.startswith(shown), row["text"]
