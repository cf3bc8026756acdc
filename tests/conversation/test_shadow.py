"""The pair of a discussion has a shadow too, which nobody in the discussion notices."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.cli import run_command
from ai_battle.core.errors import ConfigError
from ai_battle.core.files import state_directory
from ai_battle.evidence.store import EvidenceStore
from ai_battle.evidence.trials import ShadowTrial, read_trials

GOOD, BETTER, POOR = "The tower is 96 metres tall.", "The tower is 97 metres tall.", "I do not know."
PAIR = "scripted + scripted (takeover)"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def scripted_model(*said: str) -> dict[str, Any]:
    return {"type": "scripted", "script": [*said]}


def plan(judge: Any, **shadow: Any) -> dict[str, Any]:
    said = {"share": 1, "judge": judge, "budget": {"cost_usd": 1}, **shadow}
    pair = {"primary": "small", "secondary": scripted_model(BETTER, BETTER), "strategy": "takeover", "max_retries": 1}
    models = {
        "small": {**scripted_model(GOOD, POOR), "role": "human"},
        "other": {**scripted_model("I think it is 90 metres tall.", "Then I was wrong."), "role": "assistant"},
    }
    section = {"turns": 2, "goal": "How tall is the tower?", "models": models}
    return {"discussion": {**section, "collaboration": {"pairs": [{**pair, "shadow": said}]}}}


def trials() -> Sequence[ShadowTrial]:
    with closing(EvidenceStore(state_directory())) as store:
        return [trial for _, trial in read_trials(store, PAIR)]


async def test_turns_of_a_pair_are_compared_before_the_run_is_over(tmp_path: Path) -> None:
    judge = {**scripted_model('{"why": "Both are guesses.", "better": "same"}'), "loop": True}
    result = await ConversationManager.from_config(plan(judge), out=tmp_path / "runs").run_discussion()

    assert [message.text for message in result.messages if message.speaker == "small"] == [GOOD, BETTER]
    found = trials()
    assert [(trial.outcome, trial.helped) for trial in found] == [("tie", False), ("tie", True)]
    assert (found[0].small, found[0].large) == (GOOD, BETTER)
    _, *events = (result.run_dir / "journal.jsonl").read_text().splitlines()  # the first has the configuration
    assert not any("Both are guesses." in event for event in events)


async def test_a_judge_of_a_discussion_that_fails_changes_nothing(tmp_path: Path) -> None:
    result = await ConversationManager.from_config(plan(scripted_model("Hm.")), out=tmp_path / "runs").run_discussion()
    assert result.status == "done"
    assert trials() == []


@pytest.mark.parametrize(
    ("judge", "shadow", "words"),
    [
        ("scripted", {"watch": {"loss": 0.1}}, r"pairs\[0\].shadow.watch: watch is for the pairs of a server"),
        ("openai/unheard-of", {}, r"pairs\[0\].shadow.budget: The price of openai/unheard-of is not known"),
    ],
)
def test_a_shadow_of_a_discussion_that_can_not_be_is_refused(
    judge: str, shadow: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with pytest.raises(ConfigError, match=words):
        ConversationManager.from_config(plan(judge, **shadow))


SURVEY = """
from ai_battle import tool

@tool
def survey(answer: str) -> dict:
    "Looks the height up."
    return {"passed": "97" in answer}
"""


async def test_the_check_of_a_pair_compares_in_the_place_of_a_judge(tmp_path: Path) -> None:
    (tmp_path / "survey.py").write_text(SURVEY)
    said = plan("check")
    said["discussion"]["tools"] = {"enabled": True, "paths": [str(tmp_path / "survey.py")]}
    said["discussion"]["collaboration"]["pairs"][0]["check"] = "survey"
    result = await ConversationManager.from_config(said, out=tmp_path / "runs").run_discussion()

    assert result.status == "done"
    found = {trial.small: (trial.outcome, trial.reason) for trial in trials()}
    assert found[GOOD] == ("loss", "Of the small model's answer 100% fails, of the large one's 0%.")


def test_the_tasks_of_a_benchmark_are_no_requests_of_the_users(tmp_path: Path) -> None:
    said = plan(scripted_model('{"better": "same"}'))
    (tmp_path / "talk.yaml").write_text(json.dumps(said))
    (tmp_path / "tasks.jsonl").write_text('{"prompt": "How tall is the tower?", "reference": "97"}\n')
    setting = {"name": "talk", "discussion": "talk.yaml"}
    suite = {"benchmark": {"datasets": [{"path": "tasks.jsonl"}], "scorers": ["exact"], "settings": [setting]}}
    (tmp_path / "suite.yaml").write_text(json.dumps(suite))

    assert run_command(["bench", "run", str(tmp_path / "suite.yaml"), "--out", str(tmp_path / "bench")]) == 0
    assert not state_directory().exists()


async def test_a_pair_of_a_discussion_does_not_calibrate_itself() -> None:
    file = plan(scripted_model("Hm."))
    file["discussion"]["collaboration"]["pairs"][0] |= {"calibration": "auto", "promise": {"loss": 0.1}}
    with pytest.raises(ConfigError, match=r"pairs\[0\].calibration: auto is for the pairs of a server"):
        ConversationManager.from_config(file)
