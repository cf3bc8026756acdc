"""Runs that are killed while a tool runs: when they are resumed, no call that may write is run again."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.conversation.context import UnfinishedCalls
from ai_battle.conversation.reading import progress, read
from ai_battle.conversation.replay import find_turn, request_of
from ai_battle.conversation.run_config import plan_of
from ai_battle.core.events import Event, EventLog, TurnFinished, TurnStarted, Warned
from ai_battle.core.helping import HelpAsked
from ai_battle.core.messages import Text, ToolCall, ToolResult
from ai_battle.core.tooling import UNKNOWN_OUTCOME, ToolCalled, ToolReturned
from tests.nursery import Nursery

from .nursery import PAY, PAYING, SLOW, paying
from .purse import KILLS, PAID


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    opened = Nursery("tests.conversation.nursery")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def play(nursery: Nursery, kind: str, *kills: str) -> list[Event]:
    """Plays a run to its end, with a kill in each of these calls, and returns its events."""
    KILLS.write_text(" ".join(kills))
    codes = [nursery.play("run" if number == 0 else "resume", "run", kind) for number in range(len(kills) + 1)]
    assert codes == [-signal.SIGKILL] * len(kills) + [0], Path("run.errors").read_text() if 70 not in codes else codes
    assert progress(Path("run")).is_over
    return [event for _, event in read(Path("run"))]


def warnings(events: list[Event]) -> str:
    return "\n".join(event.message for event in events if isinstance(event, Warned))


def results(events: list[Event], speaker: str) -> list[str]:
    """The results of tools that led to the answer of a participant."""
    turns = [event for event in events if isinstance(event, TurnFinished) and event.speaker == speaker]
    return [result.text for turn in turns for step in turn.steps for result in step.tool_results]


@pytest.mark.parametrize("kind", [*PAYING, pytest.param("of a server", marks=pytest.mark.slow)])
def test_a_call_that_may_write_is_not_run_again_when_a_kill_hid_its_outcome(nursery: Nursery, kind: str) -> None:
    events = play(nursery, kind, "ann")

    assert PAID.read_text().splitlines().count("ann") == 1
    assert 'pay {"to": "ann"}: whether that took effect is unknown. ann is told' in warnings(events)
    assert "The outcome is unknown" in json.loads(results(events, "ann")[0])["error"]


@pytest.mark.parametrize("kind", ["rounds", "rounds in parallel"])
def test_neither_are_calls_that_were_hidden_by_the_kills_of_several_resumes(nursery: Nursery, kind: str) -> None:
    events = play(nursery, kind, "ann", "eve", "usd")

    payments = [line for line in PAID.read_text().splitlines() if line != "usd"]
    assert sorted({*payments} | {"bob"}) == ["ann", "bob", "eve"]  # bob may have been about to pay when ann was killed
    assert len(payments) == len({*payments})
    assert "rate was interrupted; as it only reads, it is run again." in warnings(events)
    assert [("unknown" in text, "1.08" in text) for text in results(events, "ann")] == [
        (True, False), (True, False), (False, True)
    ]  # fmt: skip


def test_the_result_of_a_call_that_had_returned_before_the_kill_is_kept(nursery: Nursery) -> None:
    events = play(nursery, "rounds", "usd")

    assert PAID.read_text().splitlines() == ["ann", "eve", "usd", "usd", "bob"]
    ann, *others = results(events, "ann")
    assert ann.startswith('{"result": "ann was paid"}')
    assert ann.endswith("Make the call once more only if it has to take effect a second time.")  # as eve was paid since
    assert others == ['{"result": "eve was paid"}', '{"result": "1.08"}']
    assert "during pay" not in warnings(events)


def test_a_model_that_chooses_other_words_is_told_what_it_had_done(nursery: Nursery) -> None:
    events = play(nursery, "wordy", "ann")

    (told,) = [turn.message.text for turn in events if isinstance(turn, TurnFinished) and turn.speaker == "ann"]
    assert '- pay {"to": "ann", "memo": "' in told
    assert "was cut off while it ran: its outcome is unknown." in told


def test_the_request_that_is_shown_of_a_turn_tells_of_its_earlier_calls(nursery: Nursery) -> None:
    play(nursery, "native", "ann")

    plan, _ = plan_of(Path("run"))
    first, second = (request_of(Path("run"), plan, find_turn(Path("run"), number)) for number in (1, 2))
    assert "its outcome is unknown" in first.messages[-1].text
    assert "broken off" not in second.messages[-1].text


async def test_a_call_that_was_interrupted_by_hand_is_not_run_again_either() -> None:
    """Of an interrupt the journal has the end of the turn, and of the run."""
    KILLS.write_text("")
    begun = asyncio.Event()

    async def listen(event: Event) -> None:
        if isinstance(event, ToolCalled):
            begun.set()

    running = asyncio.ensure_future(paying(Path("run"), SLOW, "I have paid.", "I have paid.").run_discussion(listen))
    await begun.wait()
    running.cancel()
    await asyncio.wait([running])
    log = EventLog()
    await paying(Path("run"), SLOW, "I have paid.").resume("run", log)

    assert 'pay_slowly {"to": "ann"}: whether that took effect is unknown' in warnings(log.events)
    assert "The outcome is unknown" in results(log.events, "ann")[0]


async def test_a_question_to_an_advisor_that_was_cut_off_is_asked_again_and_is_no_call_of_unknown_outcome() -> None:
    ask = {"call": {"tool": "advisor", "parameters": {"question": "How?"}}}
    asked = asyncio.Event()

    async def listen(event: Event) -> None:
        if isinstance(event, HelpAsked):
            asked.set()

    def manager(*script: Any) -> ConversationManager:
        models = {
            "ann": {"type": "scripted", "script": list(script)},
            "large": {"type": "scripted", "script": [{"say": "Count on your fingers.", "delay": 1}]},
        }
        pairs = [{"primary": "ann", "secondary": "large", "strategy": "advisor"}]
        settings = {"goal": "Count to 3.", "models": models, "turns": 1, "collaboration": {"pairs": pairs}}
        return ConversationManager.from_config({"discussion": settings}, out="run")

    running = asyncio.ensure_future(manager(ask, "1, 2, 3.").run_discussion(listen))
    await asked.wait()
    running.cancel()
    await asyncio.wait([running])
    log = EventLog()
    await manager(ask, "1, 2, 3.").resume("run", log)

    assert "took effect" not in warnings(log.events)


def test_help_that_is_asked_after_a_call_was_given_up_does_not_hide_it() -> None:
    """A strategy asks for help between the drafts of a turn, and an advisor in the place of a tool."""
    calls, paid = UnfinishedCalls(), ToolCall("pay", {"to": "ann"}, "1")
    given_up = ToolResult(paid, (Text(UNKNOWN_OUTCOME),), is_error=True)
    for event in (TurnStarted(1, 1, "ann"), ToolCalled(paid), ToolReturned(given_up, 0.1), HelpAsked("rescue", "late")):
        calls.apply(event)

    (warned,) = calls.warnings()
    assert 'pay {"to": "ann"}: whether that took effect is unknown' in warned.message


async def test_a_participant_whose_turn_was_skipped_knows_what_it_had_done() -> None:
    KILLS.write_text("")
    log = EventLog()
    answers = (PAY, {"fail": "refused"}, PAY, "I have paid.")
    await paying(Path("run"), *answers, turns=2).run_discussion(log)

    assert PAID.read_text().splitlines().count("ann") == 1
    (told,) = results(log.events, "ann")
    assert told.startswith('{"result": "ann was paid"}')
    assert "it was not run again" in told


async def test_a_fork_is_warned_of_what_later_turns_did() -> None:
    KILLS.write_text("")
    await paying(Path("run")).run_discussion()
    log, later = EventLog(), EventLog()
    await paying(Path("fork")).fork("run", 1, log)
    await paying(Path("later"), turns=2).fork("run", 2, later)

    told = "The forked run called pay in later turns: what that did stays done, and the fork may do it again."
    assert told in warnings(log.events)
    assert told not in warnings(later.events)
