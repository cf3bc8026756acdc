"""A folder of one's own, with four fake providers and nothing else to reach."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders

from ..cli.conftest import ai_battle, folder

__all__ = ["ai_battle", "folder"]


@pytest.fixture
def fakes(here: Path, fakes: FakeProviders) -> FakeProviders:
    return fakes


@pytest.fixture
def everything_in() -> Callable[[Path], str]:
    """All that stands in the files of a run directory."""

    def read(folder: Path) -> str:
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()) if path.is_file())

    return read
