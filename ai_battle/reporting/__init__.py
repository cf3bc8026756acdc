"""Views of a run, rendered from its journal: at any time, as often as wanted, at the cost of no model call."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..conversation.rundir import REPORT, TRANSCRIPT
from ..core.errors import ConfigError, JournalError
from ..core.plugins import near
from . import exports, html, markdown

FORMATS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "md": markdown.render,
    "html": html.render,
    "jsonl": exports.jsonl,
    "openai": exports.openai_messages,
    "csv": exports.table,
}

__all__ = ["FORMATS", "export", "write_reports"]


def export(run_dir: Path, format: str) -> Iterator[str]:  # noqa: A002 - the option's name
    """The run in one of `FORMATS`, in pieces."""
    if format not in FORMATS:
        raise ConfigError(f"There is no export format {format!r}{near(format, list(FORMATS))}")
    return FORMATS[format](run_dir)


def write_reports(run_dir: Path) -> tuple[Path, Path]:
    """Writes transcript.md and report.html into the run directory, each whole or not at all."""
    return _write(run_dir / TRANSCRIPT, markdown.render(run_dir)), _write(run_dir / REPORT, html.render(run_dir))


def _write(path: Path, pieces: Iterator[str]) -> Path:
    partial = path.with_name(f".{path.name}.partial")
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.writelines(pieces)
        os.replace(partial, path)
    except OSError as error:
        raise JournalError(f"{path} can't be written: {error.strerror}. The journal has all of it.") from error
    finally:
        partial.unlink(missing_ok=True)
    return path
