"""Keeps what pairs have shown: records of named collections, for all processes of a machine or of several."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..core.database import MOST_BYTES, Database, sqlite_errors
from ..core.errors import StoreError
from ..core.files import state_directory
from ..core.redis_scripts import without_password
from .shared import Document, RecordKey, SharedRecords

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
_FIELDS = "records.key, records.time, records.document, records.text"


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """`key` is unique in its collection and pair, `time` is in seconds of the epoch.

    `text` is what `search` looks through, empty where nobody looks.
    """

    key: str
    time: float
    document: Document
    text: str = ""


class EvidenceStore:
    """Every method is one transaction and may wait for other processes, so an event loop calls it in a thread.

    All of them raise `StoreError`, which names the file and what to do.
    """

    def __init__(self, place: Path | str, *, most_bytes: int = MOST_BYTES) -> None:
        """Opens the store of a state directory, which is made where there is none, or that of a Redis' address."""
        folder = place if isinstance(place, Path) else _folder_of_copy(place)
        self._database = Database(folder / NAME, _SCHEMA, FORMAT, most_bytes=most_bytes)
        is_here = isinstance(place, Path)
        self._shared = None if is_here else SharedRecords(str(place), self._database, MOST_RECORDS)

    @classmethod
    def existing(cls, place: Path | str) -> "EvidenceStore":
        """Opens one that is there already, with all that is known."""
        if not is_there(place):
            raise StoreError(f"{place} has no {NAME}, so nothing is known of any pair; name the folder with --state.")
        store = cls(place)
        if store._shared:
            store._shared.update()
        return store

    def add(self, collection: str, pair: str, key: str, document: Document, text: str = "") -> bool:
        """Says whether it is new; a record that is there stays as it is. The oldest go where there are too many."""
        if self._shared:
            return self._shared.add(RecordKey(collection, pair, key), json.dumps(document), _storable(text))
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
        if self._shared:
            return self._shared.change(RecordKey(collection, pair, key), make)
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

    def records(self, collection: str, pair: str, *, newest: int = MOST_RECORDS) -> Sequence[EvidenceRecord]:
        """Returns them in the order in which they came, or the last of them."""
        found = self._select("WHERE collection = ? AND pair = ? ORDER BY number DESC LIMIT ?", collection, pair, newest)
        return found[::-1]

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
        with self._reading() as connection:
            connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, texts, row)")
            places = ", ".join("?" * len(words))
            command = f"SELECT term, doc FROM temp.vocabulary WHERE term IN ({places}) ORDER BY doc"  # noqa: S608 - places
            return dict(connection.execute(command, words).fetchall())

    def remove(self, collection: str, pair: str, keys: Sequence[str]) -> int:
        """Returns how many there were."""
        if self._shared:
            return self._shared.remove(collection, pair, keys)
        with self._database.transaction() as connection:
            command = "DELETE FROM records WHERE collection = ? AND pair = ? AND key = ?"
            return connection.executemany(command, [(collection, pair, key) for key in keys]).rowcount

    def pairs(self, collection: str) -> Sequence[str]:
        """Returns the pairs that have records in it."""
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
    """Says whether anything was ever kept there; of a Redis nobody knows before it is asked."""
    return isinstance(place, str) or (place / NAME).exists()


def _folder_of_copy(address: str) -> Path:
    """Each Redis has its own; passwords come and go."""
    return state_directory() / f"shared-{sha256(without_password(address).encode()).hexdigest()[:12]}"


def _trim(connection: sqlite3.Connection, collection: str) -> None:
    connection.execute(
        "DELETE FROM records WHERE collection = ?1 AND number <= (SELECT number FROM records WHERE collection = ?1 "
        "ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        (collection, MOST_RECORDS),
    )


def _storable(text: str) -> str:
    """Half a pair of surrogates has no place in a database."""
    return text.encode("utf-8", "replace").decode()
