"""A wrapper has the type of what it wraps: this one answers equal requests from memory.

It passes on what it does not know, and says what it remembers in the same way, so nobody notices but the bill.

It prints:

    first: Paris. (1 call)
    again: Paris. (1 call)
    another question: Rome. (2 calls)
    The wrapper keeps 6 promises.
"""

import asyncio

from ai_battle import ModelClient, ModelRequest, ModelResponse
from ai_battle.core.events import Emit, EventLog, TextDelta, ignore
from ai_battle.core.messages import user
from ai_battle.testing import ScriptedClient, contract


class Remembering(ModelClient):
    """Requests are values: equal ones are equal, whoever made them."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self._answers: list[tuple[ModelRequest, ModelResponse]] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        for asked, answer in self._answers:
            if asked == request:
                await emit(TextDelta(answer.text))
                return answer
        response = await self._client.complete(request, emit)
        self._answers.append((request, response))
        return response

    async def aclose(self) -> None:
        await self._client.aclose()


async def main() -> None:
    model = ScriptedClient("Paris.", "Rome.")
    client = Remembering(model)
    for label, question in (("first", "France?"), ("again", "France?"), ("another question", "Italy?")):
        heard = EventLog()
        await client.complete(ModelRequest((user(question),), system="Name the capital."), heard)
        calls = len(model.requests)
        print(f"{label}: {heard.text} ({calls} call{'s' if calls > 1 else ''})")
    for check in contract.CHECKS:
        await check(contract.wrapper(Remembering))
    print(f"The wrapper keeps {len(contract.CHECKS)} promises.")


if __name__ == "__main__":
    asyncio.run(main())
