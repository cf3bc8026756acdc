"""A run in which somebody was asked and never answered is not a success, and can be resumed with that turn."""

import json
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders, fault

from .conftest import Run

TALK = """\
discussion:
  turns: {turns}
  goal: Say something.
  models:
    Ann: {{type: gpt-4o, role: human}}
    Bob: {{type: scripted/bob, script: {script}}}
{more}"""


def write_config(fault: str, turns: int = 1, more: str = "", then: str = "") -> str:
    script = f"[{{fail: {fault}}}{then}]"
    Path("talk.yaml").write_text(TALK.format(turns=turns, script=script, more=more).replace("gpt-4o", ANN))
    return "talk.yaml"


ANN = "scripted/ann, script: [Good morning.], loop: true"
WHY = {"quota": "the quota is used up", "context_too_long": "does not fit the context window", "refused": "declined"}


@pytest.mark.parametrize(("failure", "why"), WHY.items())
@pytest.mark.parametrize(
    "more",
    [
        "",
        "  execution: {parallel: true}\n",
        "  stop: {max_messages: 2}\n",
        "  outcome: Sum it up.\n",
        "    Eve: {type: scripted/eve, script: [Hello.]}\n",
    ],
)
def test_one_who_was_asked_once_and_failed_makes_the_run_fail(
    ai_battle: Run, failure: str, why: str, more: str
) -> None:
    said = ai_battle("run", write_config(failure, 2 if "stop" in more else 1, more), "--json", "--out", "run")

    document = json.loads(said.out)
    assert (said.code, document["status"]) == (1, "failed")
    assert "Bob" in document["stop_reason"]
    assert why in document["stop_reason"]


def test_an_observer_who_never_answered_makes_the_run_fail(ai_battle: Run) -> None:
    path = write_config("quota", more="    Eve: {type: scripted/eve, script: [Hello.]}\n")
    Path(path).write_text(Path(path).read_text().replace("Bob: {", "Bob: {role: observer, "))

    said = ai_battle("run", path)

    assert said.code == 1
    assert "Bob never answered: scripted: the quota is used up" in said.out + said.err


def test_such_a_run_is_resumed_with_the_turn_that_is_missing(ai_battle: Run) -> None:
    with FakeProviders.in_thread() as fakes:
        fakes.openai.says("Good morning.", model="gpt-4o")
        path = Path("talk.yaml")
        path.write_text(TALK.format(turns=1, script="[]", more="").replace("scripted/bob, script: []", "gpt-4o-mini"))
        fakes.openai.says(fault("insufficient_quota"), "Good evening.", model="gpt-4o-mini")
        environment = "\n".join(f"{name}={value}" for name, value in fakes.environment.items())
        Path(".env").write_text(environment)

        first = ai_battle("run", path, "--out", "run")
        assert first.code == 1
        assert "ai-battle resume run" in first.err
        second = ai_battle("resume", "run", "--json")

    assert second.code == 0
    document = json.loads(second.out)
    assert (document["status"], document["turns"]) == ("done", 2)
    assert document["messages"][-1]["name"] == "Bob"


def test_one_who_fails_once_and_answers_later_spoils_nothing(ai_battle: Run) -> None:
    assert ai_battle("run", write_config("quota", turns=2, then=", At last.")).code == 0
