"""Which values must not be shown: those of keys that hold secrets, and those that came from the environment."""

import re
from collections.abc import Mapping

from ._scalars import resolve
from .problems import Path

SECRET_KEY = re.compile(r".*(api[-_]?key|token|password|secret|authorization)", re.IGNORECASE)
NO_OWNER = ("parameters", "headers", "env", "options")
SHORTEST = 4
SHORTEST_NUMBER = 8


def is_secret_key(step: str | int) -> bool:
    return isinstance(step, str) and SECRET_KEY.fullmatch(step) is not None


def is_secret(path: Path) -> bool:
    """Whether the value there is a secret even when it is written in the file itself."""
    in_settings = path[:1] == ("providers",) or path[:2] == ("discussion", "tools") or path[-2:-1] == ("options",)
    return in_settings and is_secret_key(path[-1])


def can_be_hidden(value: str) -> bool:
    """Short texts, numbers and `true` can't: they are everywhere."""
    return len(value) >= (SHORTEST if isinstance(resolve(value), str) else SHORTEST_NUMBER)


def variable_for(path: Path) -> str:
    """The variable in which a secret that is written in the file should be: `OPENAI_API_KEY`."""
    owners = [step for step in path[:-1] if isinstance(step, str) and step not in NO_OWNER]
    return re.sub(r"\W+", "_", f"{owners[-1]}_{path[-1]}".upper().replace("-", "_")).strip("_")


def hidden(text: str, taken: Mapping[str, str]) -> str:
    """The text with the names of variables in place of their values; `taken` has the values by name."""
    for name, value in sorted(taken.items(), key=lambda item: -len(item[1])):
        text = text.replace(value if can_be_hidden(value) else repr(value), f"${{{name}}}")
    return text
