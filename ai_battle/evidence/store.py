"""Keeps what pairs have shown: records of named collections, in one SQLite file that several processes share."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from ..core.errors import StoreError
from ..core.files import make_private, open_private

NAME = "evidence.sqlite"
FORMAT = 1
PATIENCE = 5.0
"""Seconds for which a process waits until another one has written."""
MOST_RECORDS, TRIM_EVERY = 200_000, 1_000
"""Records of a collection that are kept, the newest ones; and after how many new ones the oldest are taken away."""
MOST_BYTES = 4 * 1024**3
PAGE = 4096
_SCHEMA = (
    "CREATE TABLE records (number INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, pair TEXT NOT NULL, "
    "key TEXT NOT NULL, time REAL NOT NULL, document TEXT NOT NULL, text TEXT NOT NULL, "
    "UNIQUE (collection, pair, key))",
    "CREATE INDEX by_pair ON records (collection, pair, number)",
    "CREATE VIRTUAL TABLE texts USING fts5 (text, content = records, content_rowid = number)",
    "CREATE TRIGGER text_added AFTER INSERT ON records WHEN new.text != '' "
    "BEGIN INSERT INTO texts (rowid, text) VALUES (new.number, new.text); END",
    "CREATE TRIGGER text_removed AFTER DELETE ON records WHEN old.text != '' "
    "BEGIN INSERT INTO texts (texts, rowid, text) VALUES ('delete', old.number, old.text); END",
    f"PRAGMA user_version = {FORMAT}",
)
_FIELDS = "records.number, records.key, records.time, records.document, records.text"

Document = Mapping[str, Any]
"""A JSON object."""


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """`key` is unique in its collection and pair, `number` grows with each record, `time` is in seconds of the epoch.

    `text` is what `search` looks through, empty where nobody looks.
    """

    number: int
    key: str
    time: float
    document: Document
    text: str = ""


class EvidenceStore:
    """Every method is one transaction and may wait for other processes, so an event loop calls it in a thread.

    All of them raise `StoreError`, which names the file and what to do.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Opens the store of a state directory, and makes it where there is none."""
        self.path = folder / NAME
        self._lock = Lock()
        self._connection = _connect(self.path, most_bytes)
        try:
            self._prepare()
        except StoreError:
            self._connection.close()
            raise

    @classmethod
    def existing(cls, folder: Path) -> "EvidenceStore":
        """Opens one that is there already."""
        if not (folder / NAME).exists():
            raise StoreError(f"{folder} has no {NAME}, so nothing is known of any pair; name the folder with --state.")
        return cls(folder)

    def add(self, collection: str, pair: str, key: str, document: Document, text: str = "") -> bool:
        """Whether it is new; a record that is there stays as it is. The oldest go where there are too many."""
        values = (collection, pair, key, time.time(), json.dumps(document), _storable(text))
        with self._transaction() as connection:
            command = (
                "INSERT INTO records (collection, pair, key, time, document, text) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING"
            )
            added = connection.execute(command, values)
            if added.rowcount and (added.lastrowid or 0) % TRIM_EVERY == 0:
                _trim(connection, collection)
        return added.rowcount > 0

    def change(self, collection: str, pair: str, key: str, make: Callable[[Document | None], Document]) -> Document:
        """Puts what `make` makes of the document, None where there is none, in its place; nobody writes in between."""
        with self._transaction() as connection:
            where = (collection, pair, key)
            found = connection.execute(
                "SELECT document FROM records WHERE collection = ? AND pair = ? AND key = ?", where
            ).fetchone()
            document = make(json.loads(found[0]) if found else None)
            connection.execute(
                "INSERT INTO records (collection, pair, key, time, document, text) VALUES (?, ?, ?, ?, ?, '') "
                "ON CONFLICT DO UPDATE SET document = excluded.document, time = excluded.time",
                (*where, time.time(), json.dumps(document)),
            )
        return document

    def get(self, collection: str, pair: str, key: str) -> Document | None:
        found = self._select("WHERE collection = ? AND pair = ? AND key = ?", collection, pair, key)
        return found[0].document if found else None

    def records(self, collection: str, pair: str, *, after: int = 0) -> Sequence[EvidenceRecord]:
        """Returns those with a higher number than `after`, in order."""
        return self._select("WHERE collection = ? AND pair = ? AND number > ? ORDER BY number", collection, pair, after)

    def search(self, collection: str, pair: str, words: Sequence[str], most: int) -> Sequence[EvidenceRecord]:
        """Returns those that have any of the words, the best by BM25 first."""
        wanted = " OR ".join('"{}"'.format(word.replace('"', '""')) for word in words)
        if not wanted:
            return ()
        return self._select(
            "JOIN texts ON texts.rowid = records.number WHERE texts MATCH ? AND collection = ? AND pair = ? "
            "ORDER BY texts.rank LIMIT ?",
            *(wanted, collection, pair, most),
        )

    def remove(self, collection: str, pair: str, keys: Sequence[str]) -> int:
        """Returns how many there were."""
        with self._transaction() as connection:
            command = "DELETE FROM records WHERE collection = ? AND pair = ? AND key = ?"
            return connection.executemany(command, [(collection, pair, key) for key in keys]).rowcount

    def pairs(self, collection: str) -> Sequence[str]:
        """Returns the pairs that have records in it."""
        with self._transaction("BEGIN") as connection:
            found = connection.execute(
                "SELECT DISTINCT pair FROM records WHERE collection = ? ORDER BY pair", (collection,)
            )
            return [pair for (pair,) in found]

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _select(self, where: str, *values: str | float) -> Sequence[EvidenceRecord]:
        with self._transaction("BEGIN") as connection:
            rows = connection.execute(f"SELECT {_FIELDS} FROM records {where}", values).fetchall()  # noqa: S608 - ours
        with _errors(self.path):
            return [EvidenceRecord(number, key, at, json.loads(said), text) for number, key, at, said, text in rows]

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Readers say `BEGIN`: they wait for nobody."""
        with self._lock, _errors(self.path):
            try:
                self._connection.execute(begin)
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.rollback()

    def _prepare(self) -> None:
        with self._transaction() as connection:
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found == 0:
                for command in _SCHEMA:
                    connection.execute(command)
            elif found != FORMAT:
                raise StoreError(
                    f"{self.path} is of another version of ai-battle (format {found}, this one has {FORMAT}); use the "
                    "version that made it, or move the file away and begin anew."
                )


