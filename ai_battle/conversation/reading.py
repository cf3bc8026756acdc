"""Reads a journal line by line, even while it is being written, and finds how far its run has come."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple

from pydantic_core import from_json

from ..core.errors import JournalError, NoSuchRecord
from ..core.events import (
    Concluded,
    Event,
    PromptGiven,
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
from ..core.helping import HelpSummed, RunJudged
from ..core.messages import Message
from . import records

VERSION = 1
FILE = "journal.jsonl"
CONFIG = "config.yaml"
TRANSCRIPT = "transcript.md"
REPORT = "report.html"
_MESSAGE_TYPES = ("prompt_given", "turn_finished")
_log = logging.getLogger(__name__)


class JournalLine(NamedTuple):
    """A whole line: its start and end in the file, and its record."""

    number: int
    start: int
    end: int
    record: records.Record


def lines(run_dir: Path) -> Iterator[JournalLine]:
    """Yields each whole line once, skipping lines whose number was there before.

    A torn last line (no newline, or no JSON) is skipped too; missing and repeated lines are logged once. Raises
    `JournalError` if there is no journal, if its format is newer, or if lines follow a malformed one.
    """
    order = Order(run_dir)
    for line in whole_lines(run_dir):
        if fault := order.fault(line):
            _warn(fault)
        if order.is_new:
            yield line


class Order:
    """Checks the numbers of lines, each of which is one more than the one before."""

    def __init__(self, run_dir: Path) -> None:
        self.next = 0
        self.is_new = True
        self._path = run_dir / FILE

    def fault(self, line: JournalLine) -> str:
        """Returns what is wrong with the line's number, naming the place; empty if nothing is."""
        seq, expected = line.record["seq"], self.next
        self.is_new = seq >= expected
        self.next = max(expected, seq + 1)
        if seq == expected:
            return ""
        if self.is_new:
            gone = f"line {expected} is" if seq == expected + 1 else f"lines {expected} to {seq - 1} are"
            return f"{self._path}:{line.number}: {gone} missing before this one, which is line {seq} by its 'seq'."
        return f"{self._path}:{line.number}: line {seq} by its 'seq' is there already; this one is passed over."


@lru_cache(maxsize=1024)
def _warn(fault: str) -> None:
    """Warns once per fault, because a journal is read several times."""
    _log.warning("%s", fault)


def whole_lines(run_dir: Path, start: int = 0) -> Iterator[JournalLine]:
    """Yields the lines in file order, repeated ones included, from byte `start` on, where a line must begin."""
    path, end, malformed = run_dir / FILE, start, 0
    with open_journal(run_dir) as file:
        file.seek(start)
        for number, data in enumerate(file, 1):
            if malformed:
                raise JournalError(f"{path}:{malformed}: malformed line; repair or remove it to read this run.")
            start, end = end, end + len(data)
            record = parse_line(data)
            if record is None:
                malformed = number  # a torn line is normal at the end; only a line after it makes it an error
                continue
            _check(record, f"{path}:{number}")
            yield JournalLine(number, start, end, record)


def open_journal(run_dir: Path) -> IO[bytes]:
    """Opens the journal. Returns an empty file if the run was prepared but nothing is written yet."""
    try:
        return open(run_dir / FILE, "rb")
    except FileNotFoundError as error:
        if (run_dir / CONFIG).is_file():
            return BytesIO()
        lost = "there is no such folder; 'ai-battle runs' lists the runs, or says how to begin one"
        why = f"it has no {FILE}" if run_dir.is_dir() else lost
        raise NoSuchRecord(f"{run_dir} is not a run directory: {why}.") from error
    except NotADirectoryError as error:
        way_out = "name the folder that 'ai-battle run' made for a run; its last line says which"
        raise NoSuchRecord(f"{run_dir} is a file, not a run directory; {way_out}.") from error
    except OSError as error:
        raise JournalError(f"{run_dir / FILE} can't be read: {error.strerror}.") from error


