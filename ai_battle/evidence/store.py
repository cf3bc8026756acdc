"""Keeps what pairs have shown: records of named collections, in one SQLite file that several processes share."""

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.database import MOST_BYTES, Database, sqlite_errors
from ..core.errors import StoreError

NAME = "evidence.sqlite"
FORMAT = 1
MOST_RECORDS, TRIM_EVERY = 200_000, 1_000
"""Records of a collection that are kept, the newest ones; and after how many new ones the oldest are taken away."""
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
        self._database = Database(folder / NAME, _SCHEMA, FORMAT, most_bytes=most_bytes)

    @classmethod
    def existing(cls, folder: Path) -> "EvidenceStore":
        """Opens one that is there already."""
        if not (folder / NAME).exists():
            raise StoreError(f"{folder} has no {NAME}, so nothing is known of any pair; name the folder with --state.")
        return cls(folder)

    def add(self, collection: str, pair: str, key: str, document: Document, text: str = "") -> bool:
        """Whether it is new; a record that is there stays as it is. The oldest go where there are too many."""
        values = (collection, pair, key, time.time(), json.dumps(document), _storable(text))
        with self._database.transaction() as connection:
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
        with self._database.transaction() as connection:
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

    def records_with(self, words: Sequence[str]) -> Mapping[str, int]:
        """Returns how many records have each word, the rarest first; those that none has are left out."""
        with self._database.transaction("BEGIN") as connection:
            connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, texts, row)")
            places = ", ".join("?" * len(words))
            command = f"SELECT term, doc FROM temp.vocabulary WHERE term IN ({places}) ORDER BY doc"  # noqa: S608 - places
            return dict(connection.execute(command, words).fetchall())

    def remove(self, collection: str, pair: str, keys: Sequence[str]) -> int:
        """Returns how many there were."""
        with self._database.transaction() as connection:
            command = "DELETE FROM records WHERE collection = ? AND pair = ? AND key = ?"
            return connection.executemany(command, [(collection, pair, key) for key in keys]).rowcount

    def pairs(self, collection: str) -> Sequence[str]:
        """Returns the pairs that have records in it."""
        with self._database.transaction("BEGIN") as connection:
            found = connection.execute(
                "SELECT DISTINCT pair FROM records WHERE collection = ? ORDER BY pair", (collection,)
            )
            return [pair for (pair,) in found]

    def close(self) -> None:
        self._database.close()

    def _select(self, where: str, *values: str | float) -> Sequence[EvidenceRecord]:
        with self._database.transaction("BEGIN") as connection:
            rows = connection.execute(f"SELECT {_FIELDS} FROM records {where}", values).fetchall()  # noqa: S608 - ours
        with sqlite_errors(self._database.path):
            return [EvidenceRecord(number, key, at, json.loads(said), text) for number, key, at, said, text in rows]


def _trim(connection: sqlite3.Connection, collection: str) -> None:
    connection.execute(
        "DELETE FROM records WHERE collection = ?1 AND number <= (SELECT number FROM records WHERE collection = ?1 "
        "ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        (collection, MOST_RECORDS),
    )


def _storable(text: str) -> str:
    """Half a pair of surrogates has no place in a database."""
    return text.encode("utf-8", "replace").decode()
