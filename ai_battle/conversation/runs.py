"""Lists the runs in a folder, finds them by part of a name, searches their messages, and deletes them."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from ..core.errors import ConfigError, JournalError
from ..core.events import Concluded, Event, PromptGiven, TurnFinished
from ..core.files import is_locked, lock_directory
from .reading import CONFIG, FILE, parse_line, read

RUNS_FOLDER = Path("runs")
NEWEST = "last"
NO_RUNS = "There are none yet: `ai-battle run` and `ai-battle talk` make them. Name a run elsewhere by its path."
TAIL_BYTES = 65_536
"""How many bytes at the end of a journal are searched for its last whole line."""
MOST_NAMED = 8
EXCERPT, BEFORE = 100, 30
"""Characters of an excerpt, and of its part before the word that was found."""


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A summary of a run from the first and last line of its journal.

    `status` can also be "running", "unfinished" or "unreadable". `cost_usd` is None if unknown; `begun` is an ISO time
    in UTC, empty if nothing is journalled yet.
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
        """Reads both ends of a journal, whatever its length. A damaged journal gets the status "unreadable"."""
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
    """Returns the line of a journal that begins the run and its last whole line, each empty if damaged."""
    with journal.open("rb") as file:
        first = parse_line(file.readline()) or {}
        if PurePath(str(first.get("run_dir"))).name != journal.parent.name:
            first = next(filter(None, map(_beginning, file)), first)  # the journal of a fork begins with its origin's
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        lines = file.read().split(b"\n")[:-1]  # text after the last newline is a line that is being written
    return first, parse_line(lines[-1] + b"\n" if lines else b"") or {}


def _beginning(line: bytes) -> dict[str, Any] | None:
    return parse_line(line) if b'"type":"run_started"' in line else None


def run_directories(folder: Path = RUNS_FOLDER) -> Sequence[Path]:
    """Returns the run directories in a folder, newest first: their names begin with the time."""
    if not folder.is_dir():
        return ()
    return sorted(filter(_is_run, folder.iterdir()), key=lambda each: each.name, reverse=True)


def _is_run(place: Path) -> bool:
    return (place / FILE).is_file() or (place / CONFIG).is_file()


def matching_runs(named: str, folder: Path = RUNS_FOLDER) -> Sequence[Path]:
    """Returns the runs that `last`, a full name with or without its time, or else a part of a name means."""
    known = run_directories(folder)
    found = known[:1] if named == NEWEST else [run for run in known if named in (run.name, run.name.partition("Z-")[2])]
    return found or [run for run in known if named.casefold() in run.name.casefold()]


def find_run(named: str, folder: Path = RUNS_FOLDER) -> Path:
    """Returns the one run directory that a path, a part of a name, or `last` means.

    Raises `ConfigError` if there is none, or, listing their names, if there are several.
    """
    found = [Path(named)] if _is_run(Path(named)) else matching_runs(named, folder)
    if len(found) == 1:
        return found[0]
    if not found:
        listed = "`ai-battle runs` lists those that are there." if run_directories(folder) else NO_RUNS
        raise ConfigError(f"{folder} has no run {named!r}. {listed}")
    shown = [run.name for run in found[:MOST_NAMED]]
    more = f"\n  and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
    listed = "".join(f"\n  {name}" for name in shown)
    raise ConfigError(f"{named!r} may be any of {len(found)} runs; write more of its name:{listed}{more}")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """The first message of a run that contains all words, or its outcome, with its speaker."""

    run_dir: Path
    speaker: str
    text: str

    def excerpt(self, words: Sequence[str]) -> str:
        """Returns the text around the first of the words."""
        at = max(self.text.casefold().find(words[0].casefold()) - BEFORE, 0)
        return f"{'…' if at else ''}{self.text[at : at + EXCERPT]}"


def search(words: Sequence[str], folder: Path = RUNS_FOLDER) -> Iterator[SearchHit]:
    """Yields the runs with a message, outcome or name that contains all the words in upper or lower case."""
    wanted = [word.casefold() for word in words]
    for run_dir in run_directories(folder):
        for speaker, text in _texts(run_dir):
            folded = text.casefold()
            if all(word in folded for word in wanted):
                yield SearchHit(run_dir, speaker, text)
                break


def _texts(run_dir: Path) -> Iterator[tuple[str, str]]:
    """Yields the run's name, messages and outcome, as far as the run can be read."""
    yield "", run_dir.name
    with suppress(JournalError):
        for _, event in read(run_dir):
            yield from _texts_of(event)


def _texts_of(event: Event) -> Iterator[tuple[str, str]]:
    match event:
        case PromptGiven(message=message) | TurnFinished(message=message):
            yield message.speaker, message.text
        case Concluded(speaker=speaker, text=text):
            yield speaker, text


def delete(run_dir: Path) -> None:
    """Removes a run. Raises `JournalError`, and removes nothing, if the run is being written."""
    if not _is_run(run_dir):
        raise ConfigError(f"{run_dir} is not a run directory, so it is not deleted.")
    with lock_directory(run_dir):
        shutil.rmtree(run_dir)