def _connect(path: Path, most_bytes: int) -> sqlite3.Connection:
    """With a write-ahead log what is committed outlives the process, and readers never wait."""
    with _errors(path):
        make_private(path.parent)
        # SQLite makes its other files with the same rights.
        os.close(open_private(str(path), os.O_WRONLY | os.O_CREAT))
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", f"max_page_count = {most_bytes // PAGE}"):
            connection.execute(f"PRAGMA {pragma}")
    return connection


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} can't be opened: {error.strerror}; XDG_STATE_HOME names another folder, or state under server:."
        ) from error
    except (sqlite3.Error, json.JSONDecodeError) as error:
        way_out = next((words for sign, words in _WAYS_OUT.items() if sign in str(error)), _DAMAGED)
        raise StoreError(f"{path} can't be used: {error}. {way_out}") from error


_DAMAGED = f"If it is damaged, save what is left with 'sqlite3 {NAME} .recover', or move it away and begin anew."
_WAYS_OUT = {
    "full": "Make room on the disk, or delete what is no longer needed; what was kept before is still there.",
    "locked": "Another process has been writing for long; see what it does, or try again.",
    "readonly": "It needs to be writable for the user who runs this.",
    "fts5": "Python's SQLite lacks full-text search; use one that is compiled with FTS5.",
}


def _trim(connection: sqlite3.Connection, collection: str) -> None:
    connection.execute(
        "DELETE FROM records WHERE collection = ?1 AND number <= (SELECT number FROM records WHERE collection = ?1 "
        "ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        (collection, MOST_RECORDS),
    )


def _storable(text: str) -> str:
    """Half a pair of surrogates has no place in a database."""
    return text.encode("utf-8", "replace").decode()
