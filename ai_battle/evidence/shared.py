"""Evidence shared by servers on several machines: kept in Redis, with a copy on each machine for searching."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..core.database import Database
from ..core.errors import StoreError
from ..core.redis_scripts import PREFIX, BlockingRedisScripts

PAUSE_SECONDS = 1.0
"""Seconds before a Redis that did not answer is asked for changes again."""
BATCH_SIZE = 500
_HEAD = f"local prefix = '{PREFIX}evidence/'\n"
_GET = _HEAD + "return redis.call('HGET', prefix .. 'records/' .. ARGV[1], ARGV[2]) or ''"
_PUT = (
    _HEAD
    + """
local name, key, row, expected, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local records, order = prefix .. 'records/' .. name, prefix .. 'order/' .. name
local function tell(key, row)
  redis.call('XADD', prefix .. 'changes', 'MAXLEN', '~', most, '*', 'name', name, 'key', key, 'row', row)
end
local known = redis.call('HGET', records, key) or ''
if known ~= expected then return 0 end
redis.call('HSET', records, key, row)
tell(key, row)
if known == '' then
  redis.call('SADD', prefix .. 'names', name)
  redis.call('ZADD', order, redis.call('INCR', prefix .. 'number'), key)
  if redis.call('ZCARD', order) > most then
    local oldest = redis.call('ZPOPMIN', order)[1]
    redis.call('HDEL', records, oldest)
    tell(oldest, '')
  end
end
return 1
"""
)
_REMOVE = (
    _HEAD
    + """
local removed = 0
for place = 2, #ARGV do
  if redis.call('HDEL', prefix .. 'records/' .. ARGV[1], ARGV[place]) == 1 then
    redis.call('ZREM', prefix .. 'order/' .. ARGV[1], ARGV[place])
    redis.call('XADD', prefix .. 'changes', '*', 'name', ARGV[1], 'key', ARGV[place], 'row', '')
    removed = removed + 1
  end
end
return removed
"""
)
_CHANGES = (
    _HEAD
    + """
redis.call('SET', prefix .. 'epoch', ARGV[2], 'NX')
local oldest = redis.call('XRANGE', prefix .. 'changes', '-', '+', 'COUNT', 1)[1]
local newest = redis.call('XREVRANGE', prefix .. 'changes', '+', '-', 'COUNT', 1)[1]
local found = redis.call('XREAD', 'COUNT', ARGV[3], 'STREAMS', prefix .. 'changes', ARGV[1])
return {redis.call('GET', prefix .. 'epoch'), oldest and oldest[1] or '0-0', newest and newest[1] or '0-0',
  found and found[1] and found[1][2] or {}}
"""
)
_NAMES = _HEAD + "return redis.call('SMEMBERS', prefix .. 'names')"
_RECORDS = (
    _HEAD
    + """
local order = redis.call('ZRANGEBYSCORE', prefix .. 'order/' .. ARGV[1], '(' .. ARGV[2], '+inf', 'WITHSCORES',
  'LIMIT', 0, ARGV[3])
local found = {}
for place = 1, #order, 2 do
  local row = redis.call('HGET', prefix .. 'records/' .. ARGV[1], order[place])
  table.insert(found, {order[place + 1], order[place], row or ''})
