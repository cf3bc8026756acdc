"""A person takes part: in a program, what reads the person's lines is any function (a chat window, a test).

It prints:

    You> I want to learn the cello at fifty.
    Coach: Begin with ten minutes a day.
    You> (nothing, so the turn passes)
    Coach: Ten is enough. Which piece do you dream of?
    You> (gone)
    done: You left
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager
from ai_battle.core.events import Event, TurnFinished

DISCUSSION = {
    "discussion": {
        "turns": 5,
        "goal": "Help me with a decision.",
        "models": {
            "You": {"role": "user"},
            "Coach": {
                "type": "scripted",
                "script": ["Begin with ten minutes a day.", "Ten is enough. Which piece do you dream of?"],
            },
        },
    }
}


def typed() -> Iterator[str | None]:
    yield "I want to learn the cello at fifty."
    yield ""
    yield None


async def main() -> None:
    lines = typed()

    async def ask(prompt: str) -> str | None:
        line = next(lines)
        print(prompt + {"": "(nothing, so the turn passes)", None: "(gone)"}.get(line, line or ""))
        return line

    async def show(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.speaker == "Coach":
            print(f"Coach: {event.message.text}")

    with TemporaryDirectory() as folder:
        manager = ConversationManager.from_config(DISCUSSION, out=Path(folder, "run"), ask=ask)
        result = await manager.run_discussion(show)
    print(f"{result.status}: {result.stop_reason}")


if __name__ == "__main__":
    asyncio.run(main())
