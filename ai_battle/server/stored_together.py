"""Stores for answers of the Responses API that several workers share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time

from pydantic_core import from_json, to_json

from ..core.database import Database
from ..core.redis_scripts import PREFIX, RedisScripts
from .stored import Item, Items

FORMAT = 1
MOST_VALUES = 10_000
_GET = "return redis.call('MGET', unpack(ARGV))"
_SET = "return redis.call('SET', ARGV[1] .. 'kept/' .. ARGV[2], ARGV[3], 'EX', ARGV[4])"
_SCHEMA = (
    "CREATE TABLE responses (used INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, id TEXT NOT NULL, "
    "items BLOB NOT NULL, UNIQUE (key, id))",
    "CREATE TABLE items (key TEXT, id TEXT, response TEXT NOT NULL, item BLOB NOT NULL, PRIMARY KEY (key, id))",
    "CREATE INDEX by_response ON items (key, response)",
    "CREATE TABLE kept (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, value BLOB NOT NULL, "
    "ends REAL NOT NULL)",
)
_USE = "UPDATE responses SET used = (SELECT max(used) + 1 FROM responses) WHERE key = ? AND id = ? RETURNING items"
_FORGET = "DELETE FROM responses WHERE used = (SELECT min(used) FROM responses) RETURNING key, id, length(items)"
_NOW = """
local function now()
  local time = redis.call('TIME')
  return time[1] .. '.' .. string.format('%06d', time[2])
end
"""
_ADD = (
    _NOW
    + """
local responses, size, most = ARGV[1] .. 'responses', ARGV[1] .. 'responses-bytes', tonumber(ARGV[2])
local name = ARGV[1] .. 'response/' .. ARGV[3]
if redis.call('EXISTS', name) == 1 then return 0 end
redis.call('HSET', name, 'items', ARGV[4])
redis.call('ZADD', responses, now(), name)
local total = redis.call('INCRBY', size, #ARGV[4])
for place = 5, #ARGV, 2 do redis.call('HSET', name, 'item/' .. ARGV[place], ARGV[place + 1]) end
for place = 5, #ARGV, 2 do redis.call('SET', ARGV[1] .. 'item/' .. ARGV[place], name) end
while total > most do
  local oldest = redis.call('ZPOPMIN', responses)
  if #oldest == 0 then break end
  total = redis.call('DECRBY', size, redis.call('HSTRLEN', oldest[1], 'items'))
  for _, field in ipairs(redis.call('HKEYS', oldest[1])) do
    local home = ARGV[1] .. field
    if field ~= 'items' and redis.call('GET', home) == oldest[1] then redis.call('DEL', home) end
  end
  redis.call('DEL', oldest[1])
end
return 1
"""
)
_READ = (
    _NOW
    + """
local name = ARGV[2] == 'items' and ARGV[1] .. 'response/' .. ARGV[3] or redis.call('GET', ARGV[1] .. ARGV[2])
if not name then return false end
local found = redis.call('HGET', name, ARGV[2])
if found then redis.call('ZADD', ARGV[1] .. 'responses', 'XX', now(), name) end
return found
"""
)


class SqliteStore:
    """Shares responses between the workers of one machine, in a file deleted with them."""

    def __init__(self, path: Path, most: int) -> None:
        self.most = most
        self._database = Database(path, _SCHEMA, FORMAT)

    async def conversation(self, key: str, response: str) -> Items | None:
        with self._database.transaction() as connection:
            found = connection.execute(_USE, (key, response)).fetchone()
        return tuple(from_json(found[0])) if found else None

    async def item(self, key: str, id_: str) -> Item | None:
        with self._database.transaction() as connection:
            found = connection.execute(
                "SELECT item, response FROM items WHERE key = ? AND id = ?", (key, id_)
            ).fetchone()
            if found:
                connection.execute(_USE, (key, found[1])).fetchone()
        return dict(from_json(found[0])) if found else None

    async def add(self, key: str, response: str, items: Items) -> None:
        data = to_json(items)
        if len(data) > self.most:
            return
        rows = [(key, item["id"], response, to_json(item)) for item in items if item.get("id")]
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO responses (key, id, items) VALUES (?, ?, ?)", (key, response, data))
            connection.executemany("INSERT OR REPLACE INTO items (key, id, response, item) VALUES (?, ?, ?, ?)", rows)
            (total,) = connection.execute("SELECT total(length(items)) FROM responses").fetchone()
            while total > self.most:
                its_key, its_id, size = connection.execute(_FORGET).fetchone()
                connection.execute("DELETE FROM items WHERE key = ? AND response = ?", (its_key, its_id))
                total -= size

    async def values(self, names: Sequence[str]) -> Mapping[str, bytes]:
        with self._database.transaction("BEGIN") as connection:
            places = ", ".join("?" * len(names))
            command = f"SELECT name, value FROM kept WHERE ends > ? AND name IN ({places})"  # noqa: S608 - places
            return dict(connection.execute(command, (time(), *names)).fetchall())

    async def keep_value(self, name: str, value: bytes, seconds: float) -> None:
        with self._database.transaction() as connection:
            command = "INSERT OR REPLACE INTO kept (name, value, ends) VALUES (?, ?, ?)"
            connection.execute(command, (name, value, time() + seconds))
            connection.execute("DELETE FROM kept WHERE number <= (SELECT max(number) FROM kept) - ?", (MOST_VALUES,))

    async def aclose(self) -> None:
        self._database.close()


class RedisStore:
    """Shares responses between the workers of several machines."""

    def __init__(self, url: str, most: int) -> None:
        self.most = most
        self._scripts = RedisScripts(url, _ADD, _READ, _GET, _SET)

    async def conversation(self, key: str, response: str) -> Items | None:
        found = await self._scripts.run(_READ, PREFIX, "items", _name(key, response))
        return tuple(from_json(found)) if found else None

    async def item(self, key: str, id_: str) -> Item | None:
        found = await self._scripts.run(_READ, PREFIX, f"item/{_name(key, id_)}")
        return dict(from_json(found)) if found else None

    async def add(self, key: str, response: str, items: Items) -> None:
        data = to_json(items)
        if len(data) > self.most:
            return
        homes = [(_name(key, item["id"]), to_json(item)) for item in items if item.get("id")]
        words = (word for home in homes for word in home)
        await self._scripts.run(_ADD, PREFIX, self.most, _name(key, response), data, *words)

    async def values(self, names: Sequence[str]) -> Mapping[str, bytes]:
        found = await self._scripts.run(_GET, *(f"{PREFIX}kept/{name}" for name in names)) if names else ()
        return {name: value for name, value in zip(names, found, strict=True) if value is not None}

    async def keep_value(self, name: str, value: bytes, seconds: float) -> None:
        await self._scripts.run(_SET, PREFIX, name, value, max(1, round(seconds)))

    async def aclose(self) -> None:
        await self._scripts.aclose()


def _name(key: str, id_: str) -> str:
    """Joins key and id by a line break, which no key's name contains, so that an id can't forge another key's."""
    return f"{key}\n{id_}"
