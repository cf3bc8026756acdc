"""Configurations as text, and what is wrong with them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ai_battle.config.loading import LoadedDiscussion, load
from ai_battle.config.problems import ConfigProblems

Written = Callable[..., Path]
Problems = Callable[..., tuple[str, ...]]

PARTICIPANTS = """\
  models:
    Ada: {type: ollama-phi4, role: human}
    Bob: {type: claude-3-sonnet}
"""
SMALL = f"discussion:\n  goal: Talk.\n{PARTICIPANTS}"


@pytest.fixture
def write_config(tmp_path: Path) -> Written:
    """Writes a configuration to `talk.yaml`."""

    def write(text: str | bytes, name: str = "talk.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.fixture
def load_text(write_config: Written) -> Callable[..., LoadedDiscussion]:
    def load_text(
        text: str, environment: Mapping[str, str] | None = None, overrides: tuple[str, ...] = ()
    ) -> LoadedDiscussion:
        return load(write_config(text), environment or {}, overrides)

    return load_text


@pytest.fixture
def problems(write_config: Written, tmp_path: Path) -> Problems:
    """Returns what is wrong with a text, without the folder of the file."""

    def find(text: str | bytes, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
        with pytest.raises(ConfigProblems) as caught:
            load(write_config(text), environment or {})
        return tuple(problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems)

    return find
