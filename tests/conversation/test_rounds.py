"""Rounds in which all answer at once, and what is kept of one that ends early."""

import asyncio
from pathlib import Path

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.conversation.person import PersonClient
from ai_battle.conversation.reading import read
from ai_battle.core.client import ModelClient
from ai_battle.core.events import (
    AttemptFailed,
    Emit,
    Event,
    ModelReplied,
    RunFinished,
    TextDelta,
    TurnFailed,
    TurnFinished,
    ignore,
)
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.messages import assistant
from ai_battle.providers.scripted import ScriptedClient

USAGE = Usage(10, 5, cost_usd=0.5)


class Prompt(ModelClient):
    """Answers at once, at the second attempt."""

    def __init__(self, *says: str) -> None:
        self.says = [*says]
        self.asked: list[str] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        text = self.says.pop(0)
        self.asked.append(request.messages[-1].text)
        await emit(AttemptFailed("prompt", 1, "cut off", 0.1, partial="wro"))
        await emit(TextDelta(text))
        await emit(ModelReplied("prompt", USAGE, 0.1))
        return ModelResponse(assistant(text), usage=USAGE, model="prompt")


class Endless(ModelClient):
    """Begins, says so, and never comes to an end."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await emit(TextDelta("Half an "))
        await emit(TextDelta("answer"))
        await asyncio.sleep(0.05)
        self.began.set()
        await asyncio.Event().wait()
        raise AssertionError("nothing ends this")


def manager(ada: ModelClient, bob: ModelClient, cleo: ModelClient, out: Path | None = None) -> ConversationManager:
    people = [Participant(name, client) for name, client in (("ada", ada), ("bob", bob), ("cleo", cleo))]
    return ConversationManager(people, goal="Talk.", turns=1, parallel=True, out=out)


def journal_events(run_dir: Path) -> list[Event]:
    return [event for _, event in read(run_dir)]


async def interrupt_round(run_dir: Path) -> list[Event]:
    """Ada and Cleo have answered, Bob is in the middle of it."""
    bob = Endless()
    running = asyncio.create_task(manager(Prompt("One."), bob, Prompt("Three."), run_dir).run_discussion())
    await bob.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return journal_events(run_dir)


async def test_a_round_that_is_interrupted_keeps_what_was_said_and_what_it_cost(tmp_path: Path) -> None:
    events = await interrupt_round(tmp_path / "run")

    assert [e.speaker for e in events if isinstance(e, TurnFinished)] == ["ada"]
    failures = {e.speaker: e for e in events if isinstance(e, TurnFailed)}
    assert {name: (e.policy, e.partial) for name, e in failures.items()} == {
        "bob": ("stop", "Half an answer"),
        "cleo": ("stop", "Three."),
    }
    assert [e.speaker for e in events if isinstance(e, AttemptFailed)] == ["ada", "cleo"]
    assert [e.speaker for e in events if isinstance(e, ModelReplied)] == ["ada", "cleo"]
    end = events[-1]
    assert isinstance(end, RunFinished)
    assert (end.status, end.turns, end.usage.cost_usd) == ("interrupted", 1, 1.0)


async def test_an_interrupted_round_is_completed_by_those_who_are_missing(tmp_path: Path) -> None:
    await interrupt_round(tmp_path / "run")
    ada, bob, cleo = Prompt(), Prompt("Two."), Prompt("Three again.")

    result = await manager(ada, bob, cleo).resume(tmp_path / "run")

    assert [m.text for m in result.messages] == ["Talk.", "One.", "Two.", "Three again."]
    assert bob.asked == cleo.asked == ["Talk."], "they answer the same history as Ada did"
    assert (result.status, result.usage.cost_usd) == ("done", 2.0)


async def test_answers_are_journalled_in_order_as_soon_as_they_can_be(tmp_path: Path) -> None:
    """Whoever is slow holds up those that come after, and nobody else."""
    heard: list[str] = []
    bob = Endless()

    async def listen(event: Event) -> None:
        if isinstance(event, TurnFinished):
            heard.append(event.speaker)

    asked = manager(Prompt("One."), bob, Prompt("Three."), tmp_path / "run").run_discussion(listen)
    running = asyncio.create_task(asked)
    await bob.began.wait()
    assert heard == ["ada"]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_the_first_of_a_round_is_heard_while_it_answers(tmp_path: Path) -> None:
    heard: list[str] = []
    are_heard = asyncio.Event()

    async def listen(event: Event) -> None:
        if isinstance(event, TextDelta):
            heard.append(event.text)
            if event.text == "answer":
                are_heard.set()

    asked = manager(Endless(), Prompt("Two."), Prompt("Three."), tmp_path / "run").run_discussion(listen)
    running = asyncio.create_task(asked)
    await are_heard.wait()
    assert heard == ["Half an ", "answer"], "the others are not heard before their turn"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    failures = {e.speaker: e.partial for e in journal_events(tmp_path / "run") if isinstance(e, TurnFailed)}
    assert failures == {"ada": "Half an answer", "bob": "Two.", "cleo": "Three."}


async def test_a_round_that_one_of_them_ends_keeps_what_the_others_cost(tmp_path: Path) -> None:
    ada = ScriptedClient({"fail": "unauthorized"})

    result = await manager(ada, Endless(), Prompt("Three."), tmp_path / "run").run_discussion()

    assert (result.status, result.usage.cost_usd) == ("failed", 0.5)
    partial = {e.speaker: e.partial for e in journal_events(tmp_path / "run") if isinstance(e, TurnFailed)}
    assert partial == {"ada": "", "bob": "Half an answer", "cleo": "Three."}


async def test_when_a_person_has_left_the_others_still_answer_together(tmp_path: Path) -> None:
    async def leaves(prompt: str) -> None:
        return None

    bots = {name: ScriptedClient("Hm.", loop=True) for name in ("ada", "bob")}
    people = [Participant(name, client) for name, client in bots.items()]
    people.append(Participant("you", PersonClient("you", leaves), role="user"))

    await ConversationManager(people, goal="Talk.", turns=3, parallel=True, out=tmp_path / "run").run_discussion()

    asked = [[len(request.messages) for request in client.requests] for client in bots.values()]
    assert asked[0] == asked[1] == [1, 3, 5], "once in each of the three rounds"
