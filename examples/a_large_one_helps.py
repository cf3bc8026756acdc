"""A small model that goes round in circles is cut off, advised by a large one, and answers by itself.

It prints:

    The small one is stuck: the answer goes round in circles
    The large one is asked, and may see: prompt
    One draft is dropped.
    Answer: 7 * 24 = 168 rolls. 168 - 151 = 17 are left. The answer is 17.
    small model: 2 calls, large model: 1 call
"""

import asyncio

from ai_battle import ModelCollaborationProtocol, StuckDetector
from ai_battle.collaboration import Helping
from ai_battle.core.events import Event
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import DraftDropped, HelpAsked, StuckFound
from ai_battle.core.messages import user
from ai_battle.testing import ScriptedClient

QUESTION = "A tray holds 24 rolls. I bake 7 trays and sell 151 rolls. How many are left?"


async def listen(event: Event) -> None:
    match event:
        case StuckFound(reason=reason):
            print("The small one is stuck:", reason)
        case HelpAsked(sees=sees):
            print("The large one is asked, and may see:", sees)
        case DraftDropped():
            print("One draft is dropped.")


async def main() -> None:
    small = ScriptedClient(
        "Let me count the trays again. " * 40, "7 * 24 = 168 rolls. 168 - 151 = 17 are left. The answer is 17."
    )
    large = ScriptedClient("Multiply the trays by what one holds, then take away what is sold.")
    client = ModelCollaborationProtocol(small, large, StuckDetector(), Helping(sees="prompt"))
    answer = await client.complete(ModelRequest((user(QUESTION),)), listen)
    print("Answer:", answer.text)
    print(f"small model: {len(small.requests)} calls, large model: {len(large.requests)} call")


if __name__ == "__main__":
    asyncio.run(main())
