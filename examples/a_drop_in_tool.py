"""A discussion with one of the drop-in tools of the folder tools/, found by its name alone.

It prints:

    unit_conversion({'value': 26.2188, 'from_unit': 'mi', 'to_unit': 'km'}) -> {"value": 42.1950684672, "unit": "km"}
    Worker: It is 42.195 km.
"""

import asyncio
import tempfile

from ai_battle import ConversationManager
from ai_battle.core.events import Event, TurnFinished
from ai_battle.core.tooling import ToolReturned

CALL = {"tool": "unit_conversion", "parameters": {"value": 26.2188, "from_unit": "mi", "to_unit": "km"}}
DISCUSSION = {
    "turns": 1,
    "goal": "How long is a marathon of 26.2188 miles in kilometres?",
    "models": {
        "Asker": {"type": "scripted/asker", "role": "human", "script": ["How far is that?"]},
        "Worker": {"type": "scripted/worker", "script": [{"call": CALL}, "It is 42.195 km."]},
    },
    "tools": {"registry": ["unit_conversion"]},
}


async def listen(event: Event) -> None:
    match event:
        case ToolReturned(result=result):
            print(f"{result.call.name}({dict(result.call.arguments)}) -> {result.text}")
        case TurnFinished(speaker="Worker", message=message):
            print("Worker:", message.text)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        manager = ConversationManager.from_config({"discussion": DISCUSSION}, out=f"{folder}/run")
        await manager.run_discussion(listen)


if __name__ == "__main__":
    asyncio.run(main())
