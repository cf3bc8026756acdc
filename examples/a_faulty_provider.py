"""Your YAML against a provider that breaks: an answer is cut off in the middle, and the turn is not lost.

It prints:

    attempt 1 of openai/gpt-4o failed after 'An answer that was on its way'
    Ada: The whole answer.
    Ben: I agree with all of it.
    done after 2 turns, 3 requests were made
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager
from ai_battle.config.loading import load
from ai_battle.core.events import AttemptFailed, Event, TurnFinished
from ai_battle.testing import FakeProviders, fault

DISCUSSION = """
discussion:
  turns: 1
  goal: Say something whole.
  models:
    Ada: {type: gpt-4o}
    Ben: {type: sonnet}
"""


async def show(event: Event) -> None:
    if isinstance(event, AttemptFailed):
        print(f"attempt {event.attempt} of {event.model} failed after {event.partial[:29]!r}")
    elif isinstance(event, TurnFinished):
        print(f"{event.speaker}: {event.message.text}")


async def main() -> None:
    with TemporaryDirectory() as folder:
        (path := Path(folder, "whole.yaml")).write_text(DISCUSSION, encoding="utf-8")
        async with FakeProviders() as fakes:
            fakes.openai.says(fault("end_mid_stream"), "The whole answer.")
            fakes.anthropic.says("I agree with all of it.")
            manager = ConversationManager.from_config(load(path, fakes.environment), out=Path(folder, "run"))
            result = await manager.run_discussion(show)
            requests = len(fakes.openai.questions) + len(fakes.anthropic.questions)
        print(f"{result.status} after {result.turns} turns, {requests} requests were made")


if __name__ == "__main__":
    asyncio.run(main())
