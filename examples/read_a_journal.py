"""A journal is one JSON line per event: read it with the package, or with whatever reads JSON.

It prints:

    the prompt, 1 words
    turn 1: Ann, 3 words, 1 attempt
    turn 2: Bob, 2 words, 1 attempt
    done: turns
    with nothing but json: [('Ann', 'up the hill'), ('Bob', 'down again')]
"""

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager, Participant
from ai_battle.conversation import journal
from ai_battle.core.events import PromptGiven, RunFinished, TurnFinished
from ai_battle.testing import ScriptedClient


def with_the_package(run_dir: Path) -> None:
    for _, event in journal.read(run_dir):
        match event:
            case PromptGiven(message=message):
                print(f"the prompt, {len(message.text.split())} words")
            case TurnFinished(turn=turn, speaker=speaker, message=message, attempts=attempts):
                print(f"turn {turn}: {speaker}, {len(message.text.split())} words, {attempts} attempt")
            case RunFinished(status=status, stop_reason=reason):
                print(f"{status}: {reason}")


def with_json_alone(run_dir: Path) -> list[tuple[str, str]]:
    lines = (json.loads(line) for line in (run_dir / "journal.jsonl").read_text(encoding="utf-8").splitlines())
    turns = (line for line in lines if line["type"] == "turn_finished")
    return [(turn["speaker"], turn["message"]["parts"][0]["content"]) for turn in turns]


async def main() -> None:
    participants = [
        Participant("Ann", ScriptedClient("up the hill")),
        Participant("Bob", ScriptedClient("down again")),
    ]
    with TemporaryDirectory() as folder:
        await ConversationManager(participants, goal="Walk.", turns=1, out=folder).run_discussion()
        with_the_package(Path(folder))
        print("with nothing but json:", with_json_alone(Path(folder)))


if __name__ == "__main__":
    asyncio.run(main())
