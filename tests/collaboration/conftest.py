"""The four models, running for one test, and providers whose refusals are forgotten with it."""

from collections.abc import AsyncIterator

import pytest

from ai_battle.tools.sandbox import NoFence, choose

from .models import Models, running


@pytest.fixture
async def models() -> AsyncIterator[Models]:
    async with running() as found:
        yield found


@pytest.fixture
def working_fence() -> None:
    """Skips a test where no fence works."""
    try:
        choose("auto")
    except NoFence as problem:
        pytest.skip(str(problem))
