"""The runs of a folder: what each one was, which of them a few letters mean, and how one is removed."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from ..core.errors import ConfigError, JournalError
from ..core.files import is_locked, lock_directory
from .reading import CONFIG, FILE, messages

RUNS = Path("runs")
LAST = "last"
TAIL = 65_536
"""Bytes from the end of a journal in which its last whole line is looked for."""
MOST_NAMED = 8
EXCERPT, BEFORE = 100, 30
"""Characters of what is shown of a message, and of that before the word that was looked for."""


@dataclass(frozen=True, slots=True)
class RunOverview:
    """What the first and the last line of a journal say. `status` is also "running", "unfinished" or "unreadable".

    `cost_usd` is None where it is not known; `begun` is an ISO time in UTC, empty where nothing was journalled yet.
    """

    run_dir: Path
    name: str = ""
    begun: str = ""
    models: tuple[str, ...] = ()
    status: str = "unreadable"
    turns: int | None = None
    cost_usd: float | None = None

    @classmethod
    def read(cls, run_dir: Path) -> "RunOverview":
        """Costs two reads of a file, however long the run was; a damaged journal is told by its status."""
        try:
            first, last = _ends(run_dir / FILE)
        except FileNotFoundError:
            return cls(run_dir, status=_open_status(run_dir))
        except OSError:
            return cls(run_dir)
        return cls._of(run_dir, first, last) if first.get("type") == "run_started" else cls(run_dir)

    @classmethod
    def _of(cls, run_dir: Path, first: dict[str, Any], last: dict[str, Any]) -> "RunOverview":
        models = tuple(map(str, dict(first["participants"]).values()))
        begun = cls(run_dir, str(first["name"]), str(first["time"]), models, _open_status(run_dir))
        if last.get("type") != "run_finished":
            return begun
        return replace(begun, status=str(last["status"]), turns=last["turns"], cost_usd=last["usage"]["cost_usd"])


def _open_status(run_dir: Path) -> str:
    return "running" if is_locked(run_dir) else "unfinished"


def _ends(journal: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the first line of a journal and its last whole one; an empty mapping for one that is damaged."""
    with journal.open("rb") as file:
        first = file.readline()
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
        lines = file.read().split(b"\n")[:-1]
    return _record(first), _record(lines[-1] if lines else b"")


def _record(line: bytes) -> dict[str, Any]:
    try:
        found = from_json(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def run_directories(folder: Path = RUNS) -> Sequence[Path]:
    """Returns the run directories in a folder, those that were begun last first: their names begin with the time."""
    if not folder.is_dir():
        return ()
    return sorted(filter(_is_run, folder.iterdir()), key=lambda each: each.name, reverse=True)


def _is_run(place: Path) -> bool:
    return (place / FILE).is_file() or (place / CONFIG).is_file()


def matching_runs(named: str, folder: Path = RUNS) -> Sequence[Path]:
    """Returns the runs that `last`, a name, or else a part of a name means."""
    known = run_directories(folder)
    found = known[:1] if named == LAST else [run for run in known if run.name == named]
    return found or [run for run in known if named.casefold() in run.name.casefold()]


def find_run(named: str, folder: Path = RUNS) -> Path:
    """Returns the one run directory that a path, a part of a name, or `last` means.

    Raises `ConfigError` where there is none, and where several are meant, with their names.
    """
    found = [Path(named)] if _is_run(Path(named)) else matching_runs(named, folder)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(f"{folder} has no run {named!r}. `ai-battle runs` lists those that are there.")
    shown = [run.name for run in found[:MOST_NAMED]]
    more = f"\n  and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
    listed = "".join(f"\n  {name}" for name in shown)
    raise ConfigError(f"{named!r} may be any of {len(found)} runs; write more of its name:{listed}{more}")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """The first message of a run in which all words stand: who said it, and what."""

    run_dir: Path
    speaker: str
    text: str

    def excerpt(self, words: Sequence[str]) -> str:
        """Returns what stands around the first of the words."""
        at = max(self.text.casefold().find(words[0].casefold()) - BEFORE, 0)
        return f"{'…' if at else ''}{self.text[at : at + EXCERPT]}"


def search(words: Sequence[str], folder: Path = RUNS) -> Iterator[SearchHit]:
    """Yields the runs in which one message, or the name, has all the words; upper and lower case are the same."""
    wanted = [word.casefold() for word in words]
    for run_dir in run_directories(folder):
        for speaker, text in _texts(run_dir):
            folded = text.casefold()
            if all(word in folded for word in wanted):
                yield SearchHit(run_dir, speaker, text)
                break


def _texts(run_dir: Path) -> Iterator[tuple[str, str]]:
    """Yields the name and what was said; a run that can't be read to its end is read as far as it can."""
    yield "", run_dir.name
    try:
        for message in messages(run_dir):
            yield message.speaker, message.text
    except JournalError:
        return


def delete(run_dir: Path) -> None:
    """Removes a run; raises `JournalError` for one that is being written, and then nothing of it is gone."""
    if not _is_run(run_dir):
        raise ConfigError(f"{run_dir} is no run directory, so it is not deleted.")
    with lock_directory(run_dir):
        shutil.rmtree(run_dir)
