"""Runs that are killed at random moments and taken up again: nothing that was finished is lost or paid for twice."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.conversation.reading import messages, progress, read
from ai_battle.core.events import RunFinished, TurnFinished
from tests.nursery import Nursery

from .nursery import CALLS, HEARD, KINDS

MODULE = "tests.conversation.nursery"
LONGEST = 0.12


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    opened = Nursery(MODULE)
    yield opened
    opened.close()


def lines(run_dir: Path, what: str) -> list[str]:
    path = run_dir.with_name(f"{run_dir.name}.{what}")
    return path.read_text().splitlines() if path.exists() else []


def transcript(run_dir: Path) -> list[tuple[str, str]]:
    return [(message.speaker, message.text) for message in messages(run_dir)]


def finished_turns(run_dir: Path) -> list[str]:
    """As the listener of the run notes them."""
    turns = (event for _, event in read(run_dir) if isinstance(event, TurnFinished))
    return [f"{turn.turn} {turn.message.text}" for turn in turns]


def check_after_kill(run_dir: Path) -> None:
    """The journal can be read at once; every turn that was heard of is in it, and none twice."""
    if not (run_dir / "journal.jsonl").exists():
        return
    kept, heard = finished_turns(run_dir), lines(run_dir, HEARD)
    assert [turn for turn in kept if turn in heard] == heard
    assert len(kept) == len({turn.split()[0] for turn in kept})


def kill_count(nursery: Nursery, run_dir: Path, kind: str, luck: random.Random) -> int:
    """Plays a run to its end, however often it is killed on the way; how often it was."""
    kills = 0
    while True:
        begun = (run_dir / "journal.jsonl").exists() or (run_dir / "config.yaml").exists()
        action = "resume" if begun else "run"
        code = nursery.play(action, run_dir, kind, kill_after=luck.uniform(0, LONGEST) if kills < 30 else None)
        if code == 0:
            return kills
        assert code == -signal.SIGKILL, lines(run_dir, "errors")
        kills += 1
        check_after_kill(run_dir)


def check_transcript(found: list[tuple[str, str]], untouched: list[tuple[str, str]], paid_in_vain: int) -> None:
    """The same words; a reply that was paid for and lost counts against a limit, which may then come a turn earlier."""
    if len(found) == len(untouched) or not paid_in_vain:
        assert found == untouched
        return
    *before, _last_words = found
    assert before == untouched[: len(before)]
    assert len(found) >= len(untouched) - paid_in_vain


def check_crashes(nursery: Nursery, folder: Path, kind: str, kills: int) -> None:
    untouched = folder / "untouched"
    assert nursery.play("run", untouched, kind) == 0
    turns, calls, luck = len(finished_turns(untouched)), len(lines(untouched, CALLS)), random.Random(f"{kind} {kills}")
    suffered = 0
    for n in range(10 * kills):
        if suffered >= kills:
            break
        run_dir = folder / f"killed-{n}"
        now = kill_count(nursery, run_dir, kind, luck)
        suffered += now
        # the calls of a turn, which one kill can make be paid for again; a scripted turn may hold a failed attempt too
        at_once = {"parallel": 3, "deliberating": 7, "scripted": 2}.get(kind, 1)
        check_transcript(transcript(run_dir), transcript(untouched), now if kind == "limited" else 0)
        assert [event for _, event in read(run_dir)][-1].__class__ is RunFinished
        assert len(lines(run_dir, CALLS)) <= calls + now * at_once, f"{turns} turns, {now} kills"
    assert suffered >= kills


@pytest.mark.parametrize("kind", ["plain", "parallel"])
def test_runs_that_are_killed_end_as_if_they_had_not_been(nursery: Nursery, tmp_path: Path, kind: str) -> None:
    check_crashes(nursery, tmp_path, kind, 15 if kind == "plain" else 5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_kills_lose_and_repeat_nothing(nursery: Nursery, tmp_path: Path, kind: str) -> None:
    check_crashes(nursery, tmp_path, kind, 100)


def test_resuming_a_finished_run_changes_nothing_and_calls_no_model(nursery: Nursery, tmp_path: Path) -> None:
    assert nursery.play("run", tmp_path / "run", "plain") == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    assert nursery.play("resume", tmp_path / "run", "plain") == 0
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_second_process_on_a_run_is_refused_while_the_first_goes_on(nursery: Nursery, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    running = nursery.begin("run", run_dir, "plain")
    while not (run_dir / "journal.jsonl").exists():
        time.sleep(0.001)

    assert nursery.play("resume", run_dir, "plain") == 1
    assert f"is in use by process {running.pid} on {os.uname().nodename}" in lines(run_dir, "errors")[0]
    assert running.wait() == 0
    assert progress(run_dir).is_over
