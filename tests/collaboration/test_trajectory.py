"""Tool trajectories: when a stronger model should go on, and what that brings on recorded ones."""

import json
import os
from importlib.resources import files
from pathlib import Path

import pytest

from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.judging.assessment import steps_of
from ai_battle.judging.trajectory import failure_probability, why_hand_over
from ai_battle.signals.trouble import ToolStep
from research import trajectory

CORPUS = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "cascade"
PROMPT = "Find the average age of losers and winners of all matches."
GUESS = "SELECT AVG(age) FROM (SELECT {} FROM matches JOIN players ON matches.winner = players.id) AS both_of_them"


def guesses(count: int) -> list[ToolStep]:
    """A model that guesses at names of columns."""
    return [
        ToolStep(GUESS.format(f"age{n % 2}"), f"Error executing query: Unknown column 'age{n % 2}' in 'field list'")
        for n in range(count)
    ]


FINDS = [
    ToolStep("SHOW TABLES", "[('players',), ('matches',)]"),
    ToolStep("DESC players", "[('player_id', 'int'), ('birth_date', 'date')]"),
    ToolStep("SELECT COUNT(*) FROM players", "[(20662,)]"),
]


def test_steps_are_what_was_called_and_what_came_back() -> None:
    done, open_ = ToolCall("sql", {"query": "SHOW TABLES"}, "1"), ToolCall("sql", {"query": "DESC x"}, "2")
    messages = [
        user(PROMPT),
        Message("assistant", (Text("Let me look."), done)),
        Message("tool", (ToolResult(done, (Text("no database"),), is_error=True),)),
        Message("assistant", (open_,)),
        assistant("Well."),
    ]
    assert steps_of(messages) == (ToolStep('sql {"query": "SHOW TABLES"}', "no database", True),)


def test_who_gropes_is_handed_over_and_who_finds_is_not() -> None:
    assert why_hand_over(guesses(3), PROMPT) == "a call was repeated"
    assert why_hand_over(FINDS, PROMPT) == ""
    assert failure_probability(FINDS, PROMPT) < 0.5 < failure_probability(guesses(3), PROMPT)


def test_nothing_is_said_of_the_first_two_steps() -> None:
    assert failure_probability(guesses(2), PROMPT) == 0
    assert failure_probability([], PROMPT) == 0


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
def test_recorded_trajectories_are_handed_over_in_time() -> None:
    scored = list(trajectory.unseen(trajectory.read(CORPUS)))
    relief = trajectory.Relief.of(scored)
    assert trajectory.Foresight.of(scored).auroc >= 0.81
    assert relief.quality >= relief.large_quality
    assert relief.small_turns <= 0.55


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
def test_the_shipped_weights_are_those_of_the_recorded_trajectories() -> None:
    shipped = json.loads(files("ai_battle.judging").joinpath("trajectory.json").read_text(encoding="utf-8"))
    anew = trajectory.learned(trajectory.read(CORPUS))
    assert shipped["bias"] == pytest.approx(anew.bias, abs=1e-3)
    for name, values in shipped["features"].items():
        assert values == pytest.approx(anew.features[name], abs=1e-3)
