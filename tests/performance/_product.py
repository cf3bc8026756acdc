"""The product doing what the floor does, with configuration, all wrappers, the journal and a listener."""

import asyncio
from typing import Any

from ai_battle import ConversationManager, Participant, create_client
from ai_battle.core.events import Event, TextDelta, TurnFinished, TurnStarted

from ._bare import PROMPT
from ._times import Times


def config(url: str, turns: int) -> dict[str, Any]:
    return {
        "discussion": {
            "turns": turns // 2,
            "mode": "no-meta",
            "goal": PROMPT,
            "models": {"Ann": {"type": "gpt-4o"}, "Bob": {"type": "gpt-4o"}},
        },
        "providers": {"openai": {"base_url": url, "api_key": "test-key"}},
    }


class Listener:
    """A screen that is off: it receives all events, shows nothing and notes the times."""

    def __init__(self) -> None:
        self.times = Times()

    async def __call__(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self.times.text()
        elif isinstance(event, TurnStarted):
            self.times.begin()
        elif isinstance(event, TurnFinished) and event.kind == "turn":
            self.times.end()


async def run_without_listener(url: str, turns: int) -> list[Times]:
    """Runs a discussion without a listener."""
    await ConversationManager.from_config(config(url, turns)).run_discussion()
    return []


async def single_turns(url: str, turns: int) -> list[Times]:
    """Calls `run_conversation_turn` once for each turn, with two speakers in turn."""
    client = create_client("gpt-4o", base_url=url, api_key="test-key")
    manager = ConversationManager([Participant("Ann", client), Participant("Bob", client)], goal=PROMPT)
    times, said = Times(), PROMPT
    try:
        for turn in range(turns):
            times.begin()
            said = await manager.run_conversation_turn(said, "gpt-4o", client, "no-meta", ("human", "ai")[turn % 2])
            times.end()
    finally:
        await client.aclose()
    return [times]


async def discussions(url: str, turns: int, at_once: int = 1) -> list[Times]:
    """Runs discussions from their configuration to the end, in the working directory."""
    listeners = [Listener() for _ in range(at_once)]
    manager = ConversationManager.from_config(config(url, turns))
    await asyncio.gather(*(manager.run_discussion(heard) for heard in listeners))
    return [heard.times for heard in listeners]
