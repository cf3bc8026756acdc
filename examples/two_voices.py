"""Two voices from Python, without a YAML: each one is a name and a client.

It prints:

    Ann: Which is older, the tea or the cup?
    Bob: The cup. Tea needs somewhere to be.
    Ann: Then who made the first cup, and for what?
    Bob: Somebody who was tired of drinking from a stream.
    done: turns
"""

import asyncio
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager, Participant
from ai_battle.testing import ScriptedClient

ann = ScriptedClient("Which is older, the tea or the cup?", "Then who made the first cup, and for what?")
bob = ScriptedClient("The cup. Tea needs somewhere to be.", "Somebody who was tired of drinking from a stream.")


async def main() -> None:
    with TemporaryDirectory() as folder:
        manager = ConversationManager(
            [Participant("Ann", ann, persona="You ask."), Participant("Bob", bob, persona="You answer.")],
            goal="Find out what came first.",
            mode="ai-ai",
            turns=2,
            out=folder,
        )
        result = await manager.run_discussion()
        for message in result.messages[1:]:
            print(f"{message.speaker}: {message.text}")
        print(f"{result.status}: {result.stop_reason}")


if __name__ == "__main__":
    asyncio.run(main())
