"""`ask` and `run` return when there is a result, also where a loop runs already, as in a notebook."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ai_battle
from ai_battle import ConfigError, events
from ai_battle.testing import FakeProviders, reply
from tests.scenarios.terminal import wait_for

TALK: dict[str, dict[str, Any]] = {
    "discussion": {
        "turns": 1,
        "goal": "Count.",
        "models": {"Ann": {"type": "scripted", "script": ["One."]}, "Bob": {"type": "scripted", "script": ["Two."]}},
    }
}


@pytest.fixture
def fakes(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


def test_a_question_is_answered(fakes: FakeProviders) -> None:
    fakes.openai.says("It is 42.")

    answer = ai_battle.ask("How much?", "gpt-4o", system="Be brief.")

    assert answer.text == "It is 42."
    assert answer.usage.cost_usd
    assert fakes.openai.questions[0].body.get("stream") is not True


async def test_where_a_loop_runs_already_both_wait_for_their_result(fakes: FakeProviders) -> None:
    fakes.openai.says("It is 42.")

    assert ai_battle.ask("How much?", "gpt-4o").text == "It is 42."
    assert [message.text for message in ai_battle.run(TALK, out="here").messages] == ["Count.", "One.", "Two."]


def test_a_helper_s_calls_are_part_of_the_usage_and_can_be_listened_to(fakes: FakeProviders) -> None:
    fakes.ollama.always("I do not know. " * 40)
    fakes.openai.always("It is 168.")

    answer = ai_battle.ask("How many?", "ollama/phi4", helper="gpt-4o", emit=(log := events.EventLog()))

    replies = [event for event in log.events if isinstance(event, events.ModelReplied)]
    assert {reply.role for reply in replies} >= {"own", "helper"}
    assert answer.usage.output_tokens == sum(reply.usage.output_tokens for reply in replies)


def test_a_listener_hears_the_answer_while_it_comes(fakes: FakeProviders) -> None:
    fakes.openai.says(reply("One two three.", chunks=3))

    ai_battle.ask("Count.", "gpt-4o", emit=(log := events.EventLog()))

    assert log.text == "One two three."
    assert sum(isinstance(event, events.TextDelta) for event in log.events) > 1


def test_a_run_is_shown_while_it_happens(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ai_battle.run(TALK, out="here", emit=ai_battle.live_view())

    assert capsys.readouterr().out.splitlines()[1:] == ["Count.", "[1] Ann: One.", "[2] Bob: Two."]


def test_what_can_not_run_is_said_before_anything_is_spent(fakes: FakeProviders) -> None:
    with pytest.raises(ConfigError, match="can't help itself"):
        ai_battle.ask("Hm?", "gpt-4o", helper="openai/gpt-4o")
    with pytest.raises(ConfigError, match="quickstrat"):
        ai_battle.run("quickstrat")
    assert not fakes.openai.questions


NOTEBOOK = """
import asyncio, ai_battle

async def cell():
    ai_battle.run("slow.json", out="here")

asyncio.new_event_loop().run_until_complete(cell())
"""


def test_the_stop_button_of_a_notebook_interrupts_a_run_that_can_be_resumed(here: Path) -> None:
    """Its loop is no `asyncio.run`, so that an interrupt reaches the cell as a KeyboardInterrupt."""
    slow = {"type": "scripted", "pace": 1, "script": ["a b c d e f g h i j k l m n o p q r s t u v w x y z"]}
    quick = TALK["discussion"]["models"]["Ann"]
    discussion = {"turns": 1, "goal": "Spell.", "models": {"Ann": quick, "Bob": slow}}
    Path("slow.json").write_text(json.dumps({"discussion": discussion}))
    with subprocess.Popen([sys.executable, "-c", NOTEBOOK], stderr=subprocess.PIPE, text=True) as process:
        wait_for('"turn_started","turn":2', Path("here/journal.jsonl"))
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)

    assert told.splitlines()[-1] == "KeyboardInterrupt"
    last = json.loads(Path("here/journal.jsonl").read_text().splitlines()[-1])
    assert (last["type"], last["status"], last["turns"]) == ("run_finished", "interrupted", 1)
