"""The reports that are kept beside a journal."""

from collections.abc import Iterator
from pathlib import Path

from ..conversation.rundir import REPORT, TRANSCRIPT
from ..core.errors import JournalError
from ..core.locking import held
from ..core.private import write_private
from . import html, markdown


def write_reports(run_dir: Path) -> tuple[Path, Path]:
    """Writes transcript.md and report.html into the run directory, each whole or not at all, under its lock."""
    with held(run_dir):
        return _write(run_dir / TRANSCRIPT, markdown.render(run_dir)), _write(run_dir / REPORT, html.render(run_dir))


def _write(path: Path, pieces: Iterator[str]) -> Path:
    try:
        write_private(path, pieces)
    except OSError as error:
        raise JournalError(f"{path} can't be written: {error.strerror}. The journal has all of it.") from error
    return path
