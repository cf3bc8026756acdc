"""Problems of a configuration: where they are, and what is wrong in plain words."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..core.errors import ConfigError

LONGEST_KEY = 80
KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a configuration. `path` leads to the key or value; with `key`, it means the key itself."""

    path: KeyPath
    message: str
    key: bool = False


@dataclass(frozen=True, slots=True)
class Located:
    """A problem with its place; as text, `robot.yaml:7:9 discussion.turns: must be a whole number`.

    `file` may be a command-line option, or empty for a dictionary; these have no lines. `path` is None if the text is
    no YAML.
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
    """All problems of a configuration, one `place path: message` per line."""

    def __init__(self, located: Iterable[Located]) -> None:
        self.located = tuple(located)
        self.problems = tuple(map(str, self.located))
        super().__init__("\n".join(self.problems))


def dotted_path(path: KeyPath) -> str:
    """Returns a path such as `discussion.stop.any[0].phrase`, with long keys cut and control characters escaped."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_printable_key(step)}" for step in path)
    return text.removeprefix(".")


def _printable_key(key: str) -> str:
    short = key if len(key) <= LONGEST_KEY else f"{key[:LONGEST_KEY]}..."
    return short if short.isprintable() else repr(short)[1:-1]
