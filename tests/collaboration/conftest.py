"""The four models, running for one test."""

from collections.abc import AsyncIterator

import pytest

from .models import Models, running


@pytest.fixture
async def models() -> AsyncIterator[Models]:
    async with running() as found:
        yield found
