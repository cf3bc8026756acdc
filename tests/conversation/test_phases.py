"""Formats as data: who speaks in which phase, what they are told, and who hears what is said."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager, ConfigError, ConversationManager, Participant
from ai_battle.conversation.person import PersonClient
from ai_battle.conversation.plan import Phase, Plan
from ai_battle.conversation.prompting import prompt
from ai_battle.conversation.replay import request_of
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, EventLog, PhaseStarted, Summarised, TurnFinished, Warned, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, estimate_text
from ai_battle.core.messages import Image, Message, assistant
from ai_battle.reporting.exports import export

NAMES = ("Ann", "Bob", "Eve")


class Talker(ModelClient):
    """Says its name and a number; asked for a summary, it names all that it was shown."""

    def __init__(self, name: str, length: int = 0, first: int = 1) -> None:
        self.name = name
        self.requests: list[str] = []
        self._numbers = count(first)
        self._filler = " and so on" * length

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        asked = "\n".join((request.system, *(message.text for message in request.messages)))
        self.requests.append(asked)
        if request.system == prompt("summariser"):
            return ModelResponse(assistant(" ".join(re.findall(r"<\w+ \d+>", asked))), model="talker")
        return ModelResponse(assistant(f"<{self.name} {next(self._numbers)}>{self._filler}"), model="talker")


def talkers(length: int = 0, first: int = 1) -> dict[str, Talker]:
    return {name: Talker(name, length, first) for name in NAMES}


def discussion(clients: Mapping[str, Talker], out: Path, phases: Sequence[Any] = (), **settings: Any) -> Any:
    participants = [Participant(name, client) for name, client in clients.items()]
    return ConversationManager(participants, goal="Talk.", out=out, phases=phases, **settings)


def take_part(clients: Mapping[str, Talker], out: Path, phases: Sequence[Any] = (), **settings: Any) -> EventLog:
    log = EventLog()
    asyncio.run(discussion(clients, out, phases, **settings).run_discussion(log))
    return log


def speakers(log: EventLog) -> list[str]:
    return [event.speaker for event in log.events if isinstance(event, TurnFinished)]


def test_each_phase_has_its_speakers_in_its_order(tmp_path: Path) -> None:
    duel = {"name": "duel", "rounds": 2, "speakers": ["Eve", "Ann"]}
    log = take_part(talkers(), tmp_path / "run", [{"name": "opening"}, duel])

    assert speakers(log) == ["Ann", "Bob", "Eve", "Eve", "Ann", "Eve", "Ann"]
    phases = [(event.number, event.of, event.name) for event in log.events if isinstance(event, PhaseStarted)]
    assert phases == [(1, 2, "opening"), (2, 2, "duel")]
    assert [event.round for event in log.events if isinstance(event, TurnFinished)] == [1, 1, 1, 2, 2, 3, 3]


def test_instructions_stand_at_the_end_of_requests_of_their_phase_only(tmp_path: Path) -> None:
    clients = talkers()
    asks = {
        "name": "asks",
        "rounds": 2,
        "speakers": ["Bob"],
        "instructions": "$name, challenge $round on: $goal $5 each",
    }
    take_part(clients, tmp_path / "run", [{"name": "opening"}, asks, {"name": "end"}], outcome="Sum up.")

    first, second, third, *_ = clients["Bob"].requests
    assert "challenge" not in first
    assert second.endswith("\n\n# asks\nBob, challenge 1 on: Talk. $5 each")
    assert third.endswith("\n\n# asks\nBob, challenge 2 on: Talk. $5 each")
    assert not any("challenge 2" in request for request in (*clients["Ann"].requests, *clients["Eve"].requests))
    assert not any("challenge" in request for request in clients["Bob"].requests[3:])


def test_in_a_parallel_phase_nobody_hears_the_others_of_the_round(tmp_path: Path) -> None:
    clients = talkers()
    take_part(clients, tmp_path / "run", [{"name": "vote", "parallel": True}, {"name": "talk"}])

    assert not any("<" in client.requests[0] for client in clients.values())
    assert all("<Ann 1>" in client.requests[1] and "<Eve 1>" in client.requests[1] for client in clients.values())


def test_private_words_reach_those_whom_the_phase_names(tmp_path: Path) -> None:
    clients = talkers()
    whisper = Phase("whisper", visible_to=("Eve",))
    take_part(clients, tmp_path / "run", [whisper, Phase("group", visible_to=(("Ann", "Bob"),)), Phase("open")])

    heard = {name: client.requests[-1] for name, client in clients.items()}
    assert [name for name in NAMES if "<Ann 1>" in heard[name]] == ["Ann", "Eve"]
    assert [name for name in NAMES if "<Ann 2>" in heard[name]] == ["Ann", "Bob"]
    assert [name for name in NAMES if "<Eve 2>" in heard[name]] == ["Eve"]
    assert "<Ann 3>" in heard["Bob"]
    assert "<Ann 3>" in heard["Eve"]


def test_the_table_says_whom_a_listener_hears(tmp_path: Path) -> None:
    clients = talkers()
    take_part(clients, tmp_path / "run", turns=2, visibility={"Ann": ["Eve"], "Bob": []})

    assert "<Eve 1>" in clients["Ann"].requests[1]
    assert "<Bob" not in clients["Ann"].requests[1]
    assert "<Ann" not in clients["Bob"].requests[1]
    assert "<Eve" not in clients["Bob"].requests[1]
    assert "<Bob 1>" in clients["Eve"].requests[1]


def test_a_secret_is_told_to_its_owner_only(tmp_path: Path) -> None:
    clients = talkers()
    participants = [Participant(name, client, secret=f"[{name} wants it]") for name, client in clients.items()]
    asyncio.run(ConversationManager(participants, goal="Talk.", out=tmp_path / "run").run_discussion())

    for name, client in clients.items():
        assert all(f"[{name} wants it]" in request for request in client.requests)
        assert not any(f"[{other} wants it]" in r for other in NAMES if other != name for r in client.requests)


def test_summaries_are_made_for_each_group_of_those_who_heard_the_same(tmp_path: Path) -> None:
    clients = talkers(length=120)
    phases = [Phase("group", visible_to=(("Ann", "Bob"),)), Phase("open", rounds=10)]
    log = take_part(clients, tmp_path / "run", phases, max_conversation_tokens=900)

    summaries = [event for event in log.events if isinstance(event, Summarised)]
    assert {event.listeners for event in summaries} == {("Ann", "Bob"), ("Eve",)}
    assert any("<Ann 1>" in event.text for event in summaries)
    assert not any("<Ann 1>" in request or "<Bob 1>" in request for request in clients["Eve"].requests)
    assert not any("<Eve 1>" in request for name in ("Ann", "Bob") for request in clients[name].requests)


def test_those_who_heard_something_else_before_share_no_later_summary(tmp_path: Path) -> None:
    clients = talkers(length=120)
    phases = [Phase("alone", visible_to=()), Phase("open", rounds=10, parallel=True)]
    log = take_part(clients, tmp_path / "run", phases, max_conversation_tokens=1800)

    assert any(event.through > 6 for event in log.events if isinstance(event, Summarised))
    for name, client in clients.items():
        assert any(f"<{name} 1>" in request for request in client.requests[3:])
        assert not any(f"<{other} 1>" in request for other in NAMES if other != name for request in client.requests)


def test_a_run_is_resumed_in_the_middle_of_a_phase_with_its_privacy(tmp_path: Path) -> None:
    phases = [{"name": "whisper", "rounds": 2, "visible_to": ["Eve"]}, {"name": "open"}]
    whole, broken = talkers(), talkers()
    take_part(whole, tmp_path / "whole", phases)

    async def interrupt(event: Any) -> None:
        if isinstance(event, TurnFinished) and event.turn == 4:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(discussion(broken, tmp_path / "broken", phases).run_discussion(interrupt))
    asyncio.run(discussion(broken, tmp_path / "broken", phases).resume(tmp_path / "broken"))

    assert {name: client.requests for name, client in broken.items()} == {n: c.requests for n, c in whole.items()}
    assert _phases_in(tmp_path / "broken") == _phases_in(tmp_path / "whole") == ["whisper", "open"]


def test_what_was_private_stays_so_when_a_fork_changes_the_phases(tmp_path: Path) -> None:
    take_part(talkers(), tmp_path / "run", [Phase("whisper", visible_to=("Eve",)), Phase("open")])
    clients = talkers(first=10)
    again = discussion(clients, tmp_path / "fork", [Phase("all", rounds=2)])
    asyncio.run(again.fork(tmp_path / "run", 3))

    assert "<Ann 1>" in clients["Eve"].requests[0]
    assert not any("<Ann 1>" in request for request in clients["Bob"].requests)


def test_turns_and_phases_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="turns can't be combined with phases"):
        discussion(talkers(), tmp_path / "run", [Phase("all")], turns=3)


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ({"name": "x", "speakers": ["Evee"]}, "'Evee'; did you mean 'Eve'"),
        ({"name": "x", "rounds": 0}, "needs 1 or more"),
        ({"name": "x", "visible_to": [["Ann", "Bop"]]}, "'Bop'; did you mean 'Bob'"),
        ({"name": "x", "instructions": "$rund"}, "did you mean 'round'"),
        ({"name": "x", "round": 2}, "no 'round'; did you mean 'rounds'"),
    ],
)
def test_a_phase_that_can_not_be_is_refused(phase: Mapping[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        discussion(talkers(), tmp_path / "run", [phase])


def _phases_in(run_dir: Path) -> list[str]:
    lines = map(json.loads, (run_dir / "journal.jsonl").read_text(encoding="utf-8").splitlines())
    return [line["name"] for line in lines if line["type"] == "phase_started"]


def test_a_moderator_chooses_among_the_speakers_of_the_phase(tmp_path: Path) -> None:
    clients = {**talkers(), "Chair": Talker("Chair")}
    participants = [Participant(n, c, role="moderator" if n == "Chair" else "assistant") for n, c in clients.items()]
    phases = [Phase("whisper", ("Ann", "Bob"), visible_to=()), Phase("duel", ("Bob", "Eve"), rounds=2)]
    out, log = tmp_path / "run", EventLog()
    manager = ConversationManager(participants, goal="Talk.", out=out, phases=phases, speaker_selection="moderator")
    asyncio.run(manager.run_discussion(log))

    spoke = speakers(log)
    assert spoke[0] == spoke[-1] == "Chair"
    assert {*spoke[1:3]} <= {"Ann", "Bob"}
    assert {*spoke[3:7]} == {"Bob", "Eve"}
    assert len(spoke) == 8
    assert len(clients["Chair"].requests) > 2, "it was asked who speaks next, and had not heard the whispers"
    assert not any("<Ann 1>" in request or "<Bob 1>" in request for request in clients["Chair"].requests)


def test_a_request_is_built_again_as_it_was_sent(tmp_path: Path) -> None:
    clients = talkers()
    phases = [Phase("vote", parallel=True, visible_to=("Eve",), rounds=2), Phase("open", instructions="Say $round.")]
    log = take_part(clients, tmp_path / "run", phases)
    plan = Plan(tuple(Participant(n, c) for n, c in clients.items()), goal="Talk.", phases=phases)

    sent = {name: iter(client.requests) for name, client in clients.items()}
    for turn in (event for event in log.events if isinstance(event, TurnFinished)):
        again = request_of(tmp_path / "run", plan, turn)
        assert "\n".join((again.system, *(message.text for message in again.messages))) == next(sent[turn.speaker])


def test_training_data_of_one_has_nothing_that_it_did_not_hear(tmp_path: Path) -> None:
    take_part(talkers(), tmp_path / "run", [Phase("whisper", visible_to=("Eve",)), Phase("open")])
    examples = dict(zip(NAMES, export(tmp_path / "run", "finetune"), strict=True))

    assert "<Ann 1>" in examples["Eve"]
    assert "<Ann 1>" not in examples["Bob"]
    assert "<Ann 2>" in examples["Bob"]


def test_who_leaves_keeps_its_turns_so_that_each_phase_lasts_as_long_as_it_is_to(tmp_path: Path) -> None:
    lines = iter(["Only this.", "/leave"])
    typed: list[str] = []

    async def read(asked: str) -> str | None:
        typed.append(asked)
        return next(lines, None)

    clients: dict[str, ModelClient] = {**talkers()}
    clients["Bob"] = PersonClient("Bob", read, secret="Hide the key.")
    participants = [Participant(n, c, role="user" if n == "Bob" else "assistant") for n, c in clients.items()]
    phases = [
        Phase("one"),
        Phase("two", ("Bob", "Eve"), parallel=True, rounds=2),
        Phase("three", ("Bob",)),
        Phase("four"),
    ]
    log = EventLog()
    asyncio.run(
        ConversationManager(participants, goal="Talk.", out=tmp_path / "run", phases=phases).run_discussion(log)
    )

    assert typed == ["Only you are told this: Hide the key.\nBob> ", "Bob> "]
    assert speakers(log) == ["Ann", "Bob", "Eve", "Eve", "Eve", "Ann", "Eve"]
    assert [event.name for event in log.events if isinstance(event, PhaseStarted)] == ["one", "two", "three", "four"]


def test_who_takes_part_helps_nobody_where_words_are_private(tmp_path: Path) -> None:
    participants = [Participant(name, client) for name, client in talkers().items()]
    manager = CollaborativeConversationManager(participants, goal="Talk.", phases=[Phase("alone", visible_to=())])
    with pytest.raises(ValueError, match="'Bob' takes part, and would be shown words that are kept from it"):
        manager.setup_collaboration("Ann", "Bob")


@pytest.mark.parametrize("parallel", [False, True])
def test_room_is_made_for_the_instructions_of_a_phase_too(parallel: bool, tmp_path: Path) -> None:
    clients = talkers(length=60)
    wanted = Phase("talk", rounds=6, instructions="Weigh every word. " * 60, parallel=parallel)
    log = take_part(clients, tmp_path / "run", [wanted], max_conversation_tokens=1200)

    assert any(isinstance(event, Summarised) for event in log.events)
    sent = [request for client in clients.values() for request in client.requests if "# talk" in request]
    assert max(map(estimate_text, sent)) <= 1200


class Photographer(Talker):
    """Shows a picture with what it says, as a person does who attaches one."""

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        response = await super().complete(request, emit)
        picture = Image(
            "image/png", b"secret", extra={"file": {"name": "plan.png", "kind": "image", "about": "a plan"}}
        )
        return replace(response, steps=(Message("user", (picture,)),))


def test_a_private_picture_is_described_by_nobody_who_must_not_see_it(tmp_path: Path) -> None:
    clients = {"Ann": Talker("Ann"), "Bob": Photographer("Bob"), "Eve": Talker("Eve")}
    sees = {"Ann": frozenset({"images"}), "Bob": frozenset({"images"}), "Eve": frozenset[str]()}
    participants = [Participant(name, client, reads=sees[name]) for name, client in clients.items()]
    settings: dict[str, Any] = {"describer": participants[0], "phases": [Phase("whisper", visible_to=("Eve",))]}
    manager = ConversationManager(participants, goal="Talk.", out=tmp_path / "run", **settings)
    asyncio.run(manager.run_discussion(log := EventLog()))

    assert len(clients["Ann"].requests) == 1
    told = [event.message for event in log.events if isinstance(event, Warned)]
    assert told == ["plan.png is not described to Eve: Ann must not see it"]


def test_the_heading_of_a_phase_has_no_places_left_to_fill(tmp_path: Path) -> None:
    wanted = "$name, challenge $round on: $goal"
    phases = [Phase("both", rounds=2, instructions=wanted), Phase("one", speakers=("Ann",), instructions=wanted)]
    log = take_part(talkers(), tmp_path / "r", phases)

    told = [event.instructions for event in log.events if isinstance(event, PhaseStarted)]
    assert told == ["(who speaks), challenge (the round) on: Talk.", "Ann, challenge 1 on: Talk."]
