"""A server that falls silent once costs no turn, whatever `timeouts.request` is."""

import asyncio
from itertools import product

from ai_battle import create_client
from ai_battle.assembly.models import RetryPolicy
from ai_battle.testing import FakeProvider, FakeProviders, fault

TYPES = {"openai": "gpt-4o", "anthropic": "sonnet", "ollama": "ollama/phi4", "gemini": "gemini-2.5-flash"}
SILENCES = ("stall_before_headers", "stall_after_headers", "stall_mid_stream", "slow_drip", "ping_for_ever")


async def test_who_falls_silent_once_is_asked_again_in_time() -> None:
    ways = [*product(SILENCES, TYPES)]
    answers = await asyncio.gather(*(ask(*way) for way in ways), return_exceptions=True)

    assert dict(zip(ways, answers, strict=True)) == dict.fromkeys(ways, "Here I am.")


async def ask(silence: str, wire: str) -> str:
    async with FakeProviders() as fakes:
        fake: FakeProvider = getattr(fakes, wire)
        fake.says(fault(silence), "Here I am.")
        client = create_client(TYPES[wire], retry=RetryPolicy(seconds=4), base_url=fake.url, api_key="test-key")
        try:
            return await client.generate_response("Are you there?")
        finally:
            await client.aclose()
