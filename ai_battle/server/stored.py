"""Answers of the Responses API that later requests refer to, and values that the workers of a server share.

One process has the answers in memory, the workers of one machine in SQLite, those of several in Redis or Valkey.
"""

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json, to_json

from ..core.database import Database
from ..core.redis_scripts import PREFIX, RedisScripts

FORMAT = 1
MOST_VALUES = 10_000
_SCHEMA = (
    "CREATE TABLE responses (used INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, id TEXT NOT NULL, "
    "data BLOB NOT NULL, UNIQUE (key, id))",
    "CREATE TABLE items (key TEXT, id TEXT, response TEXT, first INTEGER NOT NULL, last INTEGER NOT NULL, "
    "PRIMARY KEY (key, id, response))",
    "CREATE INDEX by_response ON items (key, response)",
    "CREATE TABLE kept (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, value BLOB NOT NULL, "
    "ends REAL NOT NULL)",
)
_USE = "UPDATE responses SET used = (SELECT max(used) + 1 FROM responses) WHERE key = ? AND id = ? "
_FORGET = "DELETE FROM responses WHERE used = (SELECT min(used) FROM responses) RETURNING key, id, length(data)"
_PLACE = "SELECT response, first, last FROM items WHERE key = ? AND id = ? ORDER BY rowid DESC LIMIT 1"

_GET = "return redis.call('MGET', unpack(ARGV))"
_SET = "return redis.call('SET', ARGV[1] .. 'kept/' .. ARGV[2], ARGV[3], 'EX', ARGV[4])"
# A hash `answer/` holds its JSON as `data`, and for each of its items the field `item/` with the first and last byte
# there. A sorted set of the item's name holds the names of all hashes with it, the latest last.
_ANSWERS = """
local answers, size = ARGV[1] .. 'answers', ARGV[1] .. 'answers-bytes'
local function now()
  local time = redis.call('TIME')
  return time[1] .. '.' .. string.format('%06d', time[2])
end
local function forget(name)
  redis.call('ZREM', answers, name)
  for _, field in ipairs(redis.call('HKEYS', name)) do
    if field ~= 'data' then redis.call('ZREM', ARGV[1] .. 'answer-' .. field, name) end
  end
  local total = redis.call('DECRBY', size, redis.call('HSTRLEN', name, 'data'))
  redis.call('DEL', name)
  return total
end
"""
# An earlier form had other names and sizes. Nobody reads it now and nothing in it expires, so each new answer removes
# ten of it.
_ADD = (
    _ANSWERS
    + """
local name, most = ARGV[1] .. 'answer/' .. ARGV[3], tonumber(ARGV[2])
if redis.call('EXISTS', name) == 1 then return 0 end
redis.call('HSET', name, 'data', ARGV[4])
redis.call('ZADD', answers, now(), name)
local total = redis.call('INCRBY', size, #ARGV[4])
for place = 5, #ARGV, 2 do
  redis.call('HSET', name, 'item/' .. ARGV[place], ARGV[place + 1])
  redis.call('ZADD', ARGV[1] .. 'answer-item/' .. ARGV[place], now(), name)
end
while total > most do
  local oldest = redis.call('ZRANGE', answers, 0, 0)
  if #oldest == 0 then break end
  total = forget(oldest[1])
end
local earlier = redis.call('ZPOPMIN', ARGV[1] .. 'responses', 10)
for place = 1, #earlier, 2 do
  for _, field in ipairs(redis.call('HKEYS', earlier[place])) do redis.call('DEL', ARGV[1] .. field) end
  redis.call('DEL', earlier[place], ARGV[1] .. 'responses-bytes')
end
return 1
"""
)
_DELETE = (
    _ANSWERS
    + """
local name = ARGV[1] .. 'answer/' .. ARGV[2]
if redis.call('EXISTS', name) == 0 then return 0 end
forget(name)
return 1
"""
)
_READ = (
    _ANSWERS
    + """
local name = ARGV[1] .. 'answer/' .. ARGV[2]
local found = redis.call('HGET', name, 'data')
if found then redis.call('ZADD', answers, 'XX', now(), name) end
return found
"""
)
_ITEM = (
    _ANSWERS
    + """
local name = redis.call('ZREVRANGE', ARGV[1] .. 'answer-item/' .. ARGV[2], 0, 0)[1]
if not name then return false end
redis.call('ZADD', answers, 'XX', now(), name)
local first, last = string.match(redis.call('HGET', name, 'item/' .. ARGV[2]), '(%d+) (%d+)')
return string.sub(redis.call('HGET', name, 'data'), first, last)
"""
)

