"""A listener: whatever is awaited with each event. This one adds up what each participant costs.

The models are real clients; the server that they talk to is a fake one on this machine.

It prints:

    turn 1: Pro    120 in, 40 out   $0.00070
    turn 2: Contra 180 in, 30 out   $0.00005
    turn 3: Pro    220 in, 25 out   $0.00080
    turn 4: Contra 260 in, 20 out   $0.00005
    Contra: $0.00010 in all
    Pro: $0.00150 in all
"""

import asyncio
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from ai_battle import ConversationManager, Participant, Usage, create_client
from ai_battle.core.events import Event, TurnFinished
from ai_battle.testing import FakeProviders, reply


class Costs:
    def __init__(self) -> None:
        self.dollars: dict[str, float] = defaultdict(float)

    async def __call__(self, event: Event) -> None:
        if isinstance(event, TurnFinished):
            cost = event.usage.cost_usd or 0.0
            self.dollars[event.speaker] += cost
            read, wrote = event.usage.input_tokens, event.usage.output_tokens
            print(f"turn {event.turn}: {event.speaker:6} {read} in, {wrote} out   ${cost:.5f}")


async def main() -> None:
    with TemporaryDirectory() as folder:
        async with FakeProviders() as fakes:
            for read, wrote in ((120, 40), (180, 30), (220, 25), (260, 20)):
                fakes.openai.says(reply("An argument.", usage=Usage(read, wrote)))
            await discuss(f"{fakes.openai.url}/v1", Path(folder))


async def discuss(base_url: str, run_dir: Path) -> None:
    pro = create_client("gpt-4o", base_url=base_url, api_key="any")
    contra = create_client("gpt-4o-mini", base_url=base_url, api_key="any")
    participants = [Participant("Pro", pro), Participant("Contra", contra)]
    manager = ConversationManager(participants, goal="Is tea better than coffee?", turns=2, out=run_dir)
    await manager.run_discussion(costs := Costs())
    for participant in participants:
        await participant.client.aclose()
    for name, dollars in sorted(costs.dollars.items()):
        print(f"{name}: ${dollars:.5f} in all")


if __name__ == "__main__":
    asyncio.run(main())
