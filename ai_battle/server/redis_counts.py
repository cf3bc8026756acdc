"""The counts that workers on several machines share, in Redis or Valkey."""

from collections.abc import Iterable, Mapping
from secrets import token_hex

from ..core.redis_scripts import PREFIX, RedisScripts
from .shared import FORGET, LAPSE, PLACES, Amounts, ClaimAnswer

_HEAD = f"""
local prefix, lapse, forget, places = '{PREFIX}', {LAPSE}, {FORGET}, '{PLACES}'
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
TELL = (
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
        self._scripts = RedisScripts(url, CLAIM, TELL, COUNT, END)

    async def claim(self, worker: str, name: str, own: Amounts, limit: float) -> ClaimAnswer:
        granted, used, held = await self._scripts.run(CLAIM, worker, name, *own, limit)
        return ClaimAnswer(bool(granted), float(used), float(held))

    async def tell(self, worker: str, amounts: Mapping[str, Amounts]) -> None:
        await self._scripts.run(TELL, worker, *(word for name, own in amounts.items() for word in (name, *own)))

    async def count(self, name: str, most: int, seconds: float) -> float:
        return float(await self._scripts.run(COUNT, name, most, seconds, token_hex(8)))

    async def end(self, worker: str, names: Iterable[str]) -> None:
        try:
            await self._scripts.run(END, worker, *names)
        finally:
            await self._scripts.aclose()