end
return found
"""
)
_BEGUN = "0-0"
_SCHEMA = "CREATE TABLE IF NOT EXISTS copied (epoch TEXT NOT NULL, last TEXT NOT NULL)"
INSERT = "INSERT INTO records (collection, pair, key, time, document, text) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT"
UPSERT = f"{INSERT} DO UPDATE SET document = excluded.document, time = excluded.time"


Document: TypeAlias = Mapping[str, Any]
"""A JSON object."""
D = TypeVar("D", bound=Document | None)


class RecordKey(NamedTuple):
    """The address of a record."""

    collection: str
    pair: str
    key: str


class RecordChange(NamedTuple):
    """A record as it is now; an empty row means that it was removed."""

    where: RecordKey
    row: str


class RecordNews(NamedTuple):
    """Changes since the last look. `epoch` identifies a Redis's contents; `newest` and `last` are ids of its stream.

    With a `gap`, some changes are no longer in the stream.
    """

    epoch: str
    newest: str
    last: str
    gap: bool
    changes: Sequence[RecordChange]


class SharedRecords:
    """Writes to Redis, where each write is atomic for all machines, and reads changes back into the copy.

    While Redis does not answer, nothing can be written, and the copy stays as it was. A Redis that has lost its
    contents is refilled from the copies before anything new is written. Raises `StoreError`.
    """

    def __init__(self, url: str, copy: Database, most: int) -> None:
        self._redis = BlockingRedisScripts(url, _GET, _PUT, _REMOVE, _CHANGES, _NAMES, _RECORDS)
        self._copy, self._most = copy, most
        self._rests_until = 0.0
        with copy.transaction() as connection:
            connection.execute(_SCHEMA)

    def add(self, where: RecordKey, document: str, text: str) -> bool:
        """Adds a record and returns whether it is new; an existing one stays as it is."""
        self.update()  # first, so that a Redis that has lost its contents gets them back before anything new
        added = self._write(where, _row(time.time(), document, text), "")
        self.refresh()
        return added

    def change(self, where: RecordKey, make: Callable[[Document | None], D]) -> D:
        """Changes a record by compare-and-swap, and tries again if another worker was faster."""
        self.update()
        while True:
            known = str(self._redis.run(_GET, _name(where), where.key), "utf-8")
            _, data, text = json.loads(known) if known else (0.0, None, "")
            document = make(json.loads(data) if data else None)
            if document is None:
                return document
            if self._write(where, _row(time.time(), json.dumps(document), text), known):
                self.refresh()
                return document

    def remove(self, collection: str, pair: str, keys: Sequence[str]) -> int:
        if not keys:
            return 0
        self.update()
        removed = int(self._redis.run(_REMOVE, _name(RecordKey(collection, pair, "")), *keys))
        self.refresh()
        return removed

    def update(self) -> None:
        """Copies all changes. Raises `StoreError`."""
        try:
            while self._take_news():
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

    def _write(self, where: RecordKey, row: str, expected: str) -> bool:
        return bool(self._redis.run(_PUT, _name(where), where.key, row, expected, self._most))

    def _take_news(self) -> bool:
        """Copies a batch of changes. Returns whether there may be more."""
        with self._copy.transaction("BEGIN") as connection:
            epoch, last = _copy_state(connection)
        # No transaction is open while Redis is asked, so that no other process waits for the network.
        news = self._news(last)
        if news.epoch != epoch or news.gap:
            self._begin_anew(news, give_back=news.epoch != epoch)
            return True
        if news.changes:
            with self._copy.transaction() as connection:
                if _copy_state(connection) == (epoch, last):  # otherwise another process of this machine was faster
                    _apply(connection, news.changes)
                    _set_copy_state(connection, epoch, news.last)
        return len(news.changes) == BATCH_SIZE

    def _news(self, last: str) -> RecordNews:
        epoch, oldest, newest, found = self._redis.run(_CHANGES, last, token_hex(8), BATCH_SIZE)
        changes = [_change(*fields[1::2]) for _, fields in found]
        at = str(found[-1][0], "utf-8") if found else last
        gap = last != _BEGUN and _position(oldest) > _position(last.encode())
        return RecordNews(str(epoch, "utf-8"), str(newest, "utf-8"), at, gap, changes)

    def _begin_anew(self, news: RecordNews, *, give_back: bool) -> None:
        """Rebuilds the copy. Records that Redis does not have are first given back to it."""
        if give_back:
            for where, row in self._own():
                self._write(where, row, "")
        with self._copy.transaction() as connection:
            connection.execute("DELETE FROM records")
            for name in self._redis.run(_NAMES):
                _apply(connection, self._all(name))
            _set_copy_state(connection, news.epoch, news.newest)

    def _own(self) -> Iterator[tuple[RecordKey, str]]:
        with self._copy.transaction("BEGIN") as connection:
            found = connection.execute("SELECT collection, pair, key, time, document, text FROM records").fetchall()
        for *where, at, document, text in found:
            yield RecordKey(*where), _row(at, document, text)

    def _all(self, name: bytes) -> Iterator[RecordChange]:
        number = "0"
        while found := self._redis.run(_RECORDS, name, number, BATCH_SIZE):
            for _, key, row in found:
                yield _change(name, key, row)
            number = str(found[-1][0], "utf-8")


def _apply(connection: sqlite3.Connection, changes: Iterable[RecordChange]) -> None:
    for where, row in changes:
        if row:
            connection.execute(UPSERT, (*where, *json.loads(row)))
        else:
            connection.execute("DELETE FROM records WHERE collection = ? AND pair = ? AND key = ?", where)


def _copy_state(connection: sqlite3.Connection) -> tuple[str, str]:
    """Returns the epoch of the copy, and the stream id up to which it is complete."""
    return connection.execute("SELECT epoch, last FROM copied").fetchone() or ("", _BEGUN)


def _set_copy_state(connection: sqlite3.Connection, epoch: str, last: str) -> None:
    connection.execute("DELETE FROM copied")
    connection.execute("INSERT INTO copied (epoch, last) VALUES (?, ?)", (epoch, last))


def _row(at: float, document: str, text: str) -> str:
    return json.dumps([at, document, text])


def _name(where: RecordKey) -> str:
    return f"{where.collection}\n{where.pair}"


def _change(name: bytes, key: bytes, row: bytes) -> RecordChange:
    collection, pair = name.decode().split("\n", 1)
    return RecordChange(RecordKey(collection, pair, key.decode()), row.decode())


def _position(id_: bytes) -> tuple[int, int]:
    milliseconds, _, number = id_.partition(b"-")
    return int(milliseconds), int(number)
