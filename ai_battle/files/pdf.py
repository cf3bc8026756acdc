"""PDF files: as they are for models that read them, and the text of their pages for others."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from ..core import plugins
from ..core.errors import ConfigError

PROGRAM = Path(__file__).with_name("pdf_text.py")
SECONDS = 60
EXTRA = "pdf"


def has_reader() -> bool:
    """Says whether text can be taken out of a PDF here."""
    return find_spec("pypdf") is not None


def read_pages(file: IO[bytes], name: str) -> dict[str, Any]:
    """Returns `{"title", "texts", "pages"}` of an open file: the texts of its first pages, and how many it has.

    Another process reads it, which is ended where it takes too much. Raises `ConfigError` for what can't be read.
    """
    if not has_reader():
        plugins.optional("pypdf", EXTRA)
    try:
        ended = subprocess.run(  # noqa: S603 - our own program, and no shell
            [sys.executable, "-I", str(PROGRAM)],
            stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS, env={}, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{name} is a PDF that can't be read within {SECONDS} s") from error
    try:
        found: dict[str, Any] = json.loads(ended.stdout)
    except ValueError as error:
        why = "it is damaged, or takes too much time or memory; give its text, or pictures of its pages"
        raise ConfigError(f"{name} is a PDF that can't be read: {why}") from error
    if "error" in found:
        raise ConfigError(f"{name} is a PDF that can't be read: {found['error']}")
    return found


def text_of_pages(texts: list[str]) -> str:
    """Returns the pages that have a text, each under its number; empty where none has."""
    return "\n\n".join(f"[page {number}]\n{text.strip()}" for number, text in enumerate(texts, 1) if text.strip())
