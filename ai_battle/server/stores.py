"""What keys use, counted by all workers together: in SQLite on one machine, in Redis or Valkey on several."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from secrets import token_hex
from sqlite3 import Connection

from ..core.database import Database
from ..core.redis_scripts import PREFIX, RedisScripts
from .shared import DEAD_SECONDS, MERGE_SECONDS, PLACES, Amounts, ClaimAnswer

NAME = "counts.sqlite"
FORMAT = 1
LOCK_SECONDS = 1.0
"""Seconds for which a worker blocks at most while another one writes; usually that takes microseconds."""
CLEAN_EVERY = 64
_COUNTS_SCHEMA = (
    "CREATE TABLE workers (worker TEXT PRIMARY KEY, seen REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE amounts (name TEXT, worker TEXT, used REAL NOT NULL, held REAL NOT NULL, number INTEGER NOT NULL, "
    "PRIMARY KEY (name, worker)) WITHOUT ROWID",
    "CREATE TABLE moments (name TEXT, number INTEGER, at REAL NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID",
)
_TAKE_OVER = (
    "INSERT INTO amounts (name, worker, used, held, number) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "used = excluded.used, held = excluded.held, number = excluded.number WHERE excluded.number > number"
)
_WINDOW = (
    "SELECT last.number, (SELECT at FROM moments WHERE name = ?1 AND number = last.number - ?2) FROM moments AS last "
    "WHERE name = ?1 ORDER BY number DESC LIMIT 1"
)
"""Returns the number of a key's last request, and the time of the first one that still fills the window."""
_OTHERS = (
    "SELECT total(used + iif(?4 OR ifnull(seen, 0) > ?3, 0, held)), total(iif(ifnull(seen, 0) > ?3, held, 0)) "
    "FROM amounts LEFT JOIN workers USING (worker) WHERE name = ?1 AND worker != ?2"
)
# The row of the worker '' is the sum of all workers that have ended.
_ADD_UP = (
    "INSERT INTO amounts (name, worker, used, held, number) "
    "SELECT name, '', used + CASE WHEN name GLOB ?1 || '*' THEN 0 ELSE held END, 0, 0 FROM amounts WHERE worker = ?2 "
    "ON CONFLICT DO UPDATE SET used = used + excluded.used"
)


class SqliteCounts:
    """Shared counts in SQLite. Each step takes some 20 microseconds, so it runs in the event loop itself."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Opens the folder's file, a new one if there is none. Raises `ConfigError`."""
        self._database = Database(folder / NAME, _COUNTS_SCHEMA, FORMAT, lock_seconds=LOCK_SECONDS)
        self.clock = clock

    async def claim(self, worker: str, name: str, own: Amounts, limit: float) -> ClaimAnswer:
        with self._database.transaction() as connection:
            used, held = self._use_of_others(connection, worker, name)
            granted = used + held + own.used + own.held <= limit
            if granted:
                self._renew(connection, worker)
                connection.execute(_TAKE_OVER, (name, worker, *own))
        return ClaimAnswer(granted, used, held)

    async def publish(self, worker: str, amounts: Mapping[str, Amounts]) -> None:
        with self._database.transaction() as connection:
            self._renew(connection, worker)
            dead = connection.execute(
                "SELECT worker FROM workers WHERE seen < ?", (self.clock() - MERGE_SECONDS,)
            ).fetchall()
            for (other,) in dead:
                _add_up(connection, other)
            connection.executemany(_TAKE_OVER, ((name, worker, *own) for name, own in amounts.items()))

    async def count(self, name: str, most: int, seconds: float) -> float:
        now = self.clock()
        with self._database.transaction() as connection:
            last, first = connection.execute(_WINDOW, (name, most - 1)).fetchone() or (0, None)
            if first is not None and now - seconds < first <= now:  # a clock that was set back must not shut a key out
                return max(0.001, float(first) + seconds - now)
            connection.execute("INSERT INTO moments (name, number, at) VALUES (?, ?, ?)", (name, last + 1, now))
            if last % CLEAN_EVERY == 0:
                connection.execute("DELETE FROM moments WHERE name = ? AND number <= ?", (name, last - most))
        return 0.0

    async def end(self, worker: str, names: Iterable[str]) -> None:
        with self._database.transaction() as connection:
            _add_up(connection, worker)
        self._database.close()

    def _renew(self, connection: Connection, worker: str) -> None:
        command = "INSERT INTO workers (worker, seen) VALUES (?, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen"
        connection.execute(command, (worker, self.clock()))

    def _use_of_others(self, connection: Connection, worker: str, name: str) -> tuple[float, float]:
        """Returns what the other workers have used, and what the living ones hold."""
        values = (name, worker, self.clock() - DEAD_SECONDS, name.startswith(PLACES))
        used, held = connection.execute(_OTHERS, values).fetchone()
        return used, held


