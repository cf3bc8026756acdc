"""What is wrong with a configuration, where, and in plain words."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..core.errors import ConfigError

LONGEST_KEY = 80
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """`path` leads to the key or value, outermost key first; `key` points at the key itself, not at its value."""

    path: Path
    message: str
    key: bool = False


class ConfigProblems(ConfigError):
    """All that is wrong with a configuration, one `place path: message` a line."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def dotted(path: Path) -> str:
    """`discussion.stop.any[0].phrase`; long keys are cut, control characters written out."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_tame(step)}" for step in path)
    return text.removeprefix(".")


def _tame(key: str) -> str:
    short = key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}..."
    return short if short.isprintable() else repr(short)[1:-1]
