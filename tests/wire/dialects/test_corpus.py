"""The reader on thousands of recorded answers, where the machine has them."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ai_battle.wire.dialects.reader import StreamingReader, parse_tool_calls, read

FOLDER = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "toolcalls"
pytestmark = [
    pytest.mark.skipif(
        not (FOLDER / "dev.jsonl").is_file(), reason="AI_BATTLE_CORPORA names no folder with toolcalls/dev.jsonl"
    ),
    # The scorer that comes with the data does not close its files.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
_GOALS = {
    "bfcl_core": (99.0, 0.5),
    "wrap": (98.5, 0.5),
    "unit": (92.0, 2.0),
    "mutate": (100.0, 0.0),
    "trap_call": (95.0, 5.0),
    "NO bfcl": (100.0, 0.0),
    "NO unit": (100.0, 0.0),
    "NO trap+trunc": (97.0, 3.0),
}


@pytest.fixture(scope="module")
def score() -> ModuleType:
    spec = importlib.util.spec_from_file_location("toolcalls_score", FOLDER / "score.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    writing, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = writing
    return module


def _calls(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": call.name, "arguments": dict(call.arguments)} for call in parse_tool_calls(text, tools)]


def test_the_goals_are_reached(score: ModuleType) -> None:
    parts, speed, _, _ = score.report(_calls, score.load("dev"))
    missed = {
        name: part for name, part in parts.items() if name in _GOALS
        and (part["exact"] < _GOALS[name][0] or part["wrong"] > _GOALS[name][1])
    }  # fmt: skip
    assert missed == {}
    assert speed["errors"] == 0


def test_streamed_they_hold_the_same_calls_and_show_only_prose(score: ModuleType) -> None:
    for row in score.load("dev")[::7]:
        tools = score.tools_of(row)
        reader = StreamingReader(tools)
        shown = "".join(reader.feed(row["raw_text"][at : at + 3]) for at in range(0, len(row["raw_text"]), 3))
        assert read(row["raw_text"], tools) == reader.finish(), row["id"]
        assert reader.finish().prose.startswith(shown), row["id"]
