"""A run is interrupted in the middle of its third turn, and goes on after its second.

It prints:

    [1] Ann: one
    [2] Bob: two
    interrupted
    resumed after turn 2
    [3] Ann: three
    [4] Bob: four
    done: one two three four
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager
from ai_battle.core.events import Event, RunResumed, TurnFinished, TurnStarted

DISCUSSION = {
    "discussion": {
        "turns": 2,
        "goal": "Count.",
        "models": {
            "Ann": {"type": "scripted", "script": ["one", "three"], "pace": 0.01},
            "Bob": {"type": "scripted", "script": ["two", "four"], "pace": 0.01},
        },
    }
}


async def main() -> None:
    third_turn = asyncio.Event()

    async def show(event: Event) -> None:
        if isinstance(event, TurnFinished):
            print(f"[{event.turn}] {event.speaker}: {event.message.text}")
        elif isinstance(event, TurnStarted) and event.turn == 3:
            third_turn.set()
        elif isinstance(event, RunResumed):
            print(f"resumed after turn {event.turn - 1}")

    with TemporaryDirectory() as folder:
        run_dir = Path(folder, "run")
        running = asyncio.create_task(ConversationManager.from_config(DISCUSSION, out=run_dir).run_discussion(show))
        await third_turn.wait()
        running.cancel()
        await asyncio.wait([running])
        print("interrupted")

        result = await ConversationManager.from_config(DISCUSSION).resume(run_dir, show)
        print(f"{result.status}: {' '.join(message.text for message in result.messages[1:])}")


if __name__ == "__main__":
    asyncio.run(main())
