"""Runs that are interrupted, watched, piped and left alone: the command line as a process of its own."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle import ConversationManager
from ai_battle.config.loading import load
from ai_battle.conversation.reading import messages, read
from ai_battle.core.events import TurnFailed, TurnFinished
from ai_battle.testing import FakeProviders, fault

from .terminal import STATUS, begin, command, end_all, run, sized_terminal, terminal, wait_for, wait_until

SLOW = """
discussion:
  turns: 2
  mode: ai-ai
  goal: Spell.
  models:
    Ann: {type: scripted/a, script: [Ready., Again.]}
    Bob: {type: scripted/b, pace: 0.1, script: [a b c d e f g h i j k l m n o p q r s t u v w x y z, Done.]}
"""
COLOUR = re.compile(r"\x1b\[[0-9;]*[34][0-9](?:;[0-9]+)*m")
AT_ONCE = ("--set", "discussion.models.Bob.pace=0")
CTRL_C = "\x03"
stopping = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture
def slow(here: Path) -> Path:
    path = here / "spell.yaml"
    path.write_text(SLOW)
    return path


def transcript(run_dir: str | Path) -> list[tuple[str, str]]:
    return [(message.speaker, message.text) for message in messages(Path(run_dir))]


async def whole_transcript(source: Path) -> list[tuple[str, str]]:
    still = load(source, overrides=["discussion.models.Bob.pace=0"])
    result = await ConversationManager.from_config(still, out="undisturbed").run_discussion()
    return transcript(result.run_dir)


def resume_command(shown: str) -> list[str]:
    """As a person would copy it."""
    (line,) = re.findall(r"ai-battle (resume .*)", shown)
    return shlex.split(line)


def turns(run_dir: str | Path) -> list[int]:
    finished = (event for _, event in read(Path(run_dir)) if isinstance(event, TurnFinished))
    return [event.turn for event in finished if event.kind == "turn"]


class TestInterrupted:
    @stopping
    async def test_the_run_is_saved_says_how_to_go_on_and_goes_on(self, slow: Path, number: signal.Signals) -> None:
        running = begin("run", slow, "--out", "here")
        await asyncio.to_thread(wait_for, '"turn_started","turn":2', Path("here/journal.jsonl"))
        await asyncio.sleep(0.8)
        running.process.send_signal(number)
        stopped = running.end()

        assert stopped.code == 130
        assert "Traceback" not in stopped.err
        assert transcript("here") == [("", "Spell."), ("Ann", "Ready.")]
        (left,) = [event for _, event in read(Path("here")) if isinstance(event, TurnFailed)]
        assert left.partial.startswith("a b c"), "what was said of the turn is kept"

        resumed = run(*resume_command(stopped.err))

        assert (resumed.code, resumed.err) == (0, "")
        assert transcript("here") == await whole_transcript(slow)
        assert turns("here") == [1, 2, 3, 4]
        assert "→ The run was resumed at turn 2." in resumed.out

    def test_with_json_it_is_one_document_all_the_same(self, slow: Path) -> None:
        running = begin("run", slow, "--out", "here", "--json")
        wait_for('"turn_started","turn":2', Path("here/journal.jsonl"))
        running.process.send_signal(signal.SIGINT)
        stopped = running.end()

        said = json.loads(stopped.out)
        assert (stopped.code, said["status"], said["run"], said["turns"]) == (130, "interrupted", "here", 1)
        assert "To go on: ai-battle resume here" in stopped.err

    async def test_a_round_in_which_all_answer_at_once_keeps_those_who_had(self, slow: Path) -> None:
        running = begin("run", slow, "--out", "here", "--set", "discussion.execution.parallel=true")
        await asyncio.to_thread(wait_for, '"turn_finished","turn":1', Path("here/journal.jsonl"))
        running.process.send_signal(signal.SIGINT)
        stopped = running.end()

        assert (stopped.code, turns("here")) == (130, [1])
        assert run(*resume_command(stopped.err)).code == 0
        assert transcript("here") == await whole_transcript(slow)

    def test_a_model_that_is_silent_can_be_interrupted_and_its_connection_is_closed(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        models = {name: {"type": "gpt-4o"} for name in ("Ann", "Bob")}
        (here / "talk.json").write_text(json.dumps({"discussion": {"turns": 1, "goal": "Talk.", "models": models}}))
        with FakeProviders.in_thread() as fakes:
            for name, value in fakes.environment.items():
                monkeypatch.setenv(name, value)
            fakes.openai.says("Hello.", fault("stall_mid_stream"))
            running = begin("run", "talk.json", "--out", "here")
            wait_for('"turn_started","turn":2', Path("here/journal.jsonl"))
            wait_until(lambda: fakes.openai.open_requests == 1)
            running.process.send_signal(signal.SIGINT)
            stopped = running.end()
            wait_until(lambda: fakes.openai.questions[-1].disconnected)

            assert stopped.code == 130
            fakes.openai.says("Good to see you.")
            assert run(*resume_command(stopped.err)).code == 0

        assert transcript("here") == [("", "Talk."), ("Ann", "Hello."), ("Bob", "Good to see you.")]
        assert len(fakes.openai.questions) == 3

    def test_a_second_ctrl_c_ends_it_whatever_it_does(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (here / "stubborn").mkdir()
        (here / "stubborn" / "model.py").write_text(
            "import asyncio\n"
            "from ai_battle.testing import ScriptedClient\n\n"
            "class Stubborn(ScriptedClient):\n"
            "    async def complete(self, request, emit):\n"
            "        try:\n"
            "            await asyncio.sleep(60)\n"
            "        finally:\n"
            "            print('not yet', flush=True)\n"
            "            await asyncio.sleep(60)\n\n"
            "def create(model):\n"
            "    return Stubborn()\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(here))
        (here / "talk.yaml").write_text(SLOW.replace("scripted/a, script: [Ready., Again.]", "stubborn.model/x"))
        running = begin("run", "talk.yaml", "--trust", "--out", "here")
        wait_for('"turn_started","turn":1', Path("here/journal.jsonl"))
        running.process.send_signal(signal.SIGINT)
        while "not yet" not in running.stdout.readline():
            pass
        running.process.send_signal(signal.SIGINT)

        stopped = running.end()

        assert (stopped.code, stopped.seconds < 30) == (-signal.SIGINT, True)
        assert transcript("here") == [("", "Spell.")]

    def test_a_person_who_presses_ctrl_c_at_the_prompt_ends_it(self, here: Path) -> None:
        (here / "you.yaml").write_text(SLOW.replace("type: scripted/a, script: [Ready., Again.]", "role: user"))
        with terminal("run", "you.yaml", "--out", "here") as screen:
            screen.read_until("Ann> ")
            screen.press(f"half a li{CTRL_C}")
            assert screen.end() == 130
            assert "ai-battle resume here" in screen.shown
            assert "Traceback" not in screen.shown


class TestPipes:
    def test_what_is_no_terminal_gets_plain_lines(self, slow: Path) -> None:
        done = run("run", slow, "--out", "here", *AT_ONCE)

        assert (done.code, done.err) == (0, "")
        assert "\x1b" not in done.out
        assert done.out.splitlines()[:4] == [
            "spell: Ann (scripted/a), Bob (scripted/b)",
            "Spell.",
            "[1] Ann: Ready.",
            "[2] Bob: a b c d e f g h i j k l m n o p q r s t u v w x y z",
        ]

    def test_a_sign_that_the_output_can_not_show_costs_no_line(self, here: Path) -> None:
        (here / "talk.yaml").write_text(SLOW.replace("Spell.", "Spell — 漢字."), encoding="utf-8")
        done = run("run", "talk.yaml", "--out", "here", *AT_ONCE, PYTHONIOENCODING="ascii")

        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines()[1] == "Spell ? ??."

    async def test_a_reader_who_leaves_early_ends_the_run_as_ctrl_c_does(self, slow: Path) -> None:
        """Of `| head -3`: what nobody reads is not paid for, and no traceback is shown."""
        running = begin("run", slow, "--out", "here")
        assert [running.stdout.readline() for _ in range(3)][-1] == "[1] Ann: Ready.\n"
        running.stdout.close()
        stopped = running.end()

        assert stopped.code == 130
        assert turns("here") in ([1], [1, 2]), "one more line may have gone into the pipe"
        assert stopped.err.splitlines() == ["Interrupted; every finished turn is kept. To go on: ai-battle resume here"]
        assert run(*resume_command(stopped.err)).code == 0
        assert transcript("here") == await whole_transcript(slow)

    def test_json_is_printed_whole_whoever_reads_the_rest(self, slow: Path) -> None:
        running = begin("run", slow, "--json", *AT_ONCE)
        running.stderr.close()
        done = running.end()

        assert (done.code, json.loads(done.out)["turns"]) == (0, 4)

    @pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
    def test_closed_streams_do_no_harm(self, slow: Path, closed: str) -> None:
        line = shlex.join(command("run", slow, "--out", "here", *AT_ONCE))
        shell = subprocess.run(["sh", "-c", f"exec {line} {closed}"], capture_output=True, timeout=20)

        assert (shell.returncode, shell.stderr) == (0, b"")
        assert turns("here") == [1, 2, 3, 4]

    def test_a_person_whose_input_is_closed_has_left(self, here: Path) -> None:
        (here / "you.yaml").write_text(SLOW.replace("type: scripted/a, script: [Ready., Again.]", "role: user"))

        done = run("run", "you.yaml", "--out", "here")

        assert done.code == 1, "nobody has said anything"
        assert "nobody answered" in done.err
        assert "Ann left" in done.err
        assert "Traceback" not in done.err

    def test_lines_that_are_piped_in_are_what_the_person_says(self, here: Path) -> None:
        (here / "you.yaml").write_text(
            SLOW.replace("type: scripted/a, script: [Ready., Again.]", "role: user").replace("0.02", "0")
        )
        done = begin("run", "you.yaml", "--out", "here").end("First.\nSecond.")

        assert done.code == 0
        assert [text for speaker, text in transcript("here") if speaker == "Ann"] == ["First.", "Second."]
        assert "[1] Ann: First." in done.out


class TestTerminal:
    def test_a_terminal_gets_a_status_line_and_is_given_back(self, slow: Path) -> None:
        with terminal("run", slow, "--out", "here") as screen:
            screen.read_until("turn 2 of 4")
            assert "\x1b[1;23r" in screen.shown, "the last row does not scroll"
            assert "turn 2 of 4" in screen.shown
            assert "Bob answers" in screen.shown
            assert screen.end() == 0

        given_back = screen.shown.rindex("\x1b[r")
        assert not re.search(r"\x1b\[\d+;\d+r", screen.shown[given_back:])
        assert "turn 4 of 4" not in screen.shown[given_back:]
        assert screen.shown.rstrip().endswith("here")

    def test_ctrl_c_gives_it_back_too(self, slow: Path) -> None:
        with terminal("run", slow, "--out", "here") as screen:
            screen.read_until("turn 2 of 4")
            screen.press(CTRL_C)
            assert screen.end() == 130

        given_back = screen.shown.rindex("\x1b[r")
        assert not re.search(r"\x1b\[\d+;\d+r", screen.shown[given_back:])
        assert "ai-battle resume here" in screen.shown[given_back:]
        assert "Traceback" not in screen.shown

    def test_it_may_change_its_size(self, slow: Path) -> None:
        with terminal("run", slow, "--out", "here") as screen:
            screen.read_until("turn 2 of 4")
            screen.resize(40, 100)
            assert screen.end() == 0

        assert "\x1b[1;39r" in screen.shown
        given_back = screen.shown.rindex("\x1b[r")
        assert "\x1b[40;1H\x1b[2K" in screen.shown[given_back - 20 : given_back]

    @pytest.mark.parametrize(("rows", "columns"), [(1, 1), (0, 0)])
    def test_it_may_be_tiny(self, slow: Path, rows: int, columns: int) -> None:
        with terminal("run", slow, "--out", "here", *AT_ONCE) as screen:
            screen.resize(rows, columns)
            assert screen.end() == 0
            assert "Done (turns)" in " ".join(screen.shown.split())

    def test_on_a_narrow_one_what_was_said_and_how_it_ended_break_between_words(self, slow: Path) -> None:
        assert run("run", slow, "--out", "here", *AT_ONCE).code == 0
        with sized_terminal(30, 36, ["resume", "here"], None) as screen:
            assert screen.end() == 0

        shown = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", STATUS.sub("", screen.shown)).splitlines()]
        assert not [line for line in shown if len(line) > 36]
        assert all(text in " ".join(shown) for _, text in transcript("here")[-3:])
        assert ["cost", "seconds", "tokens"] in map(str.split, shown), "the table goes on below"

    def test_with_json_the_live_view_is_on_the_terminal_and_the_result_in_the_file(self, slow: Path) -> None:
        result = os.open("result.json", os.O_WRONLY | os.O_CREAT)
        with sized_terminal(50, 100, ["run", slow, "--json", *AT_ONCE], result) as screen:
            assert screen.end() == 0

        assert json.loads(Path("result.json").read_text())["turns"] == 4
        assert "\x1b[1;49r" in screen.shown, "the size is that of the terminal"
        assert "turn 4 of 4" in screen.shown

    def test_no_color_takes_the_colours_away(self, slow: Path) -> None:
        """Unless it is empty: then it is as if it were not set."""
        with terminal("run", slow, "--out", "here", *AT_ONCE, NO_COLOR="") as coloured:
            assert coloured.end() == 0
        with terminal("run", slow, "--out", "there", *AT_ONCE, NO_COLOR="1") as plain:
            assert plain.end() == 0

        assert COLOUR.search(coloured.shown)
        assert not COLOUR.search(plain.shown)
        assert "turn 2 of 4" in plain.shown

    def test_a_dumb_terminal_gets_plain_lines(self, slow: Path) -> None:
        with terminal("run", slow, "--out", "here", *AT_ONCE, TERM="dumb") as screen:
            assert screen.end() == 0

        assert "\x1b" not in screen.shown
        assert "[1] Ann: Ready." in screen.shown

    def test_what_a_model_says_cannot_move_the_cursor(self, here: Path) -> None:
        (here / "evil.yaml").write_text(SLOW.replace("Ready.", '"\\e[2J\\e]0;owned\\a\\x9b31mReady."'))
        with terminal("run", "evil.yaml", "--turns", 1, "--out", "here", *AT_ONCE) as screen:
            assert screen.end() == 0

        assert not any(sign in screen.shown for sign in ("\x1b[2J", "\x1b]0;", "\x07", "\x9b"))
        assert "Ready." in screen.shown
