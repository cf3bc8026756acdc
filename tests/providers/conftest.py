"""Fake providers on loopback, and clients of each wire and transport that lead to them."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from ai_battle import create_client
from ai_battle.core.client import ModelClient
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.testing import FakeProvider, FakeProviders

MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "ollama": "gemma3:1b", "gemini": "gemini-2.5-pro"}
WAYS = [
    *((wire, "aiohttp") for wire in MODELS),
    *((wire, "sdk") for wire in MODELS if wire != "gemini"),
]


@dataclass(frozen=True)
class Way:
    """One wire over one transport."""

    wire: str
    transport: str
    fake: FakeProvider

    @property
    def model(self) -> str:
        return MODELS[self.wire]

    def client(self, **options: Any) -> ModelClient:
        client: ModelClient = import_module(f"ai_battle.providers.{self.wire}").create(
            self.model, transport=self.transport, **options
        )
        return client

    def assemble(self, **options: Any) -> ModelClient:
        """As users get it: with retries, metered."""
        return create_client(f"{self.wire}/{self.model}", transport=self.transport, **options)


@pytest.fixture(params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest, fakes: FakeProviders) -> Way:
    wire, transport = request.param
    return Way(wire, transport, getattr(fakes, wire))


@pytest.fixture
def model_request() -> ModelRequest:
    return ModelRequest((user("What is the answer?"),))
