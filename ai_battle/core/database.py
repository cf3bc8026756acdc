"""A SQLite file that several processes of a machine share: opening, transactions, and errors."""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from .errors import StoreError
from .files import make_private, open_private

LOCK_SECONDS = 5.0
"""Seconds to wait until another process has written."""
PAGE = 4096
MOST_BYTES = 4 * 1024**3


class Database:
    """A SQLite file. Every transaction may wait for other processes; all methods raise `StoreError` naming the file."""

    def __init__(
        self,
        path: Path,
        schema: Sequence[str],
        format_: int,
        *,
        most_bytes: int = MOST_BYTES,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        """Opens the file, or creates it by `schema`; `format_` is the version number of that schema."""
        self.path = path
        self._lock = Lock()
        self._connection = _connect(path, lock_seconds)
        try:
            self._set_up(most_bytes)
            self._prepare(schema, format_)
        except StoreError:
            self._connection.close()
            raise

    @contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Opens a transaction. Readers pass `BEGIN`, so that they never wait."""
        with self._lock, sqlite_errors(self.path):
            try:
                self._connection.execute(begin)
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.rollback()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _set_up(self, most_bytes: int) -> None:
        # With a write-ahead log a commit survives the process, and readers never wait for a writer.
        with sqlite_errors(self.path):
            for pragma in ("journal_mode = WAL", "synchronous = NORMAL", f"max_page_count = {most_bytes // PAGE}"):
                self._connection.execute(f"PRAGMA {pragma}")

    def _prepare(self, schema: Sequence[str], format_: int) -> None:
        with self.transaction() as connection:
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found == 0:
                for command in (*schema, f"PRAGMA user_version = {format_}"):
                    connection.execute(command)
            elif found != format_:
                raise StoreError(
                    f"{self.path} was made by another version of ai-battle (format {found}, this one has {format_}); "
                    "use the version that made it, or move the file away and start again."
                )


def _connect(path: Path, lock_seconds: float) -> sqlite3.Connection:
    with sqlite_errors(path):
        make_private(path.parent)
        # SQLite creates its other files with the permissions of this one.
        os.close(open_private(str(path), os.O_WRONLY | os.O_CREAT))
        return sqlite3.connect(path, timeout=lock_seconds, isolation_level=None, check_same_thread=False)


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turns the errors of SQLite into `StoreError` with advice."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} can't be opened: {error.strerror}; set XDG_STATE_HOME, or state: under server:, to another folder."
        ) from error
    except (sqlite3.Error, json.JSONDecodeError) as error:
        damaged = (
            f"If it is damaged, save what is left with 'sqlite3 {path.name} .recover', or move it away and start again."
        )
        way_out = next((words for sign, words in _WAYS_OUT.items() if sign in str(error)), damaged)
        raise StoreError(f"{path} can't be used: {error}. {way_out}") from error


_WAYS_OUT = {
    "full": "Make room on the disk, or delete what is no longer needed; what was kept before is still there.",
    "locked": "Another process has been writing for long; see what it does, or try again.",
    "readonly": "It needs to be writable for the user who runs this.",
    "fts5": "Python's SQLite lacks full-text search; use one that is compiled with FTS5.",
}
