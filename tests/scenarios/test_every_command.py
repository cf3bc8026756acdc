"""Runs of ten different kinds go through every command that reads a run."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ai_battle.cli import run_command
from ai_battle.conversation.reading import messages, read
from ai_battle.core.events import TurnFailed, TurnFinished
from ai_battle.testing import FakeProviders, call, fault, reply

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
CALCULATOR = {"tools": {"registry": ["calculator"], "approval": {"default": "allow"}}}
PAIR = {"collaboration": {"pairs": [{"primary": "Ann", "secondary": "anthropic/claude-sonnet-4-5"}]}}


def with_tools(fakes: FakeProviders) -> Mapping[str, Any]:
    fakes.openai.says(call("calculator", expression="6 * 7"), "It is 42.", call("calculator", expression="1 / 0"))
    return CALCULATOR


def with_calls_in_the_text(fakes: FakeProviders) -> Mapping[str, Any]:
    wanted = json.dumps({"tool": "calculator", "parameters": {"expression": "6 * 7"}})
    fakes.openai.says(f"```tool\n{wanted}\n```", "It is 42.")
    return {"tools": {**CALCULATOR["tools"], "calling": "text"}}


def with_denied_calls(fakes: FakeProviders) -> Mapping[str, Any]:
    fakes.openai.says(call("calculator", expression="6 * 7"), "I can't know.")
    return {"tools": {"registry": ["calculator"], "approval": {"default": "ask", "ask": ["calculator"]}}}


def with_thoughts(fakes: FakeProviders) -> Mapping[str, Any]:
    fakes.anthropic.always(reply("Hm.", thinking="Let me see."))
    return {}


def with_a_picture(fakes: FakeProviders) -> Mapping[str, Any]:
    Path("dot.png").write_bytes(PIXEL)
    return {"input_file": "dot.png"}


def with_help(fakes: FakeProviders) -> Mapping[str, Any]:
    fakes.openai.always("I do not know.")
    return PAIR


def with_faults(fakes: FakeProviders) -> Mapping[str, Any]:
    fakes.openai.says(
        fault("http_500"), fault("close_mid_stream", reply=reply("Half of it is said.", chunks=2)), "Well."
    )
    return {"timeouts": {"retry_count": 3}}


def with_a_turn_that_fails(fakes: FakeProviders) -> Mapping[str, Any]:
    fakes.openai.says("One.", fault("http_400"))
    return {}


def with_an_outcome(fakes: FakeProviders) -> Mapping[str, Any]:
    return {"outcome": "Sum up what was said."}


def all_at_once(fakes: FakeProviders) -> Mapping[str, Any]:
    return {"execution": {"parallel": True}, "mode": "no-meta"}


def in_little_context(fakes: FakeProviders) -> Mapping[str, Any]:
    fakes.openai.always("word " * 60)
    return {"execution": {"max_conversation_tokens": 128}, "turns": 4}


KINDS: tuple[Callable[[FakeProviders], Mapping[str, Any]], ...] = (
    with_tools, with_calls_in_the_text, with_denied_calls, with_thoughts, with_a_picture, with_help, with_faults,
    with_a_turn_that_fails, with_an_outcome, all_at_once, in_little_context,
)  # fmt: skip


@pytest.fixture
def fakes_in_thread(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_reads_the_run(
    fakes_in_thread: FakeProviders,
    kind: Callable[[FakeProviders], Mapping[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    discussion = {
        "turns": 2,
        "mode": "ai-ai",
        "goal": "Compute.",
        "models": {"Ann": {"type": "gpt-4o"}, "Bob": {"type": "anthropic/claude-sonnet-4-5"}},
        **kind(fakes_in_thread),
    }
    Path("talk.yaml").write_text(json.dumps({"discussion": discussion}))
    ended = run_command(["run", "talk.yaml", "--out", "left", "--quiet"])
    turns = [event.turn for _, event in read(Path("left")) if isinstance(event, TurnFinished | TurnFailed)]
    said = capsys.readouterr()

    commands = [
        *(["show", "left", str(turn), *how] for turn in turns for how in ([], ["--request"], ["--request", "--json"])),
        *(["export", "left", "--format", form] for form in ("md", "html", "jsonl", "openai", "csv")),
        ["replay", "left"],
        ["replay", "left", "--json"],
        ["replay", "left", "--swap", "Bob=gpt-4o", "--json"],
        ["validate", "left/config.yaml"],
        ["run", "left/config.yaml", "--dry-run"],
        ["resume", "left", "--quiet"],
    ]
    for command in commands:
        code = run_command(command)
        shown = capsys.readouterr()
        assert code == (ended if command[0] == "resume" else 0), (command, shown.err)
        assert "report it" not in shown.err
    assert ended in (0, 1), said.err
    assert len(messages(Path("left"))) > 1
