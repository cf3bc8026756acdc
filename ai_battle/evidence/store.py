"""Stores what pairs have shown: records in named collections, for all processes of one or several machines."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from ..core.database import MOST_BYTES, Database, sqlite_errors
from ..core.errors import StoreError
from ..core.files import state_directory
from ..core.texts import public_url
from .shared import INSERT, UPSERT, D, Document, RecordKey, SharedRecords

NAME = "evidence.sqlite"
FORMAT = 1
MOST_RECORDS, TRIM_EVERY = 200_000, 1_000
"""The number of records kept in a collection, and the number of new ones after which the oldest are deleted."""
# AUTOINCREMENT never reuses a number, so that `number` is the order of creation. The triggers keep the search index,
# which has no copy of the texts, in step with the records.
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
_FIELDS = "records.key, records.time, records.document, records.text"
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """`key` is unique in its collection and pair; `time` is in seconds since the epoch.

    `text` is what `search` looks through, or empty.
    """

    key: str
    time: float
    document: Document
    text: str = ""


def value_of(kind: type[V], document: Document) -> V:
    """Returns the value that was stored with `asdict`, without fields that a newer version may have stored as well."""
    return kind(**{each.name: document[each.name] for each in fields(kind) if each.name in document})  # type: ignore[arg-type]


class EvidenceStore:
    """A store of records. Every method is one transaction and may block, so an event loop calls it in a thread.

    All methods raise `StoreError`, which names the file and what to do.
    """

    def __init__(self, place: Path | str, *, most_bytes: int = MOST_BYTES) -> None:
        """Opens the store in a state directory, creating it if missing, or the one at a Redis address."""
        folder = place if isinstance(place, Path) else _folder_of_copy(place)
        self._database = Database(folder / NAME, _SCHEMA, FORMAT, most_bytes=most_bytes)
        is_here = isinstance(place, Path)
        self._shared = None if is_here else SharedRecords(str(place), self._database, MOST_RECORDS)

    @classmethod
    def existing(cls, place: Path | str) -> "EvidenceStore":
        """Opens a store that exists already. Raises `StoreError` if there is none."""
        if not is_there(place):
            raise StoreError(f"{place} has no {NAME}, so nothing is known of any pair; name the folder with --state.")
        store = cls(place)
        if store._shared:
            store._shared.update()
        return store

    def add(self, collection: str, pair: str, key: str, document: Document, text: str = "") -> bool:
        """Adds a record. Returns False if its key exists already. Deletes the oldest records if there are too many."""
        if self._shared:
            return self._shared.add(RecordKey(collection, pair, key), json.dumps(document), _storable(text))
        values = (collection, pair, key, time.time(), json.dumps(document), _storable(text))
        with self._database.transaction() as connection:
            added = connection.execute(f"{INSERT} DO NOTHING", values)
            # Not at every insert, since finding the oldest records costs more than the insert.
            if added.rowcount and (added.lastrowid or 0) % TRIM_EVERY == 0:
                _trim(connection, collection)
        return added.rowcount > 0

    def change(self, collection: str, pair: str, key: str, make: Callable[[Document | None], D]) -> D:
        """Replaces a document atomically by what `make` returns for it (for None if there is none).

        Nothing is stored if that is None.
        """
        if self._shared:
            return self._shared.change(RecordKey(collection, pair, key), make)
        with self._database.transaction() as connection:
            where = (collection, pair, key)
            found = connection.execute(
                "SELECT document FROM records WHERE collection = ? AND pair = ? AND key = ?", where
            ).fetchone()
            document = make(json.loads(found[0]) if found else None)
            if document is not None:
                connection.execute(UPSERT, (*where, time.time(), json.dumps(document), ""))
        return document

    def get(self, collection: str, pair: str, key: str) -> Document | None:
        found = self._select("WHERE collection = ? AND pair = ? AND key = ?", collection, pair, key)
        return found[0].document if found else None

    def records(self, collection: str, pair: str, *, newest: int = MOST_RECORDS) -> Sequence[EvidenceRecord]:
        """Returns the records in order of creation, or the newest of them."""
        found = self._select("WHERE collection = ? AND pair = ? ORDER BY number DESC LIMIT ?", collection, pair, newest)
        return found[::-1]

    def search(self, collection: str, pair: str, words: Sequence[str], most: int) -> Sequence[EvidenceRecord]:
        """Returns the records that have any of the words, the best by BM25 first."""
        wanted = " OR ".join('"{}"'.format(word.replace('"', '""')) for word in words)
        if not wanted:
            return ()
        return self._select(
            "JOIN texts ON texts.rowid = records.number WHERE texts MATCH ? AND collection = ? AND pair = ? "
            "ORDER BY texts.rank LIMIT ?",
            *(wanted, collection, pair, most),
        )

    def records_with(self, words: Sequence[str]) -> Mapping[str, int]:
        """Returns the number of records with each word, the rarest first, without words that occur nowhere."""
        with self._reading() as connection:
            connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, texts, row)")
            places = ", ".join("?" * len(words))
            command = f"SELECT term, doc FROM temp.vocabulary WHERE term IN ({places}) ORDER BY doc"  # noqa: S608 - places
            return dict(connection.execute(command, words).fetchall())

    def remove(self, collection: str, pair: str, keys: Sequence[str]) -> int:
        """Removes records and returns how many existed."""
        if self._shared:
            return self._shared.remove(collection, pair, keys)
        with self._database.transaction() as connection:
            command = "DELETE FROM records WHERE collection = ? AND pair = ? AND key = ?"
            return connection.executemany(command, [(collection, pair, key) for key in keys]).rowcount

    def pairs(self, collection: str) -> Sequence[str]:
        """Returns the pairs that have records in the collection."""
        with self._reading() as connection:
            found = connection.execute(
                "SELECT DISTINCT pair FROM records WHERE collection = ? ORDER BY pair", (collection,)
            )
            return [pair for (pair,) in found]

    def close(self) -> None:
        if self._shared:
            self._shared.close()
        self._database.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if self._shared:
            self._shared.refresh()
        with self._database.transaction("BEGIN") as connection:
            yield connection

    def _select(self, where: str, *values: str | float) -> Sequence[EvidenceRecord]:
        with self._reading() as connection:
            rows = connection.execute(f"SELECT {_FIELDS} FROM records {where}", values).fetchall()  # noqa: S608 - ours
        with sqlite_errors(self._database.path):
            return [EvidenceRecord(key, at, json.loads(data), text) for key, at, data, text in rows]


def is_there(place: Path | str) -> bool:
    """Returns whether a store exists there; a Redis always counts as existing."""
    return isinstance(place, str) or (place / NAME).exists()


def _folder_of_copy(address: str) -> Path:
    """Returns the folder of the copy: one per Redis, whatever its password."""
    return state_directory() / f"shared-{sha256(public_url(address).encode()).hexdigest()[:12]}"


def _trim(connection: sqlite3.Connection, collection: str) -> None:
    connection.execute(
        "DELETE FROM records WHERE collection = ?1 AND number <= (SELECT number FROM records WHERE collection = ?1 "
        "ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        (collection, MOST_RECORDS),
    )


def _storable(text: str) -> str:
    """Replaces lone surrogates, which a database can't store."""
    return text.encode("utf-8", "replace").decode()
