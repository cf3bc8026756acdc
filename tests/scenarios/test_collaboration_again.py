"""Runs with pairs that are recorded and played again, or killed and taken up again."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager, ConversationManager, RunResult
from ai_battle.assembly.models import RecordingFiles
from ai_battle.conversation.setup import load_checked
from ai_battle.testing import FakeProviders

ROUND = "The number is the number is the number. " * 400


def says(*texts: str) -> dict[str, Any]:
    return {"type": f"scripted/{len(texts)}-{texts[0][:3].strip()}", "script": list(texts), "loop": True}


def discussion(small: dict[str, Any], **pair: Any) -> dict[str, Any]:
    models = {"small": small, "other": says("Go on.")}
    pairs = [{"primary": "small", "secondary": says("Count the dwarfs."), **pair}]
    return {"discussion": {"goal": "Find it.", "models": models, "turns": 2, "collaboration": {"pairs": pairs}}}


async def play(source: dict[str, Any], out: Path, recordings: RecordingFiles) -> RunResult:
    return await CollaborativeConversationManager.from_config(source, out=out, recordings=recordings).run_discussion()


@pytest.mark.parametrize("strategy", ["rescue", "takeover", "cascade", "boost"])
@pytest.mark.parametrize("small", [says(ROUND, "The number is seven."), says("The number is seven.")])
async def test_a_recorded_run_with_a_pair_is_played_again(tmp_path: Path, strategy: str, small: dict[str, Any]) -> None:
    """Also where an answer was cut short, and where the helper was never asked."""
    source, tape = discussion(small, strategy=strategy), str(tmp_path / "tape.jsonl")

    recorded = await play(source, tmp_path / "recorded", RecordingFiles(record=tape))
    again = await play(source, tmp_path / "again", RecordingFiles(replay=tape))

    assert again.status == recorded.status == "done"
    assert [message.text for message in again.messages] == [message.text for message in recorded.messages]


async def test_a_recording_answers_for_a_file_that_was_checked_without_it(fakes: FakeProviders, tmp_path: Path) -> None:
    """No model is called then, although the check has made one."""
    tape = str(tmp_path / "tape.jsonl")
    source = {"discussion": {"goal": "Talk.", "models": {"a": {"type": "gpt-4o"}, "b": says("Yes.")}, "turns": 1}}
    fakes.openai.says("Hello.")
    await play(source, tmp_path / "recorded", RecordingFiles(record=tape))

    loaded = load_checked(source)
    manager = ConversationManager.from_config(loaded, out=tmp_path / "again", recordings=RecordingFiles(replay=tape))
    result = await manager.run_discussion()

    assert [message.text for message in result.messages][1:] == ["Hello.", "Yes."]
    assert len(fakes.openai.questions) == 1