Item: TypeAlias = Mapping[str, Any]
Items: TypeAlias = tuple[Item, ...]
Response: TypeAlias = Mapping[str, Any]
"""A stored response: `input` holds the items before it, `answer` is what its client got."""


class Place(NamedTuple):
    """Where the JSON of an item is in that of its response: its first and last byte, counted from 1."""

    id: str
    first: int
    last: int


def items_of(response: Response) -> Items:
    return (*response["input"], *response["answer"]["output"])


def _named_items(response: Response) -> Iterator[Item]:
    return filter(_has_name, items_of(response))


def _has_name(item: Item) -> bool:
    """Checks whether requests can refer to an item; clients send ids of any type."""
    return isinstance(item.get("id"), str)


def _encode(response: Response) -> tuple[bytes, list[Place]]:
    """Encodes a response as a list of the number of its input's items, its answer without output, and all items."""
    items, answer = items_of(response), {**response["answer"], "output": []}
    parts = [to_json(part) for part in (len(response["input"]), answer, *items)]
    ends = list(accumulate(len(part) + 1 for part in parts))[2:]
    places = [
        Place(item["id"], end - len(part) + 1, end)
        for item, part, end in zip(items, parts[2:], ends, strict=True)
        if _has_name(item)
    ]
    return b"[" + b",".join(parts) + b"]", places


def _decode(data: bytes) -> Response:
    number, answer, *items = from_json(data)
    return {"input": items[:number], "answer": {**answer, "output": items[number:]}}


@dataclass
class MemoryStore:
    """The responses of this process that were used last, up to `most` bytes of JSON; a key finds only its own."""

    most: int = 0
    _size: int = 0
    _kept: OrderedDict[tuple[str, str], tuple[Response, int]] = field(default_factory=OrderedDict, repr=False)
    _homes: dict[tuple[str, str], dict[str, Item]] = field(default_factory=dict, repr=False)
    """By an item's key and id the item in each response that has it, the latest last."""

    async def response(self, key: str, id_: str) -> Response | None:
        if (key, id_) not in self._kept:
            return None
        self._kept.move_to_end((key, id_))
        return self._kept[key, id_][0]

    async def item(self, key: str, id_: str) -> Item | None:
        """Returns an item of the latest response that has it."""
        homes = self._homes.get((key, id_))
        if not homes:
            return None
        response, item = next(reversed(homes.items()))
        self._kept.move_to_end((key, response))
        return item

    async def add(self, key: str, response: Response) -> None:
        """Stores a response, unless it alone exceeds `most`."""
        size, id_ = len(to_json(response)), response["answer"]["id"]
        if size > self.most:
            return
        self._kept[key, id_] = response, size
        self._size += size
        for item in _named_items(response):
            self._homes.setdefault((key, item["id"]), {})[id_] = item
        while self._size > self.most:
            self._forget(*next(iter(self._kept)))

    async def delete(self, key: str, id_: str) -> bool:
        """Deletes a response, and its items unless another one has them. Returns whether it was there."""
        is_there = (key, id_) in self._kept
        if is_there:
            self._forget(key, id_)
        return is_there

    async def aclose(self) -> None:
        self._kept.clear()
        self._homes.clear()

    def _forget(self, key: str, id_: str) -> None:
        response, size = self._kept.pop((key, id_))
        self._size -= size
        for item in _named_items(response):
            homes = self._homes.get((key, item["id"]), {})
            homes.pop(id_, None)
            if not homes:
                self._homes.pop((key, item["id"]), None)


