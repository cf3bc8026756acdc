"""What a turn that fails does to a run: an event and a policy, and never a line of the conversation."""

import asyncio
from pathlib import Path

import pytest

from ai_battle import ConversationManager, Participant, RunResult
from ai_battle.conversation.person import PersonClient
from ai_battle.conversation.reading import read
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import AIBattleError
from ai_battle.core.events import (
    Emit,
    Event,
    EventLog,
    RunFinished,
    TextDelta,
    TurnFailed,
    TurnFinished,
    Warned,
    ignore,
)
from ai_battle.core.exchange import ModelRequest, ModelResponse, Stop, Usage
from ai_battle.core.messages import assistant
from ai_battle.providers.scripted import ScriptedClient


class Says(ModelClient):
    """Answers with what was said and why it stopped."""

    def __init__(self, text: str, stop: Stop = "end") -> None:
        self.text, self.stop = text, stop

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return ModelResponse(assistant(self.text), stop=self.stop, usage=Usage(10, 5, cost_usd=0.5), model="says")


class Broken(ModelClient):
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        raise ZeroDivisionError("division by zero")


class Careless(ModelClient):
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return "Yes."  # type: ignore[return-value]


async def run(ada: ModelClient, bob: ModelClient, out: Path, turns: int = 2) -> tuple[RunResult, EventLog]:
    people = [Participant("ada", ada), Participant("bob", bob)]
    manager = ConversationManager(people, goal="Talk.", turns=turns, out=out)
    return await manager.run_discussion(log := EventLog()), log


def failures(log: EventLog) -> list[TurnFailed]:
    return [event for event in log.events if isinstance(event, TurnFailed)]


async def test_a_turn_that_fails_once_is_skipped_and_the_other_never_hears_of_it(tmp_path: Path) -> None:
    bob = ScriptedClient({"say": "Half a", "fail": "cut"}, "Four.")
    ada = ScriptedClient("One.", "Three.")

    result, log = await run(ada, bob, tmp_path / "run")

    assert [message.text for message in result.messages] == ["Talk.", "One.", "Three.", "Four."]
    assert [message.text for message in ada.requests[1].messages] == ["Talk.", "One.", "Please continue."]
    (failure,) = failures(log)
    assert (failure.turn, failure.speaker, failure.policy, failure.partial) == (2, "bob", "skip", "Half a")
    assert result.status == "done"


async def test_two_failures_in_a_row_of_the_same_participant_end_the_run_as_failed(tmp_path: Path) -> None:
    bob = ScriptedClient({"fail": "server_error"}, {"fail": "server_error"}, "Never said.")

    result, log = await run(ScriptedClient("One.", "Three.", "Five."), bob, tmp_path / "run", turns=3)

    assert [failure.policy for failure in failures(log)] == ["skip", "stop"]
    assert (result.status, result.turns) == ("failed", 2)
    assert result.stop_reason.startswith("bob: scripted: the server failed")


async def test_a_success_in_between_starts_the_count_anew(tmp_path: Path) -> None:
    bob = ScriptedClient({"fail": "server_error"}, "Fine.", {"fail": "server_error"}, "Fine again.")

    result, log = await run(ScriptedClient("One.", loop=True), bob, tmp_path / "run", turns=4)

    assert [failure.policy for failure in failures(log)] == ["skip", "skip"]
    assert result.status == "done"


@pytest.mark.parametrize("fault", ["unauthorized", "not_found"])
async def test_what_no_retry_can_mend_stops_the_run_at_once(fault: str, tmp_path: Path) -> None:
    result, log = await run(ScriptedClient({"fail": fault}), ScriptedClient("Hm."), tmp_path / "run")

    assert [failure.policy for failure in failures(log)] == ["stop"]
    assert result.status == "failed"


async def test_a_script_that_is_used_up_stops_the_run_where_it_can_go_on(tmp_path: Path) -> None:
    result, log = await run(ScriptedClient("One.", loop=True), ScriptedClient("Two."), tmp_path / "run")

    assert [failure.policy for failure in failures(log)] == ["stop"]
    assert (result.status, result.turns) == ("failed", 3)
    assert "used up (entries: 1)" in result.stop_reason


async def test_a_server_that_was_never_there_stops_the_run_before_others_spend_on_it(tmp_path: Path) -> None:
    result, log = await run(ScriptedClient("One."), ScriptedClient({"fail": "unreachable"}), tmp_path / "run")

    assert [failure.policy for failure in failures(log)] == ["stop"]
    assert (result.status, result.turns) == ("failed", 1)


async def test_a_server_that_goes_away_later_is_waited_for_one_more_turn(tmp_path: Path) -> None:
    bob = ScriptedClient("Two.", {"fail": "unreachable"}, "Six.")

    result, log = await run(ScriptedClient("One.", loop=True), bob, tmp_path / "run", turns=3)

    assert [failure.policy for failure in failures(log)] == ["skip"]
    assert result.status == "done"


@pytest.mark.parametrize(("text", "stop"), [("I can't help with that.", "refusal"), ("", "end"), (" \n", "length")])
async def test_a_refusal_and_an_empty_answer_are_failures_that_are_paid_for(
    text: str, stop: Stop, tmp_path: Path
) -> None:
    bob = ScriptedClient("Two.", "Four.")

    result, log = await run(Says(text, stop), bob, tmp_path / "run")

    assert [failure.policy for failure in failures(log)] == ["skip", "stop"]
    assert text.strip() == failures(log)[0].partial.strip()
    assert all("help with that" not in message.text for request in bob.requests for message in request.messages)
    assert result.status == "failed"
    assert result.usage.cost_usd == pytest.approx(1.0)


