"""What would another model have said? The same run with one participant exchanged, and the difference.

Only that participant is asked: it hears what the others said then. The command line says it as
`ai-battle replay RUN_DIR --swap Guesser=TYPE`.

It prints:

    --- turn 2, Guesser: said
    +++ turn 2, Guesser: says now
    @@ -1 +1 @@
    -A cloud?
    +A river?
    1 of 2 turns are different; the Riddler was asked 2 times.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager, Participant
from ai_battle.conversation.plan import Plan
from ai_battle.conversation.replay import swap
from ai_battle.testing import ScriptedClient

GOAL = "Solve the riddle."


async def main() -> None:
    riddler = ScriptedClient("It has a mouth and never eats.", "It has a bed and never sleeps.")
    first = [Participant("Riddler", riddler), Participant("Guesser", ScriptedClient("A cloud?", "A river!"))]
    with TemporaryDirectory() as folder:
        run_dir = Path(folder)
        await ConversationManager(first, goal=GOAL, turns=2, out=run_dir).run_discussion()

        second = (first[0], Participant("Guesser", ScriptedClient("A river?", "A river!")))
        differences = [d async for d in swap(run_dir, Plan(second, goal=GOAL, turns=2), "Guesser")]

    for difference in differences:
        if difference.diff:
            print(difference.diff)
    changed = sum(bool(difference.diff) for difference in differences)
    print(f"{changed} of {len(differences)} turns are different; the Riddler was asked {len(riddler.requests)} times.")


if __name__ == "__main__":
    asyncio.run(main())
