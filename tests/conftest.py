"""What holds for all tests."""

import gc
import signal
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ai_battle.testing import FakeProviders
from tests.clocks import SettableLoop

# Where a shell starts the tests behind `&`, they and the commands that they start would not hear Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until all tests are there: it took a seventh of the time of collecting them

# How long an example takes depends on what else the machine does; how much work it is, other tests count.
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=30)
settings.load_profile("quick")  # the slow run has the other one, for the same tests


KEYS = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_BASE_URL",
    "OLLAMA_HOST",
    "OLLAMA_API_KEY",
    "WEB_SEARCH_API_KEY",
)


def pytest_asyncio_loop_factories() -> dict[str, type[SettableLoop]]:
    return {"settable": SettableLoop}


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("homes")
    return (root / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learned in a test is forgotten with it: a later fake may get the port of which it was learned."""
    home = next(homes)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with no keys and no servers to reach."""
    monkeypatch.chdir(tmp_path)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def own_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray starts a cluster of its own, also where one runs on this machine."""
    monkeypatch.setenv("RAY_ADDRESS", "local")


@pytest.fixture
async def fakes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeProviders]:
    """Providers on loopback, to which all models lead."""
    async with FakeProviders() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


def pytest_collection_finish() -> None:
    """Thousands of tests and the libraries of vendors stay: the garbage collector need not look at them again."""
    gc.freeze()
    gc.enable()
