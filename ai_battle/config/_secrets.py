"""Which values must not be shown: those of keys that hold secrets, and those that came from the environment."""

import re
from collections.abc import Mapping

from .problems import Path

SECRET_KEY = re.compile(r".*(api[-_]?key|token|password|secret|authorization)", re.IGNORECASE)
NO_OWNER = ("parameters", "headers", "env")
SHORTEST = 4
"""Shorter values can't be told from ordinary text."""


def is_secret(step: str | int) -> bool:
    return isinstance(step, str) and SECRET_KEY.fullmatch(step) is not None


def variable_for(path: Path) -> str:
    """The variable in which a secret that is written in the file should be: `OPENAI_API_KEY`."""
    owners = [step for step in path[:-1] if isinstance(step, str) and step not in NO_OWNER]
    return re.sub(r"\W+", "_", f"{owners[-1] if owners else ''}_{path[-1]}".upper().replace("-", "_")).strip("_")


def hidden(text: str, taken: Mapping[str, str]) -> str:
    """The text with the names of variables in place of their values; `taken` has the values by name."""
    for name, value in taken.items():
        text = text.replace(value if len(value) >= SHORTEST else repr(value), f"${{{name}}}")
    return text
