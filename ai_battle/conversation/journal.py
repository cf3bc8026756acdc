"""Creates run directories and writes journals: one line per event, handed to the system before the next turn."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from ..core.errors import ConfigError, JournalError
from ..core.events import DELTAS, Event, RunFinished, RunStarted, Summarised, TurnFailed, TurnFinished, Warned
from ..core.files import LOCK, RunLock, copy_of, make_dated, make_private, open_private, sync_folders, write_private
from ..core.tooling import HeldCall, ToolCalled
from . import records
from .reading import CONFIG, FILE, VERSION, Order, messages, open_journal, progress, read, whole_lines

__all__ = ["Durability", "Journal", "messages", "progress", "read"]

Durability = Literal["every_second", "every_turn"]

LEFTOVERS = (LOCK, f".{CONFIG}.partial")
"""Files of an interrupted start, which don't make a directory count as used."""
SECONDS_UNSYNCED = 1.0
NEW_PLACE = "name a directory that can with --out DIR"
MOST_FAULTS = 20
"""How many missing or repeated lines are reported when a journal is reopened."""
_SYNCED = (TurnFinished, TurnFailed, Summarised, ToolCalled, HeldCall, RunStarted, RunFinished)
_sync_data = getattr(os, "fdatasync", os.fsync)  # macOS and Windows lack fdatasync
_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="journal-sync")


