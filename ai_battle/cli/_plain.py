"""Texts of others as the command line prints them: nothing steers the terminal, and no secret is among them."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ai_battle.core.texts import printable

if TYPE_CHECKING:
    from ai_battle.core.redaction import Redactor


def _redactor() -> "Redactor":
    """Knows the secrets of the environment and of the `.env` here; those of a file are masked where it is run."""
    from ai_battle.config import environment_redactor

    return environment_redactor(os.environ, Path.cwd())


def without_secrets(text: str) -> str:
    return _redactor().text(text)


def one_line(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def print_json(document: Any) -> None:
    """Prints one JSON document; characters that are not seen are escaped in it."""
    text = json.dumps(_redactor().document(document), indent=2, ensure_ascii=False, default=str)
    click.echo(text if printable(text) == text else json.dumps(json.loads(text), indent=2))
