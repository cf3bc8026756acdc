"""The counts that workers on one machine share, in a SQLite file."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from sqlite3 import Connection

from ..core.database import Database
from ..core.errors import ConfigError
from ..core.files import is_locked
from .shared import DOLLARS, FORGET, LAPSE, PLACES, Amounts, ClaimAnswer

NAME = "counts.sqlite"
FORMAT = 1
PATIENCE = 1.0
"""Seconds for which a worker blocks at most while another one writes; usually that takes microseconds."""
CLEAN_EVERY = 64
ENDED = ""
"""In place of a worker's id: the sum of all workers that have ended."""
_SCHEMA = (
    "CREATE TABLE workers (worker TEXT PRIMARY KEY, seen REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE amounts (name TEXT, worker TEXT, used REAL NOT NULL, held REAL NOT NULL, number INTEGER NOT NULL, "
    "PRIMARY KEY (name, worker)) WITHOUT ROWID",
    "CREATE TABLE moments (name TEXT, number INTEGER, at REAL NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID",
)
_TAKE_OVER = (
    "INSERT INTO amounts (name, worker, used, held, number) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "used = excluded.used, held = excluded.held, number = excluded.number WHERE excluded.number > number"
)
_WINDOW = (
    "SELECT last.number, (SELECT at FROM moments WHERE name = ?1 AND number = last.number - ?2) FROM moments AS last "
    "WHERE name = ?1 ORDER BY number DESC LIMIT 1"
)
"""Returns the number of a key's last request, and the time of the first one that still fills the window."""
_OTHERS = (
    "SELECT total(used + iif(?4 OR ifnull(seen, 0) > ?3, 0, held)), total(iif(ifnull(seen, 0) > ?3, held, 0)) "
    "FROM amounts LEFT JOIN workers USING (worker) WHERE name = ?1 AND worker != ?2"
)
_ADD_UP = (
    "INSERT INTO amounts (name, worker, used, held, number) "
    "SELECT name, '', used + CASE WHEN name GLOB ?1 || '*' THEN 0 ELSE held END, 0, 0 FROM amounts WHERE worker = ?2 "
    "ON CONFLICT DO UPDATE SET used = used + excluded.used"
)


class SqliteCounts:
    """Shared counts in SQLite. Each step takes some 20 microseconds, so it runs in the event loop itself."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Opens the folder's file. A new one imports what earlier versions counted. Raises `ConfigError`."""
        self._database = Database(folder / NAME, _SCHEMA, FORMAT, patience=PATIENCE)
        self.clock = clock
        self._count_earlier(sorted(folder.glob("worker-*/spent.json")))

    async def claim(self, worker: str, name: str, own: Amounts, limit: float) -> ClaimAnswer:
        with self._database.transaction() as connection:
            used, held = self._others(connection, worker, name)
            granted = used + held + own.used + own.held <= limit
            if granted:
                self._renew(connection, worker)
                connection.execute(_TAKE_OVER, (name, worker, *own))
        return ClaimAnswer(granted, used, held)

    async def tell(self, worker: str, amounts: Mapping[str, Amounts]) -> None:
        with self._database.transaction() as connection:
            self._renew(connection, worker)
            dead = connection.execute("SELECT worker FROM workers WHERE seen < ?", (self.clock() - FORGET,)).fetchall()
            for (other,) in dead:
                _add_up(connection, other)
            connection.executemany(_TAKE_OVER, ((name, worker, *own) for name, own in amounts.items()))

    async def count(self, name: str, most: int, seconds: float) -> float:
        now = self.clock()
        with self._database.transaction() as connection:
            last, first = connection.execute(_WINDOW, (name, most - 1)).fetchone() or (0, None)
            if first is not None and now - seconds < first <= now:  # a clock that was set back must not shut a key out
                return max(0.001, float(first) + seconds - now)
            connection.execute("INSERT INTO moments (name, number, at) VALUES (?, ?, ?)", (name, last + 1, now))
            if last % CLEAN_EVERY == 0:
                connection.execute("DELETE FROM moments WHERE name = ? AND number <= ?", (name, last - most))
        return 0.0

    async def end(self, worker: str, names: Iterable[str]) -> None:
        with self._database.transaction() as connection:
            _add_up(connection, worker)
        self._database.close()

    def _renew(self, connection: Connection, worker: str) -> None:
        command = "INSERT INTO workers (worker, seen) VALUES (?, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen"
        connection.execute(command, (worker, self.clock()))

    def _others(self, connection: Connection, worker: str, name: str) -> tuple[float, float]:
        """Returns what the other workers have used, and what the living ones hold."""
        values = (name, worker, self.clock() - LAPSE, name.startswith(PLACES))
        used, held = connection.execute(_OTHERS, values).fetchone()
        return used, held

    def _count_earlier(self, files: Sequence[Path]) -> None:
        """Imports the spending files of earlier versions and deletes them: a new database would count them again."""
        spent = {file.parent.name: [*_read_spent(file)] for file in files}
        with self._database.transaction() as connection:
            for worker, keys in spent.items():
                rows = ((f"{DOLLARS}{key}", worker, *Amounts(dollars, 0.0, 1)) for key, dollars in keys)
                connection.executemany(_TAKE_OVER, rows)
                _add_up(connection, worker)
        for file in files:
            file.unlink(missing_ok=True)


def _add_up(connection: Connection, worker: str) -> None:
    connection.execute(_ADD_UP, (PLACES, worker))
    connection.execute("DELETE FROM amounts WHERE worker = ?", (worker,))
    connection.execute("DELETE FROM workers WHERE worker = ?", (worker,))


def _read_spent(file: Path) -> Iterator[tuple[str, float]]:
    if is_locked(file.parent):
        raise ConfigError(f"An earlier version of ai-battle still serves from {file.parent}; end it first.")
    try:
        for name, dollars in json.loads(file.read_bytes()).items():
            yield str(name), float(dollars)
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"{file} does not say what keys have spent; mend or remove it.") from error
