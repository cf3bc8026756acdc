"""Creates run directories, and checks that a run's configuration has not changed since it began."""

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from secrets import token_hex
from typing import Any

from ..core.errors import ConfigChanged, ConfigError, JournalError
from ..core.files import FOLDER, LOCK, make_private
from .reading import CONFIG, FILE, Progress

TRANSCRIPT = "transcript.md"
REPORT = "report.html"
LONGEST_NAME = 60
LEFTOVERS = (LOCK, f".{CONFIG}.partial")
"""Files of an interrupted start, which don't make a directory count as used."""


def create(name: str, out: Path | None = None, *, runs: Path = Path("runs")) -> Path:
    """Creates `out`, or `runs/<UTC time>-<name>`.

    Raises `ConfigError` if the directory is in use, and `JournalError` if it can't be created.
    """
    try:
        if out is None:
            return _make_directory(name, runs)
        require_free(out)
        make_private(out)
        return out
    except OSError as error:
        place = out if out is not None else runs
        raise JournalError(f"{place} can't be written: {error.strerror}; name another directory with --out.") from error


def settings(config: str) -> Mapping[str, Any]:
    """Returns the value of `RunStarted.settings`, from which a later change can be detected and shown."""
    return {"config": config, "config_digest": digest(config)} if config else {}


def digest(config: str) -> str:
    return hashlib.sha256(config.encode()).hexdigest()


def check_unchanged(progress: Progress, *, accept_changes: bool = False) -> Mapping[str, Any]:
    """Returns the settings to record with `RunResumed`: new ones if a change was accepted, else none.

    Raises `ConfigChanged` with a diff if the configuration in the run directory has changed since the start. No change
    is accepted after the end of a run.
    """
    path = progress.run_dir / CONFIG
    if not progress.config_digest:
        return {}
    if not path.is_file():
        raise ConfigError(f"{path} is gone; put it back to go on with this run.")
    now = path.read_text(encoding="utf-8")
    if digest(now) == progress.config_digest:
        return {}
    if accept_changes and not progress.is_over:
        return settings(now)
    way_out = "; undo the change, or go on with it: --accept-changes"
    if progress.is_over:
        way_out = f", and it is over; to go on from its end: ai-battle fork {progress.run_dir} --at {progress.turn}"
    before = str(progress.settings.get("config", ""))
    raise ConfigChanged(f"{path} has changed since the run was started{way_out}\n{_difference(before, now)}")


def _difference(before: str, now: str) -> str:
    diff = unified_diff(before.splitlines(), now.splitlines(), "when it was started", "now", lineterm="", n=2)
    return "\n".join(diff)


def require_free(out: Path) -> None:
    """Raises `ConfigError` if `out` is a file or a directory in use."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; name a directory with --out.")
    if out.exists() and any(entry.name not in LEFTOVERS for entry in out.iterdir()):
        way_out = f", or go on with its run: ai-battle resume {out}" if (out / FILE).exists() else "."
        raise ConfigError(f"{out} exists and is not empty; name another directory{way_out}")


def _make_directory(name: str, runs: Path) -> Path:
    """Creates a directory named by the time; a random suffix separates runs of one name in the same second."""
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:LONGEST_NAME] or "run"
    stem = taken = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{slug}"
    while True:
        try:
            os.mkdir(runs / taken, FOLDER)  # atomic, so that two processes never share a name
        except FileNotFoundError:
            runs.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            taken = f"{stem}-{token_hex(3)}"
        else:
            return runs / taken
