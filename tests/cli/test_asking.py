"""A person who is asked about calls on the terminal on which the run is shown."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ai_battle.cli._live import TICK
from tests.cli.test_typing import scrolled
from tests.scenarios.terminal import begun, ended, run, terminal

TALK = """
discussion:
  turns: 1
  mode: ai-ai
  goal: Work.
  execution: {parallel: PARALLEL}
  models:
    Ann: {type: scripted/a, script: [{call: [CALLS]}, Ann is done.]}
    Bob: {type: scripted/b, script: [{say: Bob is done., delay: 0.3}]}
  tools: {registry: [calculator], approval: {default: ask}}
"""
ONE = "{tool: calculator, parameters: {expression: 6 * 7}}"
TWO = f"{ONE}, {{tool: calculator, parameters: {{expression: 6 * 8}}}}"
PROMPT = "y/n/always/never> "
RESET = "\x1b[0m"
CTRL_C, CTRL_D = "\x03", "\x04"


def written(folder: Path, calls: str = ONE, *, parallel: bool = False) -> Path:
    path = folder / "talk.yaml"
    path.write_text(TALK.replace("CALLS", calls).replace("PARALLEL", str(parallel).lower()))
    return path


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "run" / "journal.jsonl").read_text(encoding="utf-8").splitlines()]


def decisions(folder: Path) -> list[tuple[str, str]]:
    return [(one["decision"], one["by"]) for one in journal(folder) if one["type"] == "tool_decided"]


def test_a_call_waits_until_it_is_answered_and_then_runs(tmp_path: Path) -> None:
    with terminal("run", written(tmp_path), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        assert "tool_called" not in [one["type"] for one in journal(tmp_path)]
        you.press("yes\n")
        assert you.end() == 0

    lines = scrolled(you)
    asked = lines.index("╭ Ann wants to use calculator")
    assert lines[asked : asked + 3] == [
        "╭ Ann wants to use calculator",
        "│ expression: 6 * 7",
        "╰ May Ann use calculator?",
    ]
    assert lines[asked + 4 : asked + 7] == [
        "  y/n/always/never> yes",
        '→ calculator(expression="6 * 7") allowed by a person',
        '← {"expression": "6 * 7", "result": 42} (0.0 s)',
    ]
    assert "Ann waits for your answer" in you.shown


@pytest.mark.parametrize(
    ("typed", "reason"), [("n not today\n", "not today"), (CTRL_D, "the input ended")], ids=["no", "end of input"]
)
def test_a_call_that_is_refused_does_not_run_and_the_run_goes_on(tmp_path: Path, typed: str, reason: str) -> None:
    with terminal("run", written(tmp_path), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        you.press(typed)
        assert you.end() == 0

    assert decisions(tmp_path) == [("denied", "person")]
    assert f'✗ calculator(expression="6 * 7") denied by a person: {reason}' in scrolled(you)
    assert "Ann is done." in scrolled(you)


def test_what_is_no_answer_is_asked_again_and_what_was_typed_before_is_none(tmp_path: Path) -> None:
    with terminal("run", written(tmp_path), "--out", tmp_path / "run") as you:
        you.press("y\ny\n")
        you.read_until(PROMPT)
        you.press("perhaps\n")
        you.read_until(PROMPT, times=2)
        you.press("\n")
        you.read_until(PROMPT, times=3)
        assert decisions(tmp_path) == []
        you.press("y\n")
        assert you.end() == 0


def test_always_is_asked_once_for_all_that_follow(tmp_path: Path) -> None:
    with terminal("run", written(tmp_path, TWO), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        you.press("always\n")
        assert you.end() == 0
    assert decisions(tmp_path) == [("allowed", "person")] * 2
    assert you.shown.count(PROMPT) == 1


def test_two_calls_at_once_are_asked_about_one_after_the_other(tmp_path: Path) -> None:
    with terminal("run", written(tmp_path, TWO), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        assert "6 * 8" not in you.shown
        you.press("n\n")
        you.read_until(PROMPT, times=2)
        you.press("y\n")
        assert you.end() == 0
    assert decisions(tmp_path) == [("denied", "person"), ("allowed", "person")]


def test_nothing_is_written_over_the_question_though_another_answers_meanwhile(tmp_path: Path) -> None:
    with terminal("run", written(tmp_path, parallel=True), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        shown = len(you.shown)
        time.sleep(TICK + 0.1)  # Bob answers, and the clock of the status line would tick
        you.press("n")
        you.read_until("n", times=you.shown.count("n") + 1)
        written_meanwhile = you.shown[shown:]
        you.press("\n")
        assert you.end() == 0
    assert written_meanwhile.removeprefix(RESET) == "n"
    assert {"Ann is done.", "Bob is done."} <= {*scrolled(you)}


def test_ctrl_c_at_the_question_ends_the_run_and_it_can_be_resumed(tmp_path: Path) -> None:
    with terminal("run", written(tmp_path), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        you.press(CTRL_C)
        assert you.end() == 130
    assert decisions(tmp_path) == []

    with terminal("resume", tmp_path / "run") as again:
        again.read_until(PROMPT)
        again.press("y\n")
        assert again.end() == 0
    assert decisions(tmp_path) == [("allowed", "person")]


def test_with_json_and_with_quiet_the_question_is_asked_all_the_same(tmp_path: Path) -> None:
    with terminal("run", written(tmp_path), "--out", tmp_path / "run", "--quiet") as you:
        you.read_until(PROMPT)
        you.press("y\n")
        assert you.end() == 0
    assert decisions(tmp_path) == [("allowed", "person")]


def test_in_a_pipe_to_ask_is_to_deny(tmp_path: Path) -> None:
    done = run("run", written(tmp_path), "--out", tmp_path / "run")
    assert done.code == 0
    assert decisions(tmp_path) == [("denied", "no terminal")]
    assert '✗ calculator(expression="6 * 7") denied, because nobody could be asked' in done.out


def test_a_line_in_a_pipe_is_no_consent(tmp_path: Path) -> None:
    process = begun("run", written(tmp_path), "--out", tmp_path / "run", stdin=-1)
    assert process.stdin
    process.stdin.write("y\n")
    assert ended(process).code == 0
    assert decisions(tmp_path) == [("denied", "no terminal")]
