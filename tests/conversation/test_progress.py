"""How far a run has come, as its journal tells it."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ai_battle.conversation.journal import Journal
from ai_battle.conversation.reading import Progress, progress
from ai_battle.core.events import (
    Event,
    PromptGiven,
    RunFinished,
    RunResumed,
    RunStarted,
    ScriptAdvanced,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnStarted,
)
from ai_battle.core.exchange import NOTHING_USED, Usage
from ai_battle.core.messages import user

from .runs import turn

STARTED = RunStarted("debate", "run", {"ann": "scripted", "bob": "scripted"}, {"config": "a: 1", "config_digest": "d1"})
USAGE = Usage(10, 5, cost_usd=0.01)


def script_use(speaker: str, position: int) -> ScriptAdvanced:
    return ScriptAdvanced(position, speaker)


def turn_events(number: int, speaker: str, *on_the_way: Event) -> tuple[Event, ...]:
    return (TurnStarted(number, (number + 1) // 2, speaker), *on_the_way, turn(number, speaker, f"turn {number}"))


async def after(run_dir: Path, *events: Event | Iterable[Event]) -> Progress:
    journal = Journal.create(run_dir)
    for event in events:
        for each in event if isinstance(event, Iterable) else (event,):
            await journal(each)
    await journal.close()
    return progress(run_dir)


async def test_a_run_in_the_middle(tmp_path: Path) -> None:
    """The turn in flight and what its models said do not count: it will be played again."""
    found = await after(
        tmp_path,
        STARTED,
        turn_events(1, "ann", script_use("ann", 1)),
        turn_events(2, "bob", script_use("bob", 1), script_use("bob", 2)),
        turn_events(3, "ann", script_use("ann", 2)),
        TurnStarted(4, 2, "bob"),
        script_use("bob", 3),
        script_use("bob", 4),
    )

    assert found.turn == 3
    assert found.positions == {"ann": 2, "bob": 2}
    assert (found.started, found.config_digest, found.is_over) == (STARTED, "d1", False)


async def test_an_answer_that_used_no_entry_leaves_the_script_where_it_is(tmp_path: Path) -> None:
    found = await after(tmp_path, STARTED, turn_events(1, "ann", script_use("ann", 1)), turn_events(2, "ann"))
    assert found.positions == {"ann": 1}


async def test_a_selectors_entries_count_once_its_choice_is_known(tmp_path: Path) -> None:
    chosen = SpeakerSelected("ann", "chosen")
    found = await after(
        tmp_path,
        STARTED,
        script_use("mod", 1),
        chosen,
        turn_events(1, "ann", script_use("ann", 1)),
        script_use("mod", 2),
    )
    assert found.positions == {"mod": 1, "ann": 1}


async def test_the_prompt_is_no_turn(tmp_path: Path) -> None:
    found = await after(tmp_path, STARTED, PromptGiven(user("Discuss.")), turn_events(1, "ann", script_use("ann", 1)))
    assert (found.turn, found.positions) == (1, {"ann": 1})


async def test_of_turns_at_the_same_time_only_the_finished_count(tmp_path: Path) -> None:
    begun = (TurnStarted(1, 1, "ann"), TurnStarted(2, 1, "bob"))
    found = await after(tmp_path, STARTED, begun, script_use("bob", 1), script_use("ann", 1), turn(1, "ann", "Hello."))
    assert found.positions == {"ann": 1}


async def test_after_a_resume_the_turn_that_was_cut_off_counts_once(tmp_path: Path) -> None:
    cut_off = (TurnStarted(2, 1, "bob"), script_use("bob", 1))
    again = (RunResumed(1, 1), turn_events(2, "bob", script_use("bob", 1)))
    found = await after(tmp_path, STARTED, turn_events(1, "ann", script_use("ann", 1)), cut_off, *again)
    assert found.positions == {"ann": 1, "bob": 1}
    assert found.turn == 2


async def test_a_summary_is_not_made_again(tmp_path: Path) -> None:
    summary = Summarised(1, "They greeted each other.", USAGE, "scripted")
    first = turn_events(1, "ann", script_use("ann", 1))
    found = await after(tmp_path, STARTED, first, script_use("ann", 2), summary, script_use("ann", 3))
    assert found.positions == {"ann": 2}


async def test_a_skipped_turn_is_over_and_one_that_stopped_the_run_is_not(tmp_path: Path) -> None:
    skipped = TurnFailed(2, 1, "bob", "no connection", "skip", USAGE)
    stopped = TurnFailed(3, 2, "ann", "no connection", "stop", USAGE)
    first = turn_events(1, "ann", script_use("ann", 1))
    lost = (
        TurnStarted(2, 1, "bob"),
        script_use("bob", 1),
        skipped,
        TurnStarted(3, 2, "ann"),
        script_use("ann", 2),
        stopped,
    )
    found = await after(tmp_path, STARTED, first, lost, RunFinished("failed", "ann", 2, USAGE))

    assert found.turn == 2
    assert found.positions == {"ann": 1, "bob": 1}
    assert not found.is_over


@pytest.mark.parametrize(
    ("status", "finished"), [("done", True), ("limit", True), ("failed", False), ("interrupted", False)]
)
async def test_a_run_that_failed_or_was_interrupted_can_be_gone_on_with(
    tmp_path: Path, status: Any, finished: bool
) -> None:
    found = await after(tmp_path, STARTED, turn_events(1, "ann"), RunFinished(status, "", 1, NOTHING_USED))
    assert found.is_over is finished


async def test_settings_that_were_accepted_later_are_the_ones_that_hold(tmp_path: Path) -> None:
    found = await after(tmp_path, STARTED, RunResumed(0, 1, {"config_digest": "d2"}), RunResumed(0, 2))
    assert found.config_digest == "d2"


@pytest.mark.slow
async def test_reading_a_long_run_takes_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    """Ten thousand turns with summaries: 20 MB of journal, read in a process that may only grow by a few."""
    path = tmp_path / "journal.jsonl"
    await after(tmp_path, STARTED, turn_events(1, "ann"), Summarised(1, "So far.", USAGE))
    first, *rest = path.read_bytes().replace(b'"content":"turn 1"', b'"content":"%s"' % (b"x" * 2_000)).splitlines()
    with path.open("wb") as file:
        file.write(first + b"\n")
        for number in range(10_000 * len(rest)):
            line = rest[number % len(rest)]
            file.write(re.sub(rb'"seq":\d+', b'"seq":%d' % (number + 1), line, count=1) + b"\n")

    script = """
        import resource, sys; from pathlib import Path
        from ai_battle.conversation.reading import progress, read
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before = peak()
        found, lines = progress(Path(sys.argv[1])), sum(1 for _ in read(Path(sys.argv[1])))
        assert found.turn == 1 and lines > 10_000
        print(peak() - before)
    """
    grown = subprocess.check_output([sys.executable, "-c", textwrap.dedent(script), tmp_path], text=True)  # noqa: ASYNC221
    assert int(grown) < 4_000, "kilobytes; on macOS bytes"
