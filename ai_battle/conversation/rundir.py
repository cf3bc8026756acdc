"""The run directory: where it is, how far its run has come, and whether its configuration has changed since."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from secrets import token_hex
from typing import Any

from ..core.errors import ConfigError, JournalError
from ..core.events import (
    Concluded,
    Event,
    RunFinished,
    RunResumed,
    RunStarted,
    ScriptAdvanced,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ..core.files import FOLDER, LOCK, make_private
from ..core.helping import HelpSummed
from .reading import CONFIG, FILE, read


@dataclass(slots=True)
class Progress:
    """What the journal says was done.

    `turn` is the last one that is over. `positions` are how many entries of its script each scripted participant has
    used up for what will not be asked again: turns that are over, selections and summaries; a scripted helper counts
    as "participant/helper". `started` is None when
    nothing was journalled yet; `settings` are the last that were recorded, `ended` how the run ended, if it did,
    and `outcome` what was made of it.
    """

    run_dir: Path
    started: RunStarted | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    turn: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    ended: RunFinished | None = None
    outcome: str = ""
    help: HelpSummed | None = None
    _open: set[str] = field(default_factory=set)
    _pending: dict[str, int] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do; a run that failed or was interrupted can be resumed."""
        return self.ended is not None and self.ended.status in ("done", "limit")

    @property
    def config_digest(self) -> str:
        return str(self.settings.get("config_digest", ""))

    def apply(self, event: Event) -> None:
        """What a turn used that is still open counts only when it is over: it will be played again."""
        match event:
            case RunStarted() | RunResumed():
                self._begin(event)
            case TurnStarted(speaker=speaker):
                self._open.add(speaker)
            case ScriptAdvanced(position=position, speaker=speaker):
                self._pending[speaker] = position
            case TurnFinished() | TurnFailed(policy="skip"):
                self.turn = event.turn
                self._open.discard(event.speaker)
                self._keep_positions()
            case SpeakerSelected() | Summarised():
                self._keep_positions()
            case Concluded() | HelpSummed() | RunFinished():
                self._end(event)

    def _begin(self, event: RunStarted | RunResumed) -> None:
        if isinstance(event, RunStarted):
            self.started = event
        self.ended = None
        self.settings = event.settings or self.settings
        self._open.clear()
        self._pending.clear()

    def _end(self, event: Concluded | HelpSummed | RunFinished) -> None:
        match event:
            case Concluded(text=text):
                self.outcome = text
                self._keep_positions()
            case HelpSummed():
                self.help = event
            case RunFinished():
                self.ended = event

    def _keep_positions(self) -> None:
        """Those of participants who are not in the middle of a turn: a selector's and a summariser's too."""
        for voice in [*self._pending]:
            if not any(voice == speaker or voice.startswith(f"{speaker}/") for speaker in self._open):
                self.positions[voice] = self._pending.pop(voice)


def progress(run_dir: Path) -> Progress:
    """Reads the journal once, one line in memory at a time."""
    found = Progress(run_dir)
    for _, event in read(run_dir):
        found.apply(event)
    return found


TRANSCRIPT = "transcript.md"
REPORT = "report.html"
LONGEST_NAME = 60
LEFT_BEHIND = (LOCK, f".{CONFIG}.partial")


def create(name: str, out: Path | None = None, *, runs: Path = Path("runs")) -> Path:
    """Makes `out`, or `runs/<UTC time>-<name>`.

    Raises `ConfigError` for a directory that is in use, `JournalError` for one that can't be made.
    """
    try:
        return _use_directory(out) if out is not None else _make_directory(name, runs)
    except OSError as error:
        place = out if out is not None else runs
        raise JournalError(f"{place} can't be written: {error.strerror}; name another directory with --out.") from error


def settings(config: str) -> Mapping[str, Any]:
    """What `RunStarted.settings` says of the configuration, so that a change of it is found, and can be shown."""
    return {"config": config, "config_digest": digest(config)} if config else {}


def digest(config: str) -> str:
    return hashlib.sha256(config.encode()).hexdigest()


def check_unchanged(progress: Progress, *, accept_changes: bool = False) -> Mapping[str, Any]:
    """The settings to record with `RunResumed`: new ones when a change was accepted, else none.

    Raises `ConfigError` with a diff when the configuration in the run directory is not the one that was started.
    """
    path = progress.run_dir / CONFIG
    if not progress.config_digest:
        return {}
    if not path.is_file():
        raise ConfigError(f"{path} is gone; put it back to go on with this run.")
    now = path.read_text(encoding="utf-8")
    if digest(now) == progress.config_digest:
        return {}
    if accept_changes:
        return settings(now)
    raise ConfigError(
        f"{path} has changed since the run was started; undo the change, or go on with it: --accept-changes\n"
        + _difference(str(progress.settings.get("config", "")), now)
    )


def _difference(before: str, now: str) -> str:
    diff = unified_diff(before.splitlines(), now.splitlines(), "when it was started", "now", lineterm="", n=2)
    return "\n".join(diff)


def require_free(out: Path) -> None:
    """Raises `ConfigError` for a file and for a directory that is in use."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; name a directory with --out.")
    if out.exists() and any(entry.name not in LEFT_BEHIND for entry in out.iterdir()):
        way_out = f", or go on with its run: ai-battle resume {out}" if (out / FILE).exists() else "."
        raise ConfigError(f"{out} exists and is not empty; name another directory{way_out}")


def _use_directory(out: Path) -> Path:
    require_free(out)
    make_private(out)
    return out


def _make_directory(name: str, runs: Path) -> Path:
    """Runs of one name that start in the same second are told apart by chance."""
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:LONGEST_NAME] or "run"
    stem = taken = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{slug}"
    while True:
        try:
            os.mkdir(runs / taken, FOLDER)
        except FileNotFoundError:
            runs.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            taken = f"{stem}-{token_hex(3)}"
        else:
            return runs / taken
