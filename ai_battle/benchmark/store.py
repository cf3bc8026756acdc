"""The results of a benchmark in `results.sqlite`. A sample counts as finished only once it is durable."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ..config.benchmark import Unscored
from ..core.errors import JournalError, NoSuchRecord
from ..core.files import RunLock, make_private, open_private
from .sample import Sample, SampleKey
from .tasks import Task

NAME = "results.sqlite"
FORMAT = 2
UNFINISHED = "unfinished_usd"
_SCHEMA = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE settings (place INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, described TEXT NOT NULL);
CREATE TABLE tasks (place INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, task TEXT NOT NULL);
CREATE TABLE answers (key BLOB PRIMARY KEY, response TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE samples (
    setting TEXT NOT NULL, task TEXT NOT NULL, repeat INTEGER NOT NULL, has_failed INTEGER NOT NULL,
    spent_usd REAL NOT NULL, sample TEXT NOT NULL, PRIMARY KEY (setting, task, repeat)
) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""
_read_task, _read_sample = msgspec.json.Decoder(Task).decode, msgspec.json.Decoder(Sample).decode


class Store:
    """The results of a benchmark. One process writes while any number of others read. Raises `JournalError`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: RunLock | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock

    @classmethod
    def create(cls, folder: Path) -> "Store":
        """Creates results in `folder`, which must not have any."""
        try:
            make_private(folder)
        except OSError as error:
            raise JournalError(f"{folder} can't be used for results: {error.strerror}; name another folder.") from error
        lock = RunLock(folder)
        if (folder / NAME).exists():
            lock.release()
            raise JournalError(f"{folder} already has results; continue them (bench resume), or name another folder.")
        store = cls(folder, _connect(folder / NAME), lock)
        with store._writing():
            for statement in _SCHEMA.split(";"):
                store._connection.execute(statement)
        return store

    @classmethod
    def open(cls, folder: Path, *, to_write: bool = False) -> "Store":
        """Opens existing results."""
        if not (folder / NAME).is_file():
            raise NoSuchRecord(f"{folder} has no results: there is no {NAME} in it.")
        lock = RunLock(folder) if to_write else None
        store = cls(folder, _connect(folder / NAME), lock)
        try:
            store._check()
        except JournalError:
            store.close()
            raise
        return store

    def close(self) -> None:
        self._connection.close()
        if self._lock:
            self._lock.release()

    def begin(self, tasks: Iterable[Task], settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Stores the tasks and settings in their order."""
        with self._writing():
            self._connection.executemany(
                "INSERT INTO settings (name, described) VALUES (?, ?)",
                ((name, json_text(described)) for name, described in settings.items()),
            )
            self._connection.executemany(
                "INSERT INTO tasks (id, task) VALUES (?, ?)", ((task.id, json_text(task)) for task in tasks)
            )

    def add(self, samples: Sequence[Sample]) -> None:
        """Adds all samples or none. Once it returns, they survive even if the process is killed."""
        with self._writing():
            self._connection.executemany(
                "INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?)",
                ((*each.key, each.has_failed, each.spent_usd, json_text(each)) for each in samples),
            )

    def set_fact(self, name: str, value: Any) -> None:
        """Stores a fact about the whole run: its name, its forecast, its spending."""
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json_text(value)))

    def fact(self, name: str, default: Any = None) -> Any:
        found = next(self._read("SELECT value FROM facts WHERE name = ?", name), None)
        return msgspec.json.decode(found[0]) if found else default

    @property
    def unscored_rule(self) -> Unscored:
        """How answers that no scorer could read are counted."""
        found: Unscored = self.fact("unscored", "wrong")
        return found

    def settings(self) -> dict[str, Mapping[str, Any]]:
        """Returns the settings by name in their order: `{model, secondary, strategy, ...}`."""
        rows = self._read("SELECT name, described FROM settings ORDER BY place")
        return {name: msgspec.json.decode(described) for name, described in rows}

    def tasks(self) -> Iterator[Task]:
        for (task,) in self._read("SELECT task FROM tasks ORDER BY place"):
            yield _read_task(task)

    def samples(self, setting: str = "") -> Iterator[Sample]:
        """Reads the samples of one setting or of all, by setting, task and repeat."""
        where, values = ("WHERE setting = ?", (setting,)) if setting else ("", ())
        query = f"SELECT sample FROM samples {where} ORDER BY setting, task, repeat"  # noqa: S608
        return (_read_sample(sample) for (sample,) in self._read(query, *values))

    def finished_keys(self, *, with_failed: bool = True) -> set[SampleKey]:
        where = "" if with_failed else "WHERE NOT has_failed"
        return {SampleKey(*row) for row in self._read(f"SELECT setting, task, repeat FROM samples {where}")}  # noqa: S608

    def spent_dollars(self) -> float:
        """Returns the dollars that were paid, including calls that led to no sample."""
        return float(next(self._read("SELECT TOTAL(spent_usd) FROM samples"))[0]) + float(self.fact(UNFINISHED, 0.0))

    def set_spent(self, dollars: float) -> None:
        """Stores the part of the total that belongs to no sample."""
        self.set_fact(UNFINISHED, max(0.0, dollars - self.spent_dollars() + float(self.fact(UNFINISHED, 0.0))))

    def answer(self, key: bytes) -> str | None:
        """Returns the cached answer to a request."""
        found = next(self._read("SELECT response FROM answers WHERE key = ?", key), None)
        return found[0] if found else None

    def keep_answer(self, key: bytes, response: str) -> None:
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, response))

    def _read(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(query, values)
        except sqlite3.Error as error:
            raise JournalError(
                f"{self.folder / NAME} can't be read: {error}. If it is damaged, save what is left of it with: "
                f"sqlite3 {NAME} .recover"
            ) from error

    def _check(self) -> None:
        (found,) = next(self._read("PRAGMA user_version"))
        if found > FORMAT:
            raise JournalError(
                f"{self.folder / NAME} is of a newer ai-battle (format {found}, this one reads {FORMAT}); update it."
            )
        if 0 < found < FORMAT:
            raise JournalError(
                f"{self.folder / NAME} is of an older ai-battle (format {found}, this one reads {FORMAT}); "
                "run the benchmark anew, into another folder."
            )
        if found < 1:
            raise JournalError(f"{self.folder / NAME} is not a file of results, or was never begun; start anew.")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Begins a transaction, whose statements all count once it ends, or none of them."""
        try:
            self._connection.execute("BEGIN")
            yield
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise JournalError(
                f"{self.folder / NAME} can't be written: {error}. What is finished is kept; see that there is space, "
                f"then go on with: ai-battle bench resume {self.folder}"
            ) from error


def _connect(path: Path) -> sqlite3.Connection:
    """Opens the database with a write-ahead log: commits survive the process, and readers never wait."""
    try:
        if not path.exists():
            # SQLite gives its other files the permissions of this one.
            os.close(open_private(str(path), os.O_WRONLY | os.O_CREAT))
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        with ExitStack() as opened:
            opened.callback(connection.close)
            connection.execute("PRAGMA journal_mode = WAL")
            # NORMAL syncs at checkpoints only: a power cut may lose the last commits, but never damages the file.
            connection.execute("PRAGMA synchronous = NORMAL")
            opened.pop_all()
    except (OSError, sqlite3.Error) as error:
        raise JournalError(f"{path} can't be opened: {error}.") from error
    return connection


def json_text(value: Any) -> str:
    """Returns a task, a sample or plain values as JSON."""
    return msgspec.json.encode(value).decode()