class Journal:
    """Records every event but deltas, and holds the lock of the run directory until it is closed.

    Each event is one `write`, so a killed process loses no event that was published, and a reader finds whole lines at
    any time. Lines are synced to disk within a second, or with `every_turn` before a turn ends. After a failed write
    the journal refuses every event with the same `JournalError`, so that nothing more is paid for. `warnings` holds
    what reopening found and repaired; the caller emits it.
    """

    def __init__(self, run_dir: Path, durability: Durability, *, fresh: bool, config: str = "") -> None:
        self.run_dir = run_dir
        self.warnings: tuple[Warned, ...] = ()
        self._every_turn = durability == "every_turn"
        self._copy = copy_of(run_dir)
        self._sync_due: asyncio.TimerHandle | None = None
        self._syncing: asyncio.Future[None] | None = None
        self._broken = ""
        self._closed = False
        self._seq = self._end = 0
        self._has_synced_directories = False
        with (
            ExitStack() as undo,
            _writing(run_dir, NEW_PLACE if fresh else "resume a copy of it elsewhere"),
        ):
            self._lock = RunLock(run_dir)
            undo.callback(self._lock.release)
            if config and not (run_dir / FILE).exists():  # another process may have begun a run there meanwhile
                write_private(run_dir / CONFIG, [config])
            self._fd = _open_file(run_dir / FILE, os.O_EXCL if fresh else 0)
            undo.callback(os.close, self._fd)
            if not fresh:
                self._repair()
            undo.pop_all()  # nothing failed: keep the lock and the open file

    @classmethod
    def create(cls, run_dir: Path, durability: Durability = "every_second", config: str = "") -> "Journal":
        """Creates a journal in `run_dir`, which is made if missing, and saves the resolved `config` next to it."""
        with _writing(run_dir, NEW_PLACE):
            make_private(run_dir)
        return cls(run_dir, durability, fresh=True, config=config)

    @classmethod
    def reopen(cls, run_dir: Path, durability: Durability = "every_second") -> "Journal":
        """Continues the journal of an earlier process. A torn last line is cut off and reported in `warnings`."""
        open_journal(run_dir).close()
        return cls(run_dir, durability, fresh=False)

    async def __call__(self, event: Event) -> None:
        if isinstance(event, DELTAS):
            return
        self._raise_if_broken()
        self._write(self._line(event))
        if self._every_turn and isinstance(event, _SYNCED):
            await self._wait_until_synced()
        elif self._sync_due is None:
            self._sync_due = asyncio.get_running_loop().call_later(SECONDS_UNSYNCED, self._sync_soon)

    async def __aenter__(self) -> "Journal":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Syncs and releases the run directory. Closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._sync_due is not None:
            self._sync_due.cancel()
        try:
            await self._wait_until_synced()
        finally:
            os.close(self._fd)
            self._lock.release()  # last, so that a process that waits for it finds all lines
            self._broken = f"The journal of {self.run_dir} is closed."

    def _repair(self) -> None:
        order = Order(self.run_dir)
        faults: list[str] = []
        for line in whole_lines(self.run_dir):
            faults += filter(None, [order.fault(line)])
            self._end = line.end
        self._seq = order.next
        self.warnings = tuple(map(Warned, faults[:MOST_FAULTS]))
        torn = os.fstat(self._fd).st_size - self._end
        if torn:
            os.ftruncate(self._fd, self._end)
            words = f"The journal ended in a half-written line; {torn} bytes were cut off."
            self.warnings = (*self.warnings, Warned(words))

    def _line(self, event: Event) -> bytes:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        data = records.record_bytes({"v": VERSION, "seq": self._seq, "time": time, **records.record(event)})
        return data + b"\n"

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
            while written < len(line):  # the system may take a part of the line only
                written += os.write(self._fd, line[written:])
        except OSError as error:
            self._break(error)
            with suppress(OSError):  # a full disk may hold half of the line, which would make later lines unreadable
                os.ftruncate(self._fd, self._end)
            self._raise_if_broken()
        self._seq += 1
        self._end += len(line)

    def _sync_soon(self) -> None:
        """Starts a sync in the background. If it fails, the next event is refused."""
        self._sync_due = None
        self._syncing = asyncio.get_running_loop().run_in_executor(_threads, self._sync)

    async def _wait_until_synced(self) -> None:
        if self._syncing is not None:
            await self._syncing
        if not self._broken:
            await asyncio.get_running_loop().run_in_executor(_threads, self._sync)
            self._raise_if_broken()

    def _sync(self) -> None:
        try:
            if not self._has_synced_directories:
                # Without this, a power loss could drop the new file itself.
                sync_folders(self.run_dir / CONFIG, self.run_dir, self.run_dir.absolute().parent)
                self._has_synced_directories = True
            _sync_data(self._fd)
            if self._copy:
                self._copy.store() if self._every_turn else self._copy.require_own()
        except OSError as error:
            self._break(error)
        except JournalError as error:
            self._broken = str(error)

    def _break(self, error: OSError) -> None:
        self._broken = (
            f"{self.run_dir / FILE} can't be written: {error.strerror}. "
            f"Make room, then go on with: ai-battle resume {self.run_dir}"
        )

    def _raise_if_broken(self) -> None:
        if self._broken:
            raise JournalError(self._broken)


@contextmanager
def _writing(run_dir: Path, way_out: str) -> Iterator[None]:
    """Turns errors of the system into `JournalError`."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"{run_dir} can't be written: {error.strerror}; {way_out}.") from error


def _open_file(path: Path, flags: int) -> int:
    try:
        return open_private(str(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT | flags)
    except FileExistsError:
        way_out = f"go on with it (ai-battle resume {path.parent}) or name another directory"
        raise JournalError(f"{path} exists; {way_out}.") from None


def create_run_dir(name: str, out: Path | None = None, *, runs: Path = Path("runs")) -> Path:
    """Creates `out`, or `runs/<UTC time>-<name>`.

    Raises `ConfigError` if the directory is in use, and `JournalError` if it can't be created.
    """
    with _writing(out or runs, NEW_PLACE):
        if out is None:
            return make_dated(name, runs)
        require_free(out)
        make_private(out)
        return out


def require_free(out: Path) -> None:
    """Raises `ConfigError` if `out` is a file or a directory in use."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; name a directory with --out.")
    if out.exists() and any(entry.name not in LEFTOVERS for entry in out.iterdir()):
        way_out = f", or go on with its run: ai-battle resume {out}" if (out / FILE).exists() else "."
        raise ConfigError(f"{out} exists and is not empty; name another directory{way_out}")
