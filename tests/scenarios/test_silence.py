"""A server that falls silent once costs no turn, whatever `timeouts.request` is."""

import asyncio
from contextlib import AsyncExitStack
from itertools import product

from ai_battle import create_client
from ai_battle.assembly.models import RetryPolicy
from ai_battle.testing import FakeProvider, FakeProviders, fault
from tests.clocks import set_forward
from tests.server.serving import until

TYPES = {"openai": "gpt-4o", "anthropic": "sonnet", "ollama": "ollama/phi4", "gemini": "gemini-2.5-flash"}
SILENCES = ("stall_before_headers", "stall_after_headers", "stall_mid_stream", "slow_drip", "ping_for_ever")
SECONDS = 4000  # for all attempts; what is left for the second one is enough on any machine


async def test_who_falls_silent_once_is_asked_again_in_time() -> None:
    ways = [*product(SILENCES, TYPES)]
    async with AsyncExitStack() as stack:
        worlds = {silence: await stack.enter_async_context(FakeProviders()) for silence in SILENCES}
        fakes: list[FakeProvider] = [getattr(worlds[silence], wire) for silence, wire in ways]
        for fake, (silence, _) in zip(fakes, ways, strict=True):
            fake.says(fault(silence), "Here I am.")
        asking = asyncio.gather(*map(ask, fakes), return_exceptions=True)
        await until(lambda: all(fake.questions for fake in fakes))
        set_forward(0.8 * SECONDS)
        answers = await asking

    assert dict(zip(ways, answers, strict=True)) == dict.fromkeys(ways, "Here I am.")


async def ask(fake: FakeProvider) -> str:
    client = create_client(TYPES[fake.name], retry=RetryPolicy(seconds=SECONDS), base_url=fake.url, api_key="test-key")
    try:
        return await client.generate_response("Are you there?")
    finally:
        await client.aclose()
