"""What all tests of the server stand on."""

from collections.abc import AsyncIterator

import pytest

from ai_battle.testing import FakeProviders


@pytest.fixture
async def fakes() -> AsyncIterator[FakeProviders]:
    async with FakeProviders() as running:
        yield running
