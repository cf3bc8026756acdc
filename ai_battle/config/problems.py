"""What is wrong with a configuration, where, and in plain words."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..core.errors import ConfigError

LONGEST_KEY = 80
KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """`path` leads to the key or value, outermost key first; `key` points at the key itself, not at its value."""

    path: KeyPath
    message: str
    key: bool = False


@dataclass(frozen=True, slots=True)
class Located:
    """A problem and where it stands; as text it is `robot.yaml:7:9 discussion.turns: must be a whole number`.

    `file` may be an option of the command line, and is empty for a dictionary; these have no lines. `path` is None
    where the text can't be read as YAML at all.
    """

    file: str
    line: int | None
    column: int | None
    path: str | None
    message: str

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        if self.path is None or (self.path and self.file.endswith(f" {self.path}")):  # an option names its path itself
            return f"{where}: {self.message}"
        return f"{where} {self.path}{': ' if self.path else ''}{self.message}".strip()


class ConfigProblems(ConfigError):
    """All that is wrong with a configuration, one `place path: message` a line."""

    def __init__(self, located: Iterable[Located]) -> None:
        self.located = tuple(located)
        self.problems = tuple(map(str, self.located))
        super().__init__("\n".join(self.problems))


def dotted_path(path: KeyPath) -> str:
    """Returns a path such as `discussion.stop.any[0].phrase`; long keys are cut, control characters escaped."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_tame(step)}" for step in path)
    return text.removeprefix(".")


def _tame(key: str) -> str:
    short = key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}..."
    return short if short.isprintable() else repr(short)[1:-1]
