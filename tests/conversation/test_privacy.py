"""No way leads around visibility: whatever the tables, phases, selectors, summaries, limits and interruptions are."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ai_battle import ConversationManager, Participant
from ai_battle.conversation.prompting import prompt
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, Event, ModelReplied, PhaseStarted, TurnFinished, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.messages import assistant

REGULARS = ("Ann", "Bob", "Eve", "Dan")
ALL = (*REGULARS, "Chair", "Watch")
ROLES: Mapping[str, Any] = {"Chair": "moderator", "Watch": "observer"}
FILLER = " and so on and so forth" * 12
USAGE = Usage(20, 20, cost_usd=0.0)


class Gossip(ModelClient):
    """Says a text that nobody else says; asked for notes, it names all that it was shown."""

    def __init__(self, name: str) -> None:
        self.requests: list[str] = []
        self._name = name
        self._numbers = count(1)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        asked = "\n".join((request.system, *(message.text for message in request.messages)))
        self.requests.append(asked)
        said = f"DECISION: <{self._name} {next(self._numbers)}> holds.{FILLER}"
        if request.system == prompt("summariser"):
            said = " ".join(re.findall(r"<\w+ \d+>", asked))
        await emit(ModelReplied("gossip", USAGE, 0.0))
        return ModelResponse(assistant(said), usage=USAGE, model="gossip")


@dataclass(frozen=True)
class Case:
    phases: Sequence[Mapping[str, Any]]
    visibility: Mapping[str, Sequence[str]]
    more: Mapping[str, Any]
    interrupted_at: int

    def may_hear(self, listener: str, turn: TurnFinished, phase: Mapping[str, Any] | None) -> bool:
        speaker = turn.speaker
        if speaker not in self.visibility.get(listener, ALL):
            return False
        if phase is None or phase["visible_to"] is None:
            return True
        groups = [entry for entry in phase["visible_to"] if not isinstance(entry, str)]
        return listener in phase["visible_to"] or any(listener in group and speaker in group for group in groups)


names = st.lists(st.sampled_from(ALL), max_size=3, unique=True)
listeners = st.none() | st.lists(st.sampled_from(ALL) | names, max_size=3)
phases = st.fixed_dictionaries(
    {
        "speakers": st.lists(st.sampled_from(REGULARS), max_size=4, unique=True),
        "rounds": st.integers(1, 2),
        "parallel": st.booleans(),
        "visible_to": listeners,
    }
)
cases = st.builds(
    Case,
    st.lists(phases, max_size=4).map(lambda some: [{"name": f"p{n}", **each} for n, each in enumerate(some)]),
    st.dictionaries(st.sampled_from(ALL), names, max_size=4),
    st.fixed_dictionaries(
        {"speaker_selection": st.sampled_from(["round_robin", "random", "moderator", "auto"])},
        optional={
            "max_conversation_tokens": st.just(700),
            "outcome": st.just("Sum up."),
            "limits": st.sampled_from([{"tokens": 300}, {"tokens": 600}]),
        },
    ),
    st.integers(0, 9),
)


@given(cases)
def test_nobody_is_ever_sent_what_it_must_not_hear(case: Case) -> None:
    clients = {name: Gossip(name) for name in ALL}
    with TemporaryDirectory() as folder:
        events = asyncio.run(play(case, clients, Path(folder) / "run"))

    phase, forbidden = None, defaultdict[str, set[str]](set)
    for event in events:
        if isinstance(event, PhaseStarted):
            phase = case.phases[event.number - 1]
        elif isinstance(event, TurnFinished):
            spoken_in = phase if event.kind == "turn" and event.speaker in REGULARS else None
            text = event.message.text.removesuffix(f" holds.{FILLER}").removeprefix("DECISION: ")
            for listener in ALL:
                if listener != event.speaker and not case.may_hear(listener, event, spoken_in):
                    forbidden[listener].add(text)
    for name, client in clients.items():
        hidden = forbidden[name] | {f"secret of {other}" for other in ALL if other != name}
        leaked = [text for text in hidden for request in client.requests if text in request]
        assert not leaked, (name, leaked)
        assert all(f"secret of {name}" in request for request in client.requests if f"You are {name}," in request)


async def play(case: Case, clients: Mapping[str, Gossip], run_dir: Path) -> list[Event]:
    """The events of the run, which is interrupted once and goes on."""
    events: list[Event] = []

    async def listen(event: Event) -> None:
        if isinstance(event, PhaseStarted | TurnFinished):
            events.append(event)
        if isinstance(event, TurnFinished) and event.turn == case.interrupted_at:
            raise asyncio.CancelledError

    participants = [
        Participant(name, client, secret=f"secret of {name}", role=ROLES.get(name, "assistant"))
        for name, client in clients.items()
    ]
    more = {**case.more, "phases": case.phases} if case.phases else {**case.more, "turns": 3}
    manager = ConversationManager(
        participants, goal="Talk.", mode="ai-ai", out=run_dir, visibility=case.visibility, **more
    )
    try:
        await manager.run_discussion(listen)
    except asyncio.CancelledError:
        await manager.resume(run_dir, listen)
    return events
