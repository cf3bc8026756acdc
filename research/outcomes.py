"""Prints the results of the programs in recorded prompts: `python -m research.outcomes FILE.jsonl.gz > OUTCOMES`."""

import asyncio
import gzip
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

from ai_battle.signals.asked_programs import asked_program
from ai_battle.tools.verification import Verification


async def outcome_lines(path: Path) -> AsyncIterator[str]:
    """Yields, for each row whose prompt asks about a program, a line with the result of that program."""
    verification = Verification(required=True)
    with gzip.open(path, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            asked = asked_program(row["prompt"])
            if asked and (outcome := await verification.outcome(asked)):
                yield json.dumps({"id": row["id"], **asdict(outcome)})


async def main(path: Path) -> None:
    async for line in outcome_lines(path):
        print(line, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
