"""Evidence shared by servers on several machines: kept in Redis, with a copy on each machine for searching."""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import NamedTuple

from ..core.database import Database
from ..core.errors import StoreError
from ..core.redis_scripts import PREFIX, BlockingRedisScripts

PAUSE_SECONDS = 1.0
"""Seconds before a Redis that did not answer is asked for changes again."""
BATCH_SIZE = 500
# `rows` has the records by their keys. `log` has the keys in the order of their last change, also those of removed
# records, and `order/...` those of a collection and pair in the order of creation.
_HEAD = f"local prefix = '{PREFIX}evidence/'\nlocal records, log = prefix .. 'rows', prefix .. 'log'\n"
_GET = _HEAD + "return redis.call('HGET', records, ARGV[1]) or ''"
_PUT = (
    _HEAD
    + """
local key, row, expected, order = ARGV[1], ARGV[2], ARGV[3], prefix .. 'order/' .. ARGV[4]
local known = redis.call('HGET', records, key) or ''
if known ~= expected then return 0 end
local number = redis.call('INCR', prefix .. 'number')
redis.call('ZADD', log, number, key)
if row == '' then
  redis.call('HDEL', records, key)
  redis.call('ZREM', order, key)
  return 1
end
redis.call('HSET', records, key, row)
if known == '' then
  redis.call('ZADD', order, number, key)
  if redis.call('ZCARD', order) > tonumber(ARGV[5]) then
    local oldest = redis.call('ZPOPMIN', order)[1]
    redis.call('HDEL', records, oldest)
    redis.call('ZREM', log, oldest)
  end
end
return 1
"""
)
_CHANGES = (
    _HEAD
    + """
redis.call('SET', prefix .. 'epoch', ARGV[2], 'NX')
local changed = redis.call('ZRANGEBYSCORE', log, '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local found = {}
for place = 1, #changed, 2 do
  table.insert(found, {changed[place], redis.call('HGET', records, changed[place]) or '', changed[place + 1]})
end
return {redis.call('GET', prefix .. 'epoch'), found}
"""
)
_SCHEMA = "CREATE TABLE IF NOT EXISTS copied (epoch TEXT NOT NULL, last TEXT NOT NULL)"
_WHERE = "WHERE collection = ? AND pair = ? AND key = ?"


class RecordKey(NamedTuple):
    """The address of a record."""

    collection: str
    pair: str
    key: str


class RecordRow(NamedTuple):
    """What is stored of a record: its time in seconds since the epoch, a document as JSON, and the text to search."""

    time: float
    document: str
    text: str = ""


GONE = RecordRow(0.0, "")
"""Stands for a record that is removed."""
Make = Callable[[RecordRow | None], RecordRow | None]
"""Makes a row of the one that is there; None changes nothing."""


def find_row(connection: sqlite3.Connection, where: RecordKey) -> RecordRow | None:
    found = connection.execute(f"SELECT time, document, text FROM records {_WHERE}", where).fetchone()  # noqa: S608 - ours
    return RecordRow(*found) if found else None


def put_row(connection: sqlite3.Connection, where: RecordKey, row: RecordRow) -> sqlite3.Cursor:
    """Adds, replaces or removes a record. The text of a record never changes, as its search index would not follow."""
    if row == GONE:
        return connection.execute(f"DELETE FROM records {_WHERE}", where)  # noqa: S608 - ours
    return connection.execute(
        "INSERT INTO records (collection, pair, key, time, document, text) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET document = excluded.document, time = excluded.time",
        (*where, *row),
    )


class SharedRecords:
    """Writes to Redis, where each write is atomic for all machines, and reads changes back into the copy.

    While Redis does not answer, nothing can be written, and the copy stays as it was. A Redis that has lost its
    contents is refilled from the copies before anything new is written. Raises `StoreError`.
    """

    def __init__(self, url: str, copy: Database, most: int) -> None:
        self._redis = BlockingRedisScripts(url, _GET, _PUT, _CHANGES)
        self._copy, self._most = copy, most
        self._rests_until = 0.0
        with copy.transaction() as connection:
            connection.execute(_SCHEMA)

    def swap(self, where: RecordKey, make: Make) -> bool:
        """Changes a record by compare-and-swap, and tries again if another worker was faster."""
        self.update()  # first, so that a Redis that has lost its contents gets them back before anything new
        while True:
            known = str(self._redis.run(_GET, json.dumps(where)), "utf-8")
            row = make(_row(known) if known else None)
            if row is None:
                return False
            if self._put(where, row, known):
                self.refresh()
                return True

    def update(self) -> None:
        """Copies all changes. Raises `StoreError`."""
        try:
            while self._take_changes():
                pass
        except StoreError:
            self._rests_until = time.monotonic() + PAUSE_SECONDS
            raise

    def refresh(self) -> None:
        """Copies all changes, if Redis answers."""
        if time.monotonic() >= self._rests_until:
            with suppress(StoreError):
                self.update()

    def close(self) -> None:
        self._redis.close()

    def _put(self, where: RecordKey, row: RecordRow, expected: str) -> bool:
        words = "" if row == GONE else json.dumps(row)
        return bool(self._redis.run(_PUT, json.dumps(where), words, expected, json.dumps(where[:2]), self._most))

    def _take_changes(self) -> bool:
        """Copies a batch of changes. Returns whether there may be more."""
        with self._copy.transaction("BEGIN") as connection:
            state = _copy_state(connection)
        # No transaction is open while Redis is asked, so that no other process waits for the network.
        found, changes = self._redis.run(_CHANGES, state[1], token_hex(8), BATCH_SIZE)
        epoch, last = str(found, "utf-8"), state[1]
        if is_another := epoch != state[0]:
            self._give_back()
            changes, last = (), "0"
        with self._copy.transaction() as connection:
            if _copy_state(connection) == state:  # otherwise another process of this machine was faster
                for key, row, number in changes:
                    put_row(connection, RecordKey(*json.loads(key)), _row(row) if row else GONE)
                    last = str(number, "utf-8")
                connection.execute("DELETE FROM copied")
                connection.execute("INSERT INTO copied (epoch, last) VALUES (?, ?)", (epoch, last))
        return is_another or len(changes) == BATCH_SIZE

    def _give_back(self) -> None:
        """Gives a Redis all records that it does not have."""
        with self._copy.transaction("BEGIN") as connection:
            own = connection.execute("SELECT collection, pair, key, time, document, text FROM records").fetchall()
        for *where, at, document, text in own:
            self._put(RecordKey(*where), RecordRow(at, document, text), "")


def _copy_state(connection: sqlite3.Connection) -> Sequence[str]:
    """Returns the epoch of the Redis, and the number of the change, up to which the copy is complete."""
    return connection.execute("SELECT epoch, last FROM copied").fetchone() or ("", "0")


def _row(text: str | bytes) -> RecordRow:
    return RecordRow(*json.loads(text))