def read(run_dir: Path) -> Iterator[tuple[records.Record, Event]]:
    """Yields every journalled event with its record, in order, holding one line in memory at a time."""
    for line in lines(run_dir):
        yield line.record, event_of(line, run_dir)


def event_of(line: JournalLine, run_dir: Path) -> Event:
    try:
        return records.event(line.record)
    except ValueError as error:
        raise JournalError(f"{run_dir / FILE}:{line.number}: {error}.") from error


def messages(run_dir: Path) -> list[Message]:
    """Returns the messages of a run, in order; the prompt comes first."""
    return [event.message for _, event in read(run_dir) if isinstance(event, PromptGiven | TurnFinished)]


def parse_line(data: bytes) -> records.Record | None:
    """Returns the record in a whole line, None if it is torn or malformed."""
    try:
        record = from_json(data) if data.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) and "type" in record else None


def _is_time(written: object) -> bool:
    try:
        return isinstance(written, str) and datetime.fromisoformat(written) is not None
    except ValueError:
        return False


def _check(record: records.Record, place: str) -> None:
    version = record.get("v")
    if not isinstance(version, int):
        raise JournalError(f"{place}: the line has no format version 'v'.")
    if type(record.get("seq")) is not int or record["seq"] < 0:
        raise JournalError(f"{place}: the line has no number 'seq'.")
    if not _is_time(record.get("time")):
        raise JournalError(f"{place}: the line has no 'time', such as 2026-01-31T12:00:00.000+00:00.")
    if version > VERSION:
        raise JournalError(
            f"{place}: written in journal format {version}, this ai-battle reads up to {VERSION}; "
            "upgrade it: pip install -U ai-battle"
        )


@dataclass(slots=True)
class Progress:
    """How far the run in a journal has come.

    `turn` is the last finished turn. `positions` count the script entries of each scripted participant that are used up
    for good: by finished turns, selections and summaries. A scripted helper counts as "participant/helper". `started`
    is None if nothing is journalled yet, and `ended` is None unless the run has ended. `settings` are the last recorded
    ones; `outcome` is the text of the outcome.
    """

    run_dir: Path
    started: RunStarted | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    turn: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    ended: RunFinished | None = None
    outcome: str = ""
    help: HelpSummed | None = None
    judged: RunJudged | None = None
    _open: set[str] = field(default_factory=set)
    _pending: dict[str, int] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """True if nothing is left to do. A run that failed or was interrupted can be resumed."""
        return self.ended is not None and self.ended.status in ("done", "limit")

    @property
    def config_digest(self) -> str:
        return str(self.settings.get("config_digest", ""))

    def apply(self, event: Event) -> None:
        """Applies an event. Script entries of an open turn count only when it ends, because it would be taken again."""
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
            case Concluded() | HelpSummed() | RunJudged() | RunFinished():
                self._end(event)

    def _begin(self, event: RunStarted | RunResumed) -> None:
        if isinstance(event, RunStarted):
            self.started = event
        self.ended = self.help = None
        self.settings = event.settings or self.settings
        self._open.clear()
        self._pending.clear()

    def _end(self, event: Concluded | HelpSummed | RunJudged | RunFinished) -> None:
        match event:
            case Concluded(text=text):
                self.outcome = text
                self._keep_positions()
            case HelpSummed():
                self.help = event
            case RunJudged():
                self.judged = event
            case RunFinished():
                self.ended = event

    def _keep_positions(self) -> None:
        """Keeps the positions of all scripts, selectors' and summarisers' included, except those in an open turn."""
        for name in [*self._pending]:
            if not any(name == speaker or name.startswith(f"{speaker}/") for speaker in self._open):
                self.positions[name] = self._pending.pop(name)


def progress(run_dir: Path) -> Progress:
    """Reads how far a run has come, holding one line of its journal in memory at a time."""
    found = Progress(run_dir)
    for _, event in read(run_dir):
        found.apply(event)
    return found
