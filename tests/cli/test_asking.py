"""A person who is asked about calls on the terminal on which the run is shown."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ai_battle.cli.live import TICK_SECONDS
from tests.cli.test_typing import scrolled_lines
from tests.scenarios.terminal import begin, terminal, wait_for

TALK = """
discussion:
  turns: 1
  mode: ai-ai
  goal: Work.
  models:
    Ann: {type: scripted/a, script: [{call: [CALLS]}, Ann is done.]}
    Bob: {type: scripted/b, script: [Bob is done.]}
  tools: {registry: [calculator, current_time], approval: {default: ask}}
"""
ONE = "{tool: calculator, parameters: {expression: 6 * 7}}"
TWO = f"{ONE}, {{tool: calculator, parameters: {{expression: 6 * 8}}}}"
PROMPT = "y/n/always/never> "
RESET = "\x1b[0m"
CTRL_C, CTRL_D = "\x03", "\x04"


def write_config(folder: Path, calls: str = ONE) -> Path:
    path = folder / "talk.yaml"
    path.write_text(TALK.replace("CALLS", calls))
    return path


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "run" / "journal.jsonl").read_text(encoding="utf-8").splitlines()]


def decisions(folder: Path) -> list[tuple[str, str]]:
    return [(one["decision"], one["by"]) for one in journal(folder) if one["type"] == "tool_decided"]


def test_a_call_waits_until_it_is_clearly_answered_and_then_runs(tmp_path: Path) -> None:
    """What was typed before the question is not an answer to it."""
    with terminal("run", write_config(tmp_path), "--out", tmp_path / "run") as you:
        you.press("y\ny\n")
        for number, typed in enumerate(("perhaps\n", "\n", "yes\n"), 1):
            you.read_until(PROMPT, times=number)
            assert "tool_called" not in [one["type"] for one in journal(tmp_path)]
            you.press(typed)
        assert you.end() == 0

    lines = scrolled_lines(you)
    asked = lines.index("╭ Ann wants to use calculator")
    assert lines[asked : asked + 3] == [
        "╭ Ann wants to use calculator",
        "│ expression: 6 * 7",
        "╰ May Ann use calculator?",
    ]
    assert lines[asked + 7 : asked + 10] == [
        "  y/n/always/never> yes",
        "→ calculator(6 * 7) allowed by a person",
        "← 42 (0.0 s)",
    ]
    assert "Ann waits for your answer" in you.shown


@pytest.mark.parametrize(
    ("typed", "reason"), [("n not today\n", "not today"), (CTRL_D, "the input ended")], ids=["no", "end of input"]
)
def test_a_call_that_is_refused_does_not_run_and_the_run_goes_on(tmp_path: Path, typed: str, reason: str) -> None:
    with terminal("run", write_config(tmp_path), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        you.press(typed)
        assert you.end() == 0

    assert decisions(tmp_path) == [("denied", "person")]
    assert f"✗ calculator(6 * 7) denied by a person: {reason}" in scrolled_lines(you)
    assert "Ann is done." in scrolled_lines(you)


def test_two_calls_at_once_are_asked_about_one_after_the_other(tmp_path: Path) -> None:
    with terminal("run", write_config(tmp_path, TWO), "--out", tmp_path / "run", "--quiet") as you:
        you.read_until(PROMPT)
        assert "6 * 8" not in you.shown
        you.press("n\n")
        you.read_until(PROMPT, times=2)
        you.press("always\n")
        assert you.end() == 0
    assert decisions(tmp_path) == [("denied", "person"), ("allowed", "person")]


def test_nothing_is_written_over_the_question_though_another_call_runs_meanwhile(tmp_path: Path) -> None:
    talk = write_config(tmp_path, f"{{tool: current_time}}, {ONE}")
    with terminal("run", talk, "--out", tmp_path / "run", "--approve", "calculator=allow") as you:
        you.read_until(PROMPT)
        shown = len(you.shown)
        wait_for("tool_returned", tmp_path / "run" / "journal.jsonl")
        time.sleep(TICK_SECONDS + 0.1)  # the clock of the status line would tick
        you.press("n")
        you.read_until("n", times=you.shown.count("n") + 1)
        written_meanwhile = you.shown[shown:]
        you.press("\n")
        assert you.end() == 0
    assert written_meanwhile.removeprefix(RESET) == "n"
    assert "← 42 (0.0 s)" in scrolled_lines(you)


def test_ctrl_c_at_the_question_ends_the_run_and_it_can_be_resumed(tmp_path: Path) -> None:
    with terminal("run", write_config(tmp_path), "--out", tmp_path / "run") as you:
        you.read_until(PROMPT)
        you.press(CTRL_C)
        assert you.end() == 130
    assert decisions(tmp_path) == []

    with terminal("resume", tmp_path / "run") as again:
        again.read_until(PROMPT)
        again.press("y\n")
        assert again.end() == 0
    assert decisions(tmp_path) == [("allowed", "person")]


def test_in_a_pipe_to_ask_is_to_deny_and_a_line_in_it_is_no_consent(tmp_path: Path) -> None:
    done = begin("run", write_config(tmp_path), "--out", tmp_path / "run").end("y\n")

    assert done.code == 0
    assert decisions(tmp_path) == [("denied", "no terminal")]
    assert "✗ calculator(6 * 7) denied, because nobody could be asked" in done.out
