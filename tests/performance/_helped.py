"""Runs a long discussion in which one of two small models is helped at each of its turns."""

import random
from typing import Any

from ai_battle import ConversationManager
from ai_battle.core.exchange import WHOLE_ANSWER

from ._bare import PROMPT
from ._product import Listener
from ._times import Times

WORDS = ("bridge", "city", "cars", "river", "people", "traffic", "money", "plan", "council", "year", "walk", "trade")


class WholeAnswerListener(Listener):
    """Receives all events but the words of answers as they arrive."""

    wants = WHOLE_ANSWER


async def run_with_help(url: str, turns: int, *, listens: bool) -> list[Times]:
    """Runs over HTTP with the server at `url`. Without a URL all models are scripts, which have no context window."""
    heard = Listener() if listens else WholeAnswerListener()
    await ConversationManager.from_config(_config(url, turns)).run_discussion(heard)
    return [heard.times]


def _config(url: str, turns: int) -> dict[str, Any]:
    small, large = ({"type": "gpt-4o"}, {"type": "gpt-4o-mini"}) if url else (_script(97), _script(31))
    pair = {"primary": "Ann", "secondary": large, "strategy": "rescue", "max_retries": 1, "threshold": 0.99}
    discussion = {
        "turns": turns // 2,
        "mode": "no-meta",
        "goal": PROMPT,
        "models": {"Ann": small, "Bob": small},
        "collaboration": {"pairs": [pair]},
    }
    return {"discussion": discussion, "providers": {"openai": {"base_url": url, "api_key": "test-key"}} if url else {}}


def _script(entries: int) -> dict[str, Any]:
    """Returns a model with a loop of answers of 60 words."""
    words = random.Random(entries)
    said = [f"{' '.join(words.choices(WORDS, k=60))}." for _ in range(entries)]
    return {"type": f"scripted/{entries}", "script": said, "loop": True}
