"""Whole discussions on a real engine: twenty turns of two participants, over each API that it speaks."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, Participant, create_client
from ai_battle.conversation.reading import read
from ai_battle.core.events import AttemptFailed, EventLog, ModelReplied, TextDelta, TurnFinished

engine = pytest.importorskip("tests.engine")

TURNS = 20
GOAL = "Talk about the weather."
SAYS = {"max_tokens": 24, "seed": 1, "temperature": 0.8}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = engine.write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")
    return path


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    with engine.serve_model(model) as url:
        yield url


def discussion(type_: str, section: dict[str, Any]) -> dict[str, Any]:
    talker = {"type": type_, "role": "assistant", "parameters": SAYS}
    return {
        "discussion": {
            "turns": TURNS // 2,
            "mode": "ai-ai",
            "goal": GOAL,
            "models": {"Ada": {**talker, "persona": "A poet."}, "Bob": {**talker, "persona": "A sailor."}},
        },
        "providers": {type_.partition("/")[0]: section},
    }


@pytest.fixture(params=["openai", "anthropic", "gguf"])
async def manager(
    request: pytest.FixtureRequest, address: str, model: Path, tmp_path: Path
) -> AsyncIterator[ConversationManager]:
    """From a file over HTTP; from Python with the engine in this process, on one thread as tests share a machine."""
    run = tmp_path / "run"
    if request.param != "gguf":
        section = {"base_url": f"{address}/v1", "api_key": "none", "headers": {"connection": "close"}}
        yield ConversationManager.from_config(discussion(f"{request.param}/tiny", section), out=run)
        return
    clients = {name: create_client(f"gguf/{model}", threads=1) for name in ("Ada", "Bob")}
    talkers = [Participant(name, client, persona="A poet.", parameters=SAYS) for name, client in clients.items()]
    yield ConversationManager(talkers, goal=GOAL, mode="ai-ai", turns=TURNS // 2, out=run)
    for client in clients.values():
        await client.aclose()


@pytest.mark.slow
async def test_twenty_turns_are_streamed_and_counted(manager: ConversationManager) -> None:
    result = await manager.run_discussion(log := EventLog())

    assert (result.status, result.turns) == ("done", TURNS)
    spoken = [event for _, event in read(result.run_dir) if isinstance(event, TurnFinished) and event.kind == "turn"]
    assert [turn.speaker for turn in spoken] == ["Ada", "Bob"] * (TURNS // 2)
    assert all(turn.usage.input_tokens and turn.usage.output_tokens and turn.message.text for turn in spoken)
    first, last = spoken[0].usage, spoken[-1].usage
    assert last.input_tokens > first.input_tokens + 400
    assert last.cache_read_tokens > last.input_tokens * 0.9
    assert not any(reply.estimated for reply in log.events if isinstance(reply, ModelReplied))
    assert len([event for event in log.events if isinstance(event, TextDelta)]) > 5 * TURNS
    assert not [event for event in log.events if isinstance(event, AttemptFailed)]
