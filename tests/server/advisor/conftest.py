"""What tests of advisors behind the server stand on."""

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a server file and returns its path."""

    def written(text: str) -> str:
        (tmp_path / "server.yaml").write_text(text)
        return str(tmp_path / "server.yaml")

    return written
