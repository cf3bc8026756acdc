"""A folder of one's own, with four fake providers and nothing else to reach."""

from ..scenarios.conftest import ai_battle, fakes, folder

__all__ = ["ai_battle", "fakes", "folder"]
