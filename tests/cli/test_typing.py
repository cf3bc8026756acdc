"""A person who takes part on the terminal on which the run is shown."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.conversation.reading import messages
from tests.scenarios.terminal import STATUS, Terminal, terminal

TALK = """
discussion:
  turns: 2
  goal: Talk.
  models:
    You: {role: user}
    Ann: {type: scripted/a, script: [First., Second.]}
    Bob: {type: scripted/b, script: [Third., Fourth.]}
"""
ESCAPES = re.compile(r"\x1b(?:[78D]|\[[?0-9;]*[A-Za-z])")
CTRL_C, CTRL_D = "\x03", "\x04"
PROMPT = "You> "


@pytest.fixture
def you(tmp_path: Path) -> Iterator[Terminal]:
    path = tmp_path / "talk.yaml"
    path.write_text(TALK)
    with terminal("run", path, "--out", tmp_path / "run") as opened:
        opened.read_until(PROMPT)
        yield opened


def scrolled_lines(terminal: Terminal) -> list[str]:
    """The lines above the status line."""
    text = ESCAPES.sub("", STATUS.sub("", terminal.shown)).replace("\r", "")
    return [line for line in text.split("\n") if line]


def second_turn(you: Terminal) -> None:
    you.read_until("Third.")
    you.read_until(PROMPT, times=2)


def test_what_is_typed_stands_there_once_behind_the_prompt(you: Terminal) -> None:
    you.press("Hello there.\n")
    second_turn(you)
    you.press("Bye.\n")

    assert you.end() == 0
    assert scrolled_lines(you)[2:9] == [
        "You> Hello there.",
        "Ann scripted/a",
        "First.",
        "Bob scripted/b",
        "Third.",
        "You> Bye.",
        "Ann scripted/a",
    ]


def test_the_status_line_says_what_can_be_done(you: Terminal) -> None:
    you.read_until("your turn: Enter says it, an empty line passes, /help shows more")


def test_an_empty_line_lets_the_turn_pass(you: Terminal) -> None:
    you.press("\n")
    second_turn(you)
    you.press("Bye.\n")

    assert you.end() == 0
    assert scrolled_lines(you)[2:5] == [PROMPT, "You let the turn pass.", "Ann scripted/a"]


def test_the_end_of_the_input_leaves_and_the_others_go_on(you: Terminal) -> None:
    you.press("Hello.\n")
    second_turn(you)
    you.press(CTRL_D)

    assert you.end() == 0
    lines = scrolled_lines(you)
    assert lines[lines.index("You left the discussion.") - 1] == PROMPT
    assert {"Second.", "Fourth."} <= {*lines}


def test_ctrl_c_at_the_prompt_ends_the_run_on_a_line_of_its_own_and_it_can_be_resumed(
    you: Terminal, tmp_path: Path
) -> None:
    you.press("Hello.\n")
    second_turn(you)
    you.press("half a")
    you.read_until("half a")
    you.press(CTRL_C)

    assert you.end() == 130
    assert scrolled_lines(you)[-1].startswith("Interrupted; every finished turn is kept.")
    with terminal("resume", tmp_path / "run") as again:
        again.read_until(PROMPT)
        again.press("Back again.\n")
        assert again.end() == 0
    shown = scrolled_lines(again)
    assert shown[:5] == ["You:", "Hello.", "Ann:", "First.", "Bob:"]
    assert shown[7:11] == ["→ The run was resumed at turn 4.", "You> Back again.", "Ann scripted/a", "Second."]


ALT_ENTER, UP, PASTE, PASTED = "\x1b\r", "\x1b[A", "\x1b[200~", "\x1b[201~"


def typed_texts(run: Path) -> list[str]:
    return [message.text for message in messages(run) if message.speaker == "You"]


def test_what_is_typed_has_several_lines_and_earlier_lines_come_back(you: Terminal, tmp_path: Path) -> None:
    you.press(f"One{ALT_ENTER}two \\\n")
    you.read_until("... ")
    you.press("three\n")
    second_turn(you)
    you.press(f"{UP}!\n")

    assert you.end() == 0
    assert typed_texts(tmp_path / "run") == ["One\ntwo \nthree", "One\ntwo \nthree!"]


def test_pasted_lines_are_one_message(you: Terminal, tmp_path: Path) -> None:
    you.press(f"{PASTE}First.\nSecond.\n{PASTED}Third.\n")
    second_turn(you)
    you.press("\n")

    assert you.end() == 0
    assert typed_texts(tmp_path / "run") == ["First.\nSecond.\nThird."]


@pytest.mark.slow
def test_a_pasted_megabyte_is_said_whole(you: Terminal, tmp_path: Path) -> None:
    pasted = "A line of thirty characters....\n" * 32_768
    you.press_long(f"{PASTE}{pasted}{PASTED}\n")
    second_turn(you)
    you.press("\n")

    assert you.end() == 0
    assert typed_texts(tmp_path / "run") == [pasted]


def test_what_was_said_in_an_earlier_run_comes_back_too(tmp_path: Path) -> None:
    path = tmp_path / "talk.yaml"
    path.write_text(TALK)
    for name, keys in (("one", "Remember me.\n"), ("two", f"{UP}\n")):
        with terminal("run", path, "--turns", 1, "--out", tmp_path / name) as opened:
            opened.read_until(PROMPT)
            opened.press(keys)
            assert opened.end() == 0
        assert typed_texts(tmp_path / name) == ["Remember me."]


def test_help_tells_what_can_be_typed_and_end_ends_it(you: Terminal, tmp_path: Path) -> None:
    you.press("/help\n")
    you.read_until(PROMPT, times=2)
    you.press("/end\n")

    assert you.end() == 0
    at = scrolled_lines(you).index("  /attach FILE     send a file with what you say next: a text, a picture, a PDF ")
    assert scrolled_lines(you)[at + 1] == "or a video", "no word is broken at the edge of the terminal"
    assert any(line.startswith("Done (You ended it)") for line in scrolled_lines(you))


def test_a_terminal_without_an_editor_reads_lines(tmp_path: Path) -> None:
    path = tmp_path / "talk.yaml"
    path.write_text(TALK)
    with terminal("run", path, "--turns", 1, "--out", tmp_path / "run", TERM="dumb") as opened:
        opened.read_until(PROMPT)
        opened.press("Hello.\n")
        assert opened.end() == 0
    assert typed_texts(tmp_path / "run") == ["Hello."]


def test_a_table_of_who_spoke_ends_a_run(you: Terminal) -> None:
    you.press("Hello.\n")
    second_turn(you)
    you.press("Bye.\n")

    assert you.end() == 0
    lines = scrolled_lines(you)
    table = lines[lines.index(next(line for line in lines if line.split()[:2] == ["model", "turns"])) :]
    assert [line.split()[:3] for line in table[1:4]] == [
        ["You", "person", "2"],
        ["Ann", "scripted/a", "2"],
        ["Bob", "scripted/b", "2"],
    ]
    assert "▇" in table[2]
    assert table[4].startswith("tokens per turn")


def test_what_was_typed_is_kept_for_its_owner_alone_and_without_secrets(tmp_path: Path) -> None:
    path, state = tmp_path / "talk.yaml", tmp_path / "state"
    path.write_text(TALK)
    secret = {"OPENAI_API_KEY": "sk-a-long-and-secret-key-0123456789"}
    with terminal("run", path, "--turns", 1, "--out", tmp_path / "run", XDG_STATE_HOME=str(state), **secret) as opened:
        opened.read_until(PROMPT)
        opened.press("My key is sk-a-long-and-secret-key-0123456789, I think.\n")
        assert opened.end() == 0

    (kept,) = (state / "ai-battle").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_text().startswith("My key is ")
    assert "secret-key" not in kept.read_text()
