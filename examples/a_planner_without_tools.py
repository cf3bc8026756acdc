"""The boost loop: a large model that can't call tools plans in words, and a small one that can carries the plan out.

It prints:

    loop 1: guidance
    multiply({'a': 7, 'b': 24}) -> {"result": 168}
    Answer: Of the 168 rolls 17 are left.
    tools seen by the large model: 0, by the small one: 1
"""

import asyncio

from ai_battle import BoostLoop, ToolCapableClient, tool
from ai_battle.core.events import Event
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import BoostStep
from ai_battle.core.messages import user
from ai_battle.core.tooling import ToolReturned
from ai_battle.testing import ScriptedClient, call

QUESTION = "A tray holds 24 rolls. I bake 7 trays and sell 151 rolls. How many are left?"


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two whole numbers."""
    return a * b


async def listen(event: Event) -> None:
    match event:
        case BoostStep(loop=loop, outcome=outcome):
            print(f"loop {loop + 1}: {outcome}")
        case ToolReturned(result=result):
            print(f"{result.call.name}({dict(result.call.arguments)}) -> {result.text}")


async def main() -> None:
    large = ScriptedClient("GUIDANCE: Call multiply with 7 and 24, then take 151 away.")
    small = ScriptedClient(call("multiply", a=7, b=24), "Of the 168 rolls 17 are left.")
    client = BoostLoop(large, ToolCapableClient(small, [multiply]))
    answer = await client.complete(ModelRequest((user(QUESTION),)), listen)
    print("Answer:", answer.text)
    seen = [len(model.requests[0].tools) for model in (large, small)]
    print("tools seen by the large model: {}, by the small one: {}".format(*seen))


if __name__ == "__main__":
    asyncio.run(main())
