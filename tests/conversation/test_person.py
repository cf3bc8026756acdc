"""A person at the keyboard takes part like any model."""

import base64
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ai_battle import ConversationManager, Image, Participant, RunResult
from ai_battle.conversation.person import PersonClient, Reader
from ai_battle.core.events import EventLog, TurnFailed
from ai_battle.providers.scripted import ScriptedClient

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def types(*lines: str | None) -> Reader:
    waiting = list(lines)

    async def read(prompt: str) -> str | None:
        return waiting.pop(0)

    return read


async def talk(out: Path, lines: Sequence[str | None], turns: int = 2, others: int = 1) -> tuple[RunResult, EventLog]:
    bots = [Participant(f"bot{n}", ScriptedClient("Hm.", loop=True)) for n in range(others)]
    you = Participant("you", PersonClient("you", types(*lines)), role="user")
    manager = ConversationManager([you, *bots], goal="Talk.", turns=turns, out=out)
    return await manager.run_discussion(log := EventLog()), log


async def test_what_is_typed_is_said(tmp_path: Path) -> None:
    result, _ = await talk(tmp_path / "run", ["Hello.", "Bye."])

    assert [m.text for m in result.messages] == ["Talk.", "Hello.", "Hm.", "Bye.", "Hm."]
    assert result.messages[1].speaker == "you"


async def test_empty_lines_let_turns_pass_however_often(tmp_path: Path) -> None:
    result, log = await talk(tmp_path / "run", ["", " ", "", "There."], turns=4)

    assert result.status == "done"
    assert [m.text for m in result.messages] == ["Talk.", "Hm.", "Hm.", "Hm.", "There.", "Hm."]
    assert [event.policy for event in log.events if isinstance(event, TurnFailed)] == ["skip"] * 3


async def test_the_end_of_the_input_leaves_and_the_others_go_on_for_the_rounds_that_are_left(tmp_path: Path) -> None:
    result, _ = await talk(tmp_path / "run", ["Hello.", None], turns=3, others=2)

    assert result.status == "done"
    assert [m.speaker for m in result.messages] == ["", "you", "bot0", "bot1", "bot0", "bot1", "bot0", "bot1"]


async def test_when_only_one_is_left_the_discussion_ends(tmp_path: Path) -> None:
    result, _ = await talk(tmp_path / "run", ["Hello.", None])

    assert (result.status, result.stop_reason, result.turns) == ("done", "you left", 2)


PROGRAM = """
import asyncio
from ai_battle.conversation.person import keyboard

async def main():
    print([await keyboard("> ") for _ in range(4)])
    await asyncio.wait_for(keyboard("> "), 0.2) if WAIT else None

asyncio.run(main())
"""


def test_lines_come_from_standard_input_and_prompts_go_to_standard_error() -> None:
    program = PROGRAM.replace("WAIT", "False")

    done = subprocess.run([sys.executable, "-c", program], input=b"One\nTwo\n\nlast", capture_output=True, timeout=60)

    assert done.stdout.decode().strip() == "['One', 'Two', '', 'last']"
    assert done.stderr == b"> > > > "


def test_a_program_ends_although_a_line_is_still_awaited() -> None:
    program = PROGRAM.replace("WAIT", "True")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        process.stdin.write(b"1\n2\n3\n4\n")
        process.stdin.flush()
        assert process.wait(timeout=60) == 1
        assert process.stderr
        assert b"TimeoutError" in process.stderr.read()


async def converse(out: Path, *lines: str | None, turns: int = 2, **settings: object) -> tuple[RunResult, list[str]]:
    """A person with two models; returns the result and the prompts that the person was shown."""
    bots = [Participant(name, ScriptedClient("Hm.", loop=True)) for name in ("Ann", "Bob")]
    waiting, prompts = list(lines), list[str]()

    async def read(prompt: str) -> str | None:
        prompts.append(prompt)
        return waiting.pop(0)

    you = PersonClient("you", read, ("you", "Ann", "Bob"), out.parent)
    people = [Participant("you", you, role="user"), *bots]
    manager = ConversationManager(people, goal="Talk.", turns=turns, out=out, **settings)  # type: ignore[arg-type]
    return await manager.run_discussion(), prompts


def speakers(result: RunResult) -> list[str]:
    return [message.speaker for message in result.messages][1:]


@pytest.mark.parametrize("selection", ["round_robin", "random"])
async def test_who_is_called_on_speaks_next(tmp_path: Path, selection: str) -> None:
    result, _ = await converse(tmp_path / "run", "/ask bob, what now?", None, turns=1, speaker_selection=selection)

    order = speakers(result)
    assert order[order.index("you") + 1] == "Bob"
    assert "what now?" in [message.text for message in result.messages]


async def test_who_is_called_on_without_words_speaks_instead_of_the_person(tmp_path: Path) -> None:
    result, _ = await converse(tmp_path / "run", "/ask Bob", turns=1)

    assert speakers(result)[0] == "Bob"


async def test_a_name_that_nobody_has_and_an_unknown_command_are_asked_again(tmp_path: Path) -> None:
    _, prompts = await converse(tmp_path / "run", "/ask Eve why?", "/sing", "/help", "Hi.", turns=1)

    assert prompts[0] == "you> "
    assert prompts[1] == "Nobody here has that name; choose from Ann, Bob. You wrote: Eve why?\nyou> "
    assert prompts[2].startswith("There is no command /sing; /help lists the commands, //sing says it literally.")
    assert "/attach FILE" in prompts[3]


async def test_what_is_odd_about_a_file_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_text("Seven beds.")
    _, prompts = await converse(tmp_path / "run", "/attach plan.pdf", "Look.", turns=1)

    assert "plan.pdf is a text, not a PDF as its name says; it is sent as a text." in prompts[1]


async def test_what_only_looks_like_a_command_is_said(tmp_path: Path) -> None:
    result, _ = await converse(tmp_path / "run", "/etc/hosts is a file.", "//help is a command.")

    assert [m.text for m in result.messages if m.speaker == "you"] == ["/etc/hosts is a file.", "/help is a command."]


async def test_a_person_can_pass_leave_and_end(tmp_path: Path) -> None:
    passed, _ = await converse(tmp_path / "passed", "/skip", turns=1)
    left, _ = await converse(tmp_path / "left", "Hi.", "/leave", turns=2)
    ended, _ = await converse(tmp_path / "ended", "Hi.", "/END", turns=5)

    assert speakers(passed) == ["Ann", "Bob"]
    assert speakers(left)[-2:] == ["Ann", "Bob"]
    assert left.status == "done"
    assert (ended.status, ended.stop_reason, speakers(ended)) == ("done", "you ended it", ["you", "Ann", "Bob"])


async def test_files_go_with_what_is_said_next_and_reach_the_others(tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("Seven beds.")
    (tmp_path / "dot.png").write_bytes(PIXEL)
    model = ScriptedClient("I see.", loop=True)
    lines = types("/attach plan.txt", "/attach dot.png", "/attach none.png", "Look.", "And now?")
    you = PersonClient("you", lines, ("Ann",), tmp_path)
    people = [Participant("you", you, role="user"), Participant("Ann", model)]

    result = await ConversationManager(people, goal="Talk.", turns=2, out=tmp_path / "run").run_discussion()

    assert result.messages[1].text == "Look.\n\n(attached: plan.txt, dot.png)"
    parts = model.requests[0].messages[-1].parts
    assert any(isinstance(part, Image) for part in parts)
    assert "Seven beds." in model.requests[0].messages[-1].text
    assert model.requests[1].messages[: len(model.requests[0].messages)] == model.requests[0].messages
