"""A server with a fake provider of each API behind it, and clients that speak to it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from ai_battle.testing import FakeProvider, FakeProviders

from ..serving import serving
from .exceptions import wires_for
from .oddities import Odd
from .sent import Sent, read_sent
from .speaking import Speaker, speaking

MODELS = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-haiku-4-5",
    "ollama": "ollama/phi4",
    "gemini": "gemini/gemini-2.5-flash",
}


@dataclass
class Stage:
    """A server whose big model is behind one API: `upstream` is the fake that speaks it."""

    client: Speaker
    upstream: FakeProvider
    wire: str

    def says(self, *replies: Any) -> None:
        self.upstream.says(*replies)

    def upstream_request(self, number: int = -1) -> Sent:
        return read_sent(self.wire, self.upstream.questions[number].body)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Whoever takes a `stage` is run over each API upstream."""
    if "stage" in metafunc.fixturenames:
        metafunc.parametrize("wire", wires_for(metafunc.function.__name__))


@pytest.fixture
async def stage(wire: str, fakes: FakeProviders) -> AsyncIterator[Stage]:
    upstream: FakeProvider = getattr(fakes, wire)
    async with serving(fakes, BIG_MODEL=MODELS[wire]) as address, speaking(address) as client:
        yield Stage(client, upstream, wire)


@pytest.fixture
async def odd(fakes: FakeProviders) -> AsyncIterator[Odd]:
    """A server whose big model is behind an upstream that says whatever a test wants, in OpenAI's API."""
    async with Odd.running() as upstream:
        variables = {"BIG_MODEL": "openai/odd", "OPENAI_BASE_URL": f"{upstream.url}/v1"}
        async with serving(fakes, **variables) as address, speaking(address) as client:
            upstream.client = client
            yield upstream
