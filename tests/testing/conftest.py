"""The fake providers, running for one test."""

from collections.abc import AsyncIterator

import pytest_asyncio

from ai_battle.testing import FakeProviders


@pytest_asyncio.fixture
async def fakes() -> AsyncIterator[FakeProviders]:
    async with FakeProviders() as running:
        yield running
