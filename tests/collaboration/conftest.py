"""The four models, running for one test, and providers whose refusals are forgotten with it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders
from ai_battle.tools.sandbox import NoFence, choose

from .models import Models, running


@pytest.fixture
async def models() -> AsyncIterator[Models]:
    async with running() as found:
        yield found


@pytest.fixture
def fakes(fakes: FakeProviders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeProviders:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return fakes


@pytest.fixture
def fenced() -> None:
    """Skips a test where no fence works."""
    try:
        choose("auto")
    except NoFence as problem:
        pytest.skip(str(problem))