class SqliteStore:
    """Shares responses between the workers of one machine as `MemoryStore` keeps them, in a file deleted with them.

    All methods raise `StoreError`.
    """

    def __init__(self, path: Path, most: int) -> None:
        self.most = most
        self._database = Database(path, _SCHEMA, FORMAT)

    async def response(self, key: str, id_: str) -> Response | None:
        with self._database.transaction() as connection:
            found = connection.execute(f"{_USE} RETURNING data", (key, id_)).fetchone()
        return _decode(found[0]) if found else None

    async def item(self, key: str, id_: str) -> Item | None:
        found = None
        with self._database.transaction() as connection:
            if place := connection.execute(_PLACE, (key, id_)).fetchone():
                response, first, last = place
                values = (key, response, first, last - first + 1)
                found = connection.execute(f"{_USE} RETURNING substr(data, ?, ?)", values).fetchone()
        return dict(from_json(found[0])) if found else None

    async def add(self, key: str, response: Response) -> None:
        data, places = _encode(response)
        if len(data) > self.most:
            return
        id_ = response["answer"]["id"]
        rows = [(key, place.id, id_, place.first, place.last) for place in places]
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO responses (key, id, data) VALUES (?, ?, ?)", (key, id_, data))
            connection.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?)", rows)
            (total,) = connection.execute("SELECT total(length(data)) FROM responses").fetchone()
            while total > self.most:
                its_key, its_id, size = connection.execute(_FORGET).fetchone()
                connection.execute("DELETE FROM items WHERE key = ? AND response = ?", (its_key, its_id))
                total -= size

    async def delete(self, key: str, id_: str) -> bool:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM items WHERE key = ? AND response = ?", (key, id_))
            return bool(connection.execute("DELETE FROM responses WHERE key = ? AND id = ?", (key, id_)).rowcount)

    async def values(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """Returns what any worker has stored under these names: plans, signatures."""
        with self._database.transaction("BEGIN") as connection:
            places = ", ".join("?" * len(names))
            command = f"SELECT name, value FROM kept WHERE ends > ? AND name IN ({places})"  # noqa: S608 - places
            return dict(connection.execute(command, (time.time(), *names)).fetchall())

    async def keep_value(self, name: str, value: bytes, seconds: float) -> None:
        with self._database.transaction() as connection:
            command = "INSERT OR REPLACE INTO kept (name, value, ends) VALUES (?, ?, ?)"
            connection.execute(command, (name, value, time.time() + seconds))
            connection.execute("DELETE FROM kept WHERE number <= (SELECT max(number) FROM kept) - ?", (MOST_VALUES,))

    async def aclose(self) -> None:
        self._database.close()


class RedisStore:
    """Shares responses between the workers of several machines, as `SqliteStore` does on one. Raises `StoreError`."""

    def __init__(self, url: str, most: int) -> None:
        self.most = most
        self._scripts = RedisScripts(url, _ADD, _READ, _ITEM, _DELETE, _GET, _SET)

    async def response(self, key: str, id_: str) -> Response | None:
        found = await self._scripts.run(_READ, PREFIX, _name(key, id_))
        return _decode(found) if found else None

    async def item(self, key: str, id_: str) -> Item | None:
        found = await self._scripts.run(_ITEM, PREFIX, _name(key, id_))
        return dict(from_json(found)) if found else None

    async def add(self, key: str, response: Response) -> None:
        data, places = _encode(response)
        if len(data) > self.most:
            return
        words = (word for place in places for word in (_name(key, place.id), f"{place.first} {place.last}"))
        await self._scripts.run(_ADD, PREFIX, self.most, _name(key, response["answer"]["id"]), data, *words)

    async def delete(self, key: str, id_: str) -> bool:
        return bool(await self._scripts.run(_DELETE, PREFIX, _name(key, id_)))

    async def values(self, names: Sequence[str]) -> Mapping[str, bytes]:
        found = await self._scripts.run(_GET, *(f"{PREFIX}kept/{name}" for name in names)) if names else ()
        return {name: value for name, value in zip(names, found, strict=True) if value is not None}

    async def keep_value(self, name: str, value: bytes, seconds: float) -> None:
        await self._scripts.run(_SET, PREFIX, name, value, max(1, round(seconds)))

    async def aclose(self) -> None:
        await self._scripts.aclose()


SharedStore: TypeAlias = SqliteStore | RedisStore
ResponseStore: TypeAlias = MemoryStore | SharedStore


def _name(key: str, id_: str) -> str:
    """Joins key and id by a line break, which no key's name contains, so that an id can't forge another key's."""
    return f"{key}\n{id_}"
