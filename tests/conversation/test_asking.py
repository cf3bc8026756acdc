"""What was sent for a turn is built again from the journal."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, Participant
from ai_battle.conversation.plan import Plan
from ai_battle.conversation.reading import read
from ai_battle.conversation.replay import find_turn, request_of
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError, ContextTooLong, ProviderError
from ai_battle.core.events import Emit, Summarised, TurnFailed, TurnFinished, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.messages import Image, assistant

ROLES = {"chair": "moderator", "ada": "human", "bob": "assistant", "eve": "observer"}
SETTINGS: dict[str, dict[str, Any]] = {
    "round robin": {},
    "random": {"speaker_selection": "random", "inputs": (Image("image/png", b"pixels"),)},
    "moderator": {"speaker_selection": "moderator"},
    "parallel": {"parallel": True},
    "folding": {"max_conversation_tokens": 300},
    "limit": {"limits": {"tokens": 4_000}, "turns": 50},
    "no-meta": {"mode": "no-meta"},
}


class Keeping(ModelClient):
    """Keeps each request by its answer, which no other call has; some requests are too long for it."""

    def __init__(self, kept: dict[str, ModelRequest]) -> None:
        self.kept = kept
        self.calls = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.calls += 1
        if self.calls == 4:
            raise ContextTooLong("too long")
        text = f"Answer {len(self.kept)}. " + "And more of it. " * 8
        self.kept[text] = request
        return ModelResponse(assistant(text), usage=Usage(200, 30, cost_usd=0.0), model="keeping")


@pytest.mark.parametrize("kind", SETTINGS)
async def test_it_is_what_the_model_got(kind: str, tmp_path: Path) -> None:
    kept: dict[str, ModelRequest] = {}
    people = [
        Participant(name, Keeping(kept), persona=f"I am {name}.", role=role, parameters={"seed": 3})  # type: ignore[arg-type]
        for name, role in ROLES.items()
    ]
    settings = {"turns": 4, "mode": "ai-ai", **SETTINGS[kind]}
    await ConversationManager(people, goal="Talk.", out=tmp_path / "run", **settings).run_discussion()
    limits = settings.pop("limits", None)
    plan = Plan(tuple(people), goal="Talk.", **settings)

    events = [event for _, event in read(tmp_path / "run")]
    turns = [event for event in events if isinstance(event, TurnFinished) and event.turn]
    assert len(turns) > 6
    assert kind not in ("folding", "parallel") or any(isinstance(event, Summarised) for event in events)
    assert not limits or turns[-1].kind == "wrap_up"
    for turn in turns:
        assert request_of(tmp_path / "run", plan, find_turn(tmp_path / "run", turn.turn)) == kept[turn.message.text]


async def test_a_turn_that_was_taken_again_is_the_last_one_taken(tmp_path: Path) -> None:
    class Down(ModelClient):
        async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
            raise ProviderError("no key", status=401)

    kept: dict[str, ModelRequest] = {}
    down = [Participant("ada", Keeping(kept)), Participant("bob", Down())]
    await ConversationManager(down, goal="Talk.", turns=1, out=tmp_path / "run").run_discussion()
    assert isinstance(find_turn(tmp_path / "run", 2), TurnFailed)

    mended = [Participant("ada", Keeping(kept)), Participant("bob", Keeping(kept))]
    await ConversationManager(mended, goal="Talk.", turns=1).resume(tmp_path / "run")

    turn = find_turn(tmp_path / "run", 2)
    assert isinstance(turn, TurnFinished)
    plan = Plan(tuple(mended), goal="Talk.", turns=1)
    assert request_of(tmp_path / "run", plan, turn) == kept[turn.message.text]
    with pytest.raises(ConfigError, match=r"has no turn 3; there are turns 1 to 2\."):
        find_turn(tmp_path / "run", 3)