@pytest.mark.parametrize("stop", ["length", "content_filter"])
async def test_an_answer_that_was_cut_is_kept_and_marked(stop: Stop, tmp_path: Path) -> None:
    result, log = await run(Says("And then", stop), Says("Yes."), tmp_path / "run", turns=1)

    finished = [event for event in log.events if isinstance(event, TurnFinished) and event.speaker == "ada"]
    assert [(event.message.text, event.stop) for event in finished] == [("And then", stop)]
    assert result.status == "done"


async def test_a_call_that_nothing_runs_is_left_out_and_the_text_beside_it_is_heard(tmp_path: Path) -> None:
    bob = ScriptedClient("Two.", loop=True)

    result, log = await run(ScriptedClient({"say": "One.", "call": {"tool": "dice"}}, "Three."), bob, tmp_path / "run")

    assert not any(message.tool_calls for message in result.messages)
    assert "One." in bob.requests[0].messages[-1].text
    assert any("ada called dice without having tools" in e.message for e in log.events if isinstance(e, Warned))


async def test_a_client_that_returns_no_response_is_told_what_it_returned(tmp_path: Path) -> None:
    _, log = await run(Careless(), Says("Yes."), tmp_path / "run")

    assert "The client of ada failed: TypeError: it answered with a str instead of" in failures(log)[0].error


async def test_a_client_that_raises_something_foreign_is_a_failure_like_any_other(tmp_path: Path) -> None:
    result, log = await run(Broken(), Says("Yes."), tmp_path / "run")

    assert "The client of ada failed: ZeroDivisionError: division by zero" in failures(log)[0].error
    assert result.status == "failed"


async def test_a_listener_that_fails_is_told_of_once_and_ends_nothing(tmp_path: Path) -> None:
    heard: list[Event] = []

    async def listener(event: Event) -> None:
        heard.append(event)
        if isinstance(event, TextDelta):
            raise ValueError("no paper left")

    people = [Participant("ada", Says("One.")), Participant("bob", ScriptedClient("Two words.", "And two."))]
    result = await ConversationManager(people, goal="Talk.", turns=2, out=tmp_path / "run").run_discussion(listener)

    assert result.status == "done"
    assert sum(isinstance(event, TextDelta) for event in heard) == 4
    warnings = [event.message for _, event in read(result.run_dir) if isinstance(event, Warned)]
    assert len(warnings) == 1
    assert "ValueError: no paper left" in warnings[0]


async def test_an_error_of_our_own_tree_from_a_listener_ends_nothing_either(tmp_path: Path) -> None:
    async def listener(event: Event) -> None:
        raise AIBattleError("no")

    people = [Participant("ada", Says("One.")), Participant("bob", Says("Two."))]

    assert (await ConversationManager(people, goal="Talk.", out=tmp_path / "run").run_discussion(listener)).turns == 6


async def test_cancelling_keeps_what_was_said_of_the_turn_and_the_run_can_go_on(tmp_path: Path) -> None:
    slow = ScriptedClient("Two and a half words", pace=0.02)
    people = [Participant("ada", ScriptedClient("One.", "Three.")), Participant("bob", slow)]
    manager = ConversationManager(people, goal="Talk.", turns=1, out=tmp_path / "run")
    enough = asyncio.Event()

    async def listener(event: Event) -> None:
        if isinstance(event, TextDelta) and event.text.startswith("and"):
            enough.set()

    task = asyncio.create_task(manager.run_discussion(listener))
    await enough.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    events = [event for _, event in read(tmp_path / "run")]
    assert isinstance(events[-2], TurnFailed)
    assert (events[-2].policy, events[-2].partial) == ("stop", "Two and ")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].status == "interrupted"

    again = [Participant("ada", ScriptedClient()), Participant("bob", ScriptedClient("Two."))]
    result = await ConversationManager(again, goal="Talk.", turns=1).resume(tmp_path / "run")
    assert [message.text for message in result.messages] == ["Talk.", "One.", "Two."]
    assert result.status == "done"


async def test_a_run_in_which_nobody_answered_has_failed_and_goes_on_with_its_last_turn(tmp_path: Path) -> None:
    down = {"say": "Half", "fail": "cut"}
    result, log = await run(ScriptedClient(down), ScriptedClient(down), tmp_path / "run", turns=1)

    assert (result.status, result.turns) == ("failed", 0)
    assert result.stop_reason == "bob: scripted: the answer was cut off"
    assert [event.policy for event in failures(log)] == ["skip", "stop"]

    people = [Participant("ada", ScriptedClient("I too.")), Participant("bob", ScriptedClient("Here I am."))]
    result = await ConversationManager(people, goal="Talk.", turns=1).resume(tmp_path / "run")
    assert (result.status, [message.text for message in result.messages]) == ("done", ["Talk.", "Here I am.", "I too."])


async def test_a_run_in_which_everybody_let_the_turn_pass_has_failed_too(tmp_path: Path) -> None:
    async def silent(prompt: str) -> str:
        return ""

    people = [Participant(name, PersonClient(name, silent), role="user") for name in ("ada", "bob")]
    result = await ConversationManager(people, goal="Talk.", turns=1, out=tmp_path / "run").run_discussion()

    assert (result.status, result.stop_reason) == (
        "failed",
        "nobody answered; the last to fail was bob: bob let the turn pass.",
    )
