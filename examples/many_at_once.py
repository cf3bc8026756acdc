"""Fifty discussions at once from one manager: each run has its own state, journal and directory.

It prints:

    50 runs, 50 run directories, 200 turns
    all are done: True
"""

import asyncio
from contextlib import chdir
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager

DISCUSSION = {
    "discussion": {
        "turns": 2,
        "goal": "Is a heap of sand still a heap without this grain?",
        "models": {
            "Ann": {"type": "scripted", "script": ["It is.", "And without that one too."]},
            "Bob": {"type": "scripted", "script": ["And now?", "Then when does it end?"]},
        },
    }
}


async def main() -> None:
    manager = ConversationManager.from_config(DISCUSSION)
    results = await asyncio.gather(*(manager.run_discussion() for _ in range(50)))
    directories = {result.run_dir for result in results}
    print(f"{len(results)} runs, {len(directories)} run directories, {sum(result.turns for result in results)} turns")
    print(f"all are done: {all(result.status == 'done' for result in results)}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder, chdir(folder):
        asyncio.run(main())
