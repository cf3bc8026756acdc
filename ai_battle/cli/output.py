"""Formats JSON, usage and opening messages for people and programs, without control characters and secrets."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from ..core.errors import ConfigError
from ..core.exchange import Usage
from ..core.files import write_whole
from ..core.messages import Document, Image, Message, Part, Text
from ..core.redaction import Redactor
from ..core.texts import about, printable
from ..reporting.figures import compact, cost
from ..reporting.sentences import attachment


def _redactor() -> Redactor:
    """Returns a redactor for the secrets of the environment and of the `.env` here."""
    from ..config.documents import environment_redactor

    return environment_redactor(os.environ, Path.cwd())


def without_secrets(text: str) -> str:
    return _redactor().text(text)


def print_json(document: Any) -> None:
    """Prints one JSON document, escaping invisible characters."""
    text = json.dumps(_redactor().document(document), indent=2, ensure_ascii=False, default=str)
    click.echo(text if printable(text) == text else json.dumps(json.loads(text), indent=2))


def write_file(path: Path, pieces: Iterable[str], option: str) -> None:
    """Writes a file atomically and creates its folders. `option` is named in errors as the way to another place."""
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # such as /dev/stdout
            with path.open("w", encoding="utf-8") as file:
                file.writelines(pieces)
        else:
            write_whole(path, pieces)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}; name another place with {option}.") from error


def tokens(usage: Usage) -> str:
    """Formats numbers of tokens, with a mark if any of them are estimated."""
    mark = about(estimated=usage.estimated)
    return f"{mark}{compact(usage.input_tokens)} in, {compact(usage.output_tokens)} out"


def bill(usage: Usage) -> str:
    """Formats usage as tokens and dollars."""
    return f"{tokens(usage)}, {cost(usage.cost_usd)}"


LONG, SHOWN = 4_000, 1_000
"""Characters: an opening text over LONG is cut to SHOWN."""


def opening_text(message: Message) -> str:
    """Returns the text that opens the discussion, with attached files described; of a long one only the beginning."""
    return "".join(map(_opening_part, message.parts)).strip()


def _opening_part(part: Part) -> str:
    match part:
        case Text(text) if len(text) > LONG:
            return f"{text[:SHOWN].rstrip()}\n[... {len(text) - SHOWN:,} more characters]\n\n"
        case Text(text):
            return text
        case Image() | Document():
            return f"[{attachment(part)}]\n\n"
    return ""