def _add_up(connection: Connection, worker: str) -> None:
    connection.execute(_ADD_UP, (PLACES, worker))
    connection.execute("DELETE FROM amounts WHERE worker = ?", (worker,))
    connection.execute("DELETE FROM workers WHERE worker = ?", (worker,))


_HEAD = f"""
local prefix, lapse, forget, places = '{PREFIX}', {DEAD_SECONDS}, {MERGE_SECONDS}, '{PLACES}'
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local function read(row)
  local used, held, number = string.match(row or '0 0 0', '(%S+) (%S+) (%S+)')
  return tonumber(used), tonumber(held), tonumber(number)
end
local function take_over(name, worker, used, held, number)
  local _, _, known = read(redis.call('HGET', prefix .. name, worker))
  if tonumber(number) > known then redis.call('HSET', prefix .. name, worker, used .. ' ' .. held .. ' ' .. number) end
end
local function add_up(name, worker)
  local used, held = read(redis.call('HGET', prefix .. name, worker))
  local ended = read(redis.call('HGET', prefix .. name, ''))
  if string.sub(name, 1, #places) == places then held = 0 end
  redis.call('HSET', prefix .. name, '', string.format('%.17g', ended + used + held) .. ' 0 0')
  redis.call('HDEL', prefix .. name, worker)
end
"""
CLAIM = (
    _HEAD
    + """
local worker, name, limit = ARGV[1], ARGV[2], tonumber(ARGV[6])
local used, held, is_free = 0, 0, string.sub(name, 1, #places) == places
local rows = redis.call('HGETALL', prefix .. name)
for place = 1, #rows, 2 do
  local other = rows[place]
  if other ~= worker then
    local its_used, its_held = read(rows[place + 1])
    local seen = tonumber(redis.call('ZSCORE', prefix .. 'workers', other) or 0)
    used = used + its_used
    if seen > now - lapse then held = held + its_held elseif not is_free then used = used + its_held end
    if other ~= '' and seen < now - forget then add_up(name, other) end
  end
end
local granted = used + held + tonumber(ARGV[3]) + tonumber(ARGV[4]) <= limit
if granted then
  redis.call('ZADD', prefix .. 'workers', now, worker)
  take_over(name, worker, ARGV[3], ARGV[4], ARGV[5])
end
return {granted and 1 or 0, string.format('%.17g', used), string.format('%.17g', held)}
"""
)
PUBLISH = (
    _HEAD
    + """
redis.call('ZADD', prefix .. 'workers', now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', prefix .. 'workers', 0, now - forget)
for place = 2, #ARGV, 4 do take_over(ARGV[place], ARGV[1], ARGV[place + 1], ARGV[place + 2], ARGV[place + 3]) end
return 1
"""
)
COUNT = (
    _HEAD
    + """
local key, most, seconds = prefix .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, '-inf', now - seconds)
local oldest = redis.call('ZREVRANGE', key, most - 1, most - 1, 'WITHSCORES')
if #oldest > 0 then return string.format('%.6f', tonumber(oldest[2]) + seconds - now) end
redis.call('ZADD', key, string.format('%.6f', now), ARGV[4])
redis.call('EXPIRE', key, math.ceil(seconds))
return '0'
"""
)
END = (
    _HEAD
    + """
for place = 2, #ARGV do add_up(ARGV[place], ARGV[1]) end
redis.call('ZREM', prefix .. 'workers', ARGV[1])
return 1
"""
)


class RedisCounts:
    """Shared counts in Redis. Time is that of the Redis server, so the clocks of the workers' machines may differ."""

    def __init__(self, url: str) -> None:
        self._scripts = RedisScripts(url, CLAIM, PUBLISH, COUNT, END)

    async def claim(self, worker: str, name: str, own: Amounts, limit: float) -> ClaimAnswer:
        granted, used, held = await self._scripts.run(CLAIM, worker, name, *own, limit)
        return ClaimAnswer(bool(granted), float(used), float(held))

    async def publish(self, worker: str, amounts: Mapping[str, Amounts]) -> None:
        await self._scripts.run(PUBLISH, worker, *(word for name, own in amounts.items() for word in (name, *own)))

    async def count(self, name: str, most: int, seconds: float) -> float:
        return float(await self._scripts.run(COUNT, name, most, seconds, token_hex(8)))

    async def end(self, worker: str, names: Iterable[str]) -> None:
        try:
            await self._scripts.run(END, worker, *names)
        finally:
            await self._scripts.aclose()
