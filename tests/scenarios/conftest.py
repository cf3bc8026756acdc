"""A folder of one's own, with four fake providers and nothing else to reach."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders

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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
async def fakes(here: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeProviders]:
    async with FakeProviders() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def everything_in() -> Callable[[Path], str]:
    """All that stands in the files of a run directory."""

    def read(folder: Path) -> str:
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if path.is_file())

    return read
