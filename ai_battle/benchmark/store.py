"""The results of a benchmark in `results.sqlite`. A sample counts as finished only once it is durable."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, astuple, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..config.benchmark import Unscored
from ..core.errors import JournalError, NoSuchRecord
from ..core.exchange import NOTHING_USED, ToolSpec, Usage
from ..core.files import RunLock, make_private, open_private
from .sample import NO_HELP, AnswerScore, HelpRecord, Sample, SampleKey
from .tasks import Recording, Task

NAME = "results.sqlite"
FORMAT = 1
UNFINISHED = "unfinished_usd"
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE settings (place INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, described TEXT NOT NULL);
CREATE TABLE tasks (place INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, task TEXT NOT NULL);
CREATE TABLE answers (key BLOB PRIMARY KEY, response TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE samples (
    setting TEXT NOT NULL, task TEXT NOT NULL, repeat INTEGER NOT NULL, answer TEXT NOT NULL, score REAL,
    why TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost_usd REAL,
    seconds REAL NOT NULL, helped INTEGER NOT NULL, quality REAL, reason TEXT NOT NULL, small_answer TEXT NOT NULL,
    large_answer TEXT NOT NULL, small_score REAL, large_score REAL, error TEXT NOT NULL, spent_usd REAL NOT NULL,
    more TEXT NOT NULL, PRIMARY KEY (setting, task, repeat)
) WITHOUT ROWID;
"""


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
            store._connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
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
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "INSERT INTO settings (name, described) VALUES (?, ?)",
                ((name, json_text(described)) for name, described in settings.items()),
            )
            self._connection.executemany(
                "INSERT INTO tasks (id, task) VALUES (?, ?)", ((task.id, task_text(task)) for task in tasks)
            )
            self._connection.execute("COMMIT")

    def add(self, samples: Sequence[Sample]) -> None:
        """Adds all samples or none. Once it returns, they survive even if the process is killed."""
        with self._writing():
            self._connection.execute("BEGIN")
            self._connection.executemany(INSERT_SAMPLE, map(sample_row, samples))
            self._connection.execute("COMMIT")

    def set_fact(self, name: str, value: Any) -> None:
        """Stores a fact about the whole run: its name, its forecast, its spending."""
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json_text(value)))

    def fact(self, name: str, default: Any = None) -> Any:
        found = next(self._read("SELECT value FROM facts WHERE name = ?", name), None)
        return json.loads(found[0]) if found else default

    @property
    def unscored_rule(self) -> Unscored:
        """How answers that no scorer could read are counted."""
        found: Unscored = self.fact("unscored", "wrong")
        return found

    def settings(self) -> dict[str, Mapping[str, Any]]:
        """Returns the settings by name in their order: `{model, secondary, strategy, ...}`."""
        rows = self._read("SELECT name, described FROM settings ORDER BY place")
        return {name: json.loads(described) for name, described in rows}

    def tasks(self) -> Iterator[Task]:
        for (task,) in self._read("SELECT task FROM tasks ORDER BY place"):
            yield task_from(task)

    def samples(self, setting: str = "") -> Iterator[Sample]:
        """Reads the samples of one setting or of all, by setting, task and repeat."""
        where, values = ("WHERE setting = ?", (setting,)) if setting else ("", ())
        query = f"SELECT * FROM samples {where} ORDER BY setting, task, repeat"  # noqa: S608
        return map(sample_from, self._read(query, *values))

    def finished_keys(self, *, with_failed: bool = True) -> set[SampleKey]:
        where = "" if with_failed else "WHERE error = '' AND json_extract(more, '$.scorer_failed') IS NULL"
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
        if found < 1:
            raise JournalError(f"{self.folder / NAME} is not a file of results, or was never begun; start anew.")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
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


json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_TASK_FIELDS = tuple(each.name for each in fields(Task))
_task_values = attrgetter(*_TASK_FIELDS)


def task_text(task: Task) -> str:
    """Returns the task as text, without fields that it lacks."""
    data = {name: value for name, value in zip(_TASK_FIELDS, _task_values(task), strict=True) if value}
    if task.tools:
        data["tools"] = [{"name": t.name, "description": t.description, "schema": t.schema} for t in task.tools]
    if task.recorded:
        data["recorded"] = {role: asdict(answer) for role, answer in task.recorded.items()}
    return json_text(data)


def task_from(text: str) -> Task:
    data = json.loads(text)
    data["tools"] = tuple(ToolSpec(**tool) for tool in data.get("tools", ()))
    data["options"] = tuple(data.get("options", ()))
    data["recorded"] = {role: Recording(**answer) for role, answer in data.get("recorded", {}).items()}
    return Task(**{"prompt": "", **data})


_SAMPLE_FIELDS = (
    "setting", "task", "repeat", "answer", "score.value", "score.why", "usage.input_tokens", "usage.output_tokens",
    "usage.cost_usd", "seconds", "helped", "quality", "reason", "small_answer", "large_answer", "small_score",
    "large_score", "error", "spent_usd",
)  # fmt: skip
"""Where the columns of a sample are found in it, in the order of the table; `more` comes last."""

_sample_values = attrgetter(*_SAMPLE_FIELDS)
_wasted_values = attrgetter(*(f"wasted.{each.name}" for each in fields(Usage)))
INSERT_SAMPLE = f"INSERT OR REPLACE INTO samples VALUES ({'?, ' * len(_SAMPLE_FIELDS)}?)"  # noqa: S608 - question marks
NOTHING_MORE = "{}"


def sample_row(sample: Sample) -> tuple[Any, ...]:
    return (*_sample_values(sample), json_text(more) if (more := _optional_values(sample)) else NOTHING_MORE)


def _optional_values(sample: Sample) -> Mapping[str, Any]:
    """Returns the values that most samples don't have."""
    usage = sample.usage
    tokens = [usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens]
    more = {
        "tokens": tokens if any(tokens) else None,
        "estimated": usage.estimated,
        "wasted": _wasted_values(sample) if sample.wasted != NOTHING_USED else None,
        "scorer_failed": sample.score.scorer_failed,
        "signals": dict(sample.signals),
        "help": astuple(sample.help) if sample.help != NO_HELP else None,
    }
    return {name: value for name, value in more.items() if value}


def sample_from(row: tuple[Any, ...]) -> Sample:
    (setting, task, repeat, answer, value, why, read, written, cost, seconds, helped, quality, reason, small, large,
     small_score, large_score, error, spent, more) = row  # fmt: skip
    data = {} if more == NOTHING_MORE else json.loads(more)
    score = AnswerScore(value, why, scorer_failed="scorer_failed" in data)
    cached, stored, thought = data.get("tokens", (0, 0, 0))
    usage = Usage(read, written, cached, stored, thought, cost, "estimated" in data)
    wasted = Usage(*data["wasted"]) if "wasted" in data else NOTHING_USED
    # Older results only say whether there was help.
    help_ = HelpRecord(*data["help"]) if "help" in data else HelpRecord(helped, cost_usd=None) if helped else NO_HELP
    # Positional, as keyword arguments double the time and a report reads every sample.
    return Sample(
        setting, task, repeat, answer, score, usage, seconds, bool(helped), wasted, quality, data.get("signals", {}),
        reason, small, large, error, small_score, large_score, spent, help_,
    )  # fmt: skip
