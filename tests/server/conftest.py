"""What all tests of the server stand on."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from ai_battle.testing import FakeProvider, FakeProviders


@dataclass(frozen=True)
class Upstream:
    """The fake of one API; what holds over OpenAI's holds over Anthropic's."""

    name: str
    fake: FakeProvider

    def model(self, name: str) -> str:
        return f"{self.name}/{name}"


@pytest.fixture(params=["openai", pytest.param("anthropic", marks=pytest.mark.slow)])
def upstream(request: pytest.FixtureRequest, fakes: FakeProviders) -> Upstream:
    return Upstream(request.param, getattr(fakes, request.param))


@pytest.fixture
async def fakes() -> AsyncIterator[FakeProviders]:
    async with FakeProviders() as running:
        yield running
