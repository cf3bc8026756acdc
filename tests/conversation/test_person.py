"""A person at the keyboard takes part like any model."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ai_battle import ConversationManager, Participant, RunResult
from ai_battle.conversation.person import PersonClient, Reader
from ai_battle.core.events import EventLog, TurnFailed
from ai_battle.providers.scripted import ScriptedClient


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


async def test_the_end_of_the_input_leaves_and_the_others_go_on(tmp_path: Path) -> None:
    result, _ = await talk(tmp_path / "run", ["Hello.", None], turns=3, others=2)

    assert result.status == "done"
    assert [m.speaker for m in result.messages] == ["", "you", "bot0", "bot1", "bot0", "bot1", "bot0", "bot1", "bot0"]


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
