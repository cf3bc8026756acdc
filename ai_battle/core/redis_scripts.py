"""Runs Lua scripts atomically on Redis or Valkey (`pip install 'ai-battle[redis]'`), and explains its errors."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import ConfigError, StoreError
from .plugins import optional
from .texts import public_url

SCHEMES = ("redis", "rediss", "unix")
"""The URL schemes of stores that several machines share."""
PREFIX = "ai-battle:"
EXTRA = "redis"
SCRIPT_SECONDS = 1.0
"""Seconds for one script."""
MAX_CONNECTIONS = 8
WAYS_OUT = {
    "Authentication required": "Write its password into the address: redis://:${REDIS_PASSWORD}@host:6379/0.",
    "invalid username-password": "Its user or password in the address is wrong.",
    "maxmemory": "It is full: give it more memory; with an eviction policy it would forget what keys have spent.",
    "read only replica": "Name the primary, not a replica.",
    "Write commands not allowed after non deterministic": "It is too old; Redis 5 or newer is needed.",
}


def store_place(place: str | Path) -> str | Path:
    """Returns the address of a store, or a folder. Raises `ConfigError` for any other address."""
    scheme, separator, _ = str(place).partition(":/")
    if scheme in SCHEMES:
        return str(place)
    # A scheme of one letter is a drive of Windows, as in C:/.
    if separator and "/" not in scheme and len(scheme) > 1:
        raise ConfigError(f"{scheme}: is not a Redis scheme ({', '.join(SCHEMES)}), nor a folder.")
    return Path(place)


class RedisScripts:
    """Runs scripts on a server. Each may be sent twice, because a connection that was closed is reopened."""

    def __init__(self, url: str, *scripts: str) -> None:
        """Sends nothing yet. Raises `ConfigError` for an invalid address, and if the package is missing."""
        self._where = public_url(url)
        self._redis = _client("redis.asyncio", url)
        self._scripts = {text: self._redis.register_script(text) for text in scripts}

    async def run(self, script: str, *words: str | bytes | float) -> Any:
        """Runs the script. Raises `StoreError`."""
        with _store_errors(self._where):
            async with asyncio.timeout(SCRIPT_SECONDS):
                return await self._scripts[script](args=_arguments(words))

    async def aclose(self) -> None:
        await self._redis.aclose(close_connection_pool=True)


class BlockingRedisScripts:
    """`RedisScripts` for threads."""

    def __init__(self, url: str, *scripts: str) -> None:
        self.where = public_url(url)
        self._redis = _client("redis", url)
        self._scripts = {text: self._redis.register_script(text) for text in scripts}

    def run(self, script: str, *words: str | bytes | float) -> Any:
        """Runs the script. Raises `StoreError`."""
        with _store_errors(self.where):
            return self._scripts[script](args=_arguments(words))

    def close(self) -> None:
        self._redis.close()


def _client(module: str, url: str) -> Any:
    redis, retry, backoff = (optional(name, EXTRA) for name in (module, f"{module}.retry", "redis.backoff"))
    try:
        pool = redis.BlockingConnectionPool.from_url(
            url,
            protocol=2,
            max_connections=MAX_CONNECTIONS,
            timeout=SCRIPT_SECONDS,
            socket_timeout=SCRIPT_SECONDS,
            socket_connect_timeout=SCRIPT_SECONDS,
            retry=retry.Retry(backoff.NoBackoff(), 1),
        )
    except ValueError as error:
        raise ConfigError(f"{public_url(url)} is not a Redis address: {error}") from error
    return redis.Redis(connection_pool=pool)


def _arguments(words: tuple[str | bytes | float, ...]) -> list[str | bytes]:
    return [repr(word) if isinstance(word, float | int) else word for word in words]


@contextmanager
def _store_errors(where: str) -> Iterator[None]:
    try:
        yield
    except (optional("redis.exceptions", EXTRA).RedisError, OSError) as error:
        what = str(error).rstrip(".") or f"no answer within {SCRIPT_SECONDS:g} s"
        way_out = next((words for sign, words in WAYS_OUT.items() if sign in what), "It is tried again.")
        raise StoreError(f"{where} can't be used: {what}. {way_out}") from error
