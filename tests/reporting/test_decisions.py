"""What was decided on a call stands on the line of the call."""

from html import unescape
from pathlib import Path

import pytest

from ai_battle.core.events import TurnFailed, TurnFinished, TurnStarted
from ai_battle.core.messages import Message, ToolCall, assistant
from ai_battle.core.tooling import By, ToolDecided
from ai_battle.reporting.exports import export

from .runs import ANN, CALL, EVENTS, write_run

STEPS = (Message("assistant", (CALL,), "ann"),)
TURN = TurnFinished(1, 1, "ann", assistant("Done.", "ann"), ANN, "gpt-4o", 1.0, steps=STEPS)
LATER = TurnFinished(2, 1, "bob", assistant("Done.", "bob"), ANN, "gpt-4o", 1.0, steps=STEPS)


async def document(run_dir: Path, form: str, *decided: ToolDecided) -> str:
    return "".join(export(await write_run(run_dir, EVENTS[0], TurnStarted(1, 1, "ann"), *decided, TURN, LATER), form))


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize(
    ("by", "allowed", "words"),
    [
        ("policy", False, " (denied by the configuration)"),
        ("no terminal", False, " (denied, because nobody could be asked)"),
        ("person", True, " (allowed by a person)"),
        ("policy", True, ""),
    ],
)
async def test_it_says_who_decided_what(tmp_path: Path, form: str, by: By, allowed: bool, words: str) -> None:
    decided = ToolDecided(CALL, "allowed" if allowed else "denied", by, speaker="ann")
    told = await document(tmp_path, form, decided)
    assert unescape(told).count(f"web_search(<b>x</b>){words}</summary>") == (1 if words else 2)


@pytest.mark.parametrize("form", ["md", "html"])
async def test_the_reason_of_a_person_is_told_and_is_text(tmp_path: Path, form: str) -> None:
    told = await document(tmp_path, form, ToolDecided(CALL, "denied", "person", "<b>no</b>", "ann"))
    assert "denied by a person: &lt;b" in told
    assert "<b>no" not in told


@pytest.mark.parametrize("form", ["md", "html"])
async def test_a_decision_holds_for_the_calls_of_its_turn_alone(tmp_path: Path, form: str) -> None:
    """Ids of calls are unique in one answer only."""
    decided = ToolDecided(ToolCall("web_search", {}, CALL.id), "denied", "person", speaker="bob")
    failed = TurnFailed(1, 1, "bob", "no answer", "skip")
    told = "".join(export(await write_run(tmp_path, EVENTS[0], TurnStarted(1, 1, "bob"), decided, failed, TURN), form))
    assert "web_search(<b>x</b>)</summary>" in unescape(told)
    assert "by a person" not in told
