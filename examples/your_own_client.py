"""A client of your own: one method, `complete(request, emit)`. Whatever answers can take part.

This one knows a few fixed questions; it keeps the contract of every client, which is checked here as a test would.

It prints:

    Doctor: Please go on.
    Patient: I dream of a machine that asks me questions.
    Doctor: Tell me more about the machine.
    Patient: It never answers.
    The client keeps 6 promises.
"""

import asyncio
import re
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager, Message, ModelClient, ModelRequest, ModelResponse, Participant, Text, Usage
from ai_battle.core.events import Emit, TextDelta, ignore
from ai_battle.testing import ScriptedClient, contract


class Therapist(ModelClient):
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        found = re.search(r"\ba (machine|house|road)\b", request.messages[-1].text)
        text = f"Tell me more about the {found[1]}." if found else "Please go on."
        await emit(TextDelta(text))
        return ModelResponse(Message("assistant", (Text(text),)), usage=Usage(cost_usd=0.0), model="therapist-1")


async def main() -> None:
    patient = ScriptedClient("I dream of a machine that asks me questions.", "It never answers.")
    participants = [Participant("Doctor", Therapist()), Participant("Patient", patient)]
    with TemporaryDirectory() as folder:
        manager = ConversationManager(participants, goal="Talk about your dreams.", turns=2, out=folder)
        result = await manager.run_discussion()
        for message in result.messages[1:]:
            print(f"{message.speaker}: {message.text}")
    for check in contract.CHECKS:
        await check(contract.Subject(answers=Therapist))
    print(f"The client keeps {len(contract.CHECKS)} promises.")


if __name__ == "__main__":
    asyncio.run(main())
