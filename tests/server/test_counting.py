"""What workers count together: the same for a file of one machine and for a Redis of many."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from ai_battle.core.errors import ConfigError, StoreError
from ai_battle.server.shared import DEAD_SECONDS, MERGE_SECONDS, Amounts, CountStore
from ai_battle.server.stores import NAME, RedisCounts, SqliteCounts
from tests.clocks import stop_clock
from tests.redis import RedisProcess, redis_server

Open = Callable[[], CountStore]
DOLLARS, PLACES = "dollars/team", "places/team"


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    if request.param == "sqlite":
        yield lambda: SqliteCounts(tmp_path)
        return
    url = request.getfixturevalue("redis").url
    from redis.asyncio import Redis

    async with Redis.from_url(url) as client:
        await client.flushall()
    yield lambda: RedisCounts(url)


async def publish_to(store: CountStore) -> None:
    try:
        await store.publish("a", {})
    finally:
        with suppress(StoreError):
            await store.end("a", [])


async def claim(store: CountStore, worker: str, name: str, own: Amounts) -> list[float]:
    """Returns whether it stays within 1, what others have used, and what they hold."""
    return [*await store.claim(worker, name, own, 1.0)]


async def test_what_all_workers_use_and_hold_stays_within_the_limit(open_store: Open) -> None:
    first, second = open_store(), open_store()
    assert (await first.claim("a", DOLLARS, Amounts(0.2, 0.3, 1), 1.0)).granted
    assert await claim(second, "b", DOLLARS, Amounts(0.0, 0.6, 1)) == pytest.approx([False, 0.2, 0.3])

    await first.publish("a", {DOLLARS: Amounts(0.25, 0.0, 2)})
    assert await claim(second, "b", DOLLARS, Amounts(0.0, 0.6, 2)) == pytest.approx([True, 0.25, 0.0])
    for store, worker in ((first, "a"), (second, "b")):
        await store.end(worker, [DOLLARS])


async def test_what_is_told_twice_or_late_counts_once(open_store: Open) -> None:
    store = open_store()
    newer, older = {DOLLARS: Amounts(0.5, 0.0, 7)}, {DOLLARS: Amounts(0.1, 0.4, 6)}
    for amounts in (newer, newer, older):
        await store.publish("a", amounts)

    assert await claim(store, "b", DOLLARS, Amounts(0, 0, 1)) == pytest.approx([True, 0.5, 0.0])
    await store.end("b", [DOLLARS])


async def test_a_worker_that_ended_leaves_what_it_has_used(open_store: Open) -> None:
    for worker in ("a", "b"):
        store = open_store()
        await store.publish(worker, {DOLLARS: Amounts(0.25, 0.0, 1), PLACES: Amounts(0, 1, 2)})
        await store.end(worker, [DOLLARS, PLACES])

    store = open_store()
    assert await claim(store, "c", DOLLARS, Amounts(0, 0.5, 1)) == pytest.approx([True, 0.5, 0.0])
    assert (await store.claim("c", PLACES, Amounts(0, 1, 2), 1.0)).granted
    await store.end("c", [DOLLARS])


async def test_the_next_request_of_a_key_is_counted_when_the_window_has_room(open_store: Open) -> None:
    store = open_store()
    assert [await store.count("requests/team", 2, 0.4) for _ in range(2)] == [0.0, 0.0]
    wait = await store.count("requests/team", 2, 0.4)
    assert 0.0 < wait <= 0.4
    assert await store.count("requests/another", 2, 0.4) == 0.0
    await asyncio.sleep(wait + 0.05)
    assert await store.count("requests/team", 2, 0.4) == 0.0
    await store.end("a", [])


async def test_fifty_workers_at_once_are_granted_what_there_is(open_store: Open) -> None:
    stop_clock()  # they wait for each other's connections, longer than the deadline of a call on a busy machine
    store = open_store()

    async def work(worker: str) -> int:
        granted = 0
        for number in range(1, 11):
            granted += (await store.claim(worker, DOLLARS, Amounts(0, 0.1 * (granted + 1), number), 10.05)).granted
        return granted

    assert sum(await asyncio.gather(*(work(f"w{number}") for number in range(50)))) == 100
    await store.end("w0", [DOLLARS])


async def test_what_a_dead_worker_held_counts_as_spent_and_its_places_are_free(tmp_path: Path) -> None:
    """Its last calls may have cost as much. After a day it is one of those that have ended."""
    now = time.time()
    store = SqliteCounts(tmp_path, lambda: now)
    await store.publish("dead", {DOLLARS: Amounts(0.2, 0.3, 1), PLACES: Amounts(0, 1, 2)})
    for wait in (DEAD_SECONDS + 1, MERGE_SECONDS, 1.0):
        now += wait
        assert await claim(store, "b", DOLLARS, Amounts(0, 0, 1)) == pytest.approx([True, 0.5, 0.0])
        assert await claim(store, "b", PLACES, Amounts(0, 1, 2)) == pytest.approx([True, 0.0, 0.0])
    await store.end("b", [])


async def test_a_dead_worker_is_known_by_the_clock_of_the_redis(redis: RedisProcess) -> None:
    from redis.asyncio import Redis

    store = RedisCounts(redis.url)
    async with Redis.from_url(redis.url) as client:
        await client.flushall()
        for wait in (DEAD_SECONDS + 1, MERGE_SECONDS + 1):
            await store.publish("dead", {DOLLARS: Amounts(0.2, 0.3, 1), PLACES: Amounts(0, 1, 2)})
            await client.zadd("ai-battle:workers", {"dead": time.time() - wait})
            assert await claim(store, "b", DOLLARS, Amounts(0, 0, 1)) == pytest.approx([True, 0.5, 0.0])
            assert await claim(store, "b", PLACES, Amounts(0, 1, 2)) == pytest.approx([True, 0.0, 0.0])
        assert await client.hkeys(f"ai-battle:{PLACES}") == [b"b", b""]
    await store.end("b", [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--requirepass", "secret"), "Write its password into the address"),
        (("--maxmemory", "100kb"), "give it more memory"),
        (("--replicaof", "127.0.0.1 1"), "Name the primary"),
    ],
    ids=["password", "full", "replica"],
)
async def test_a_redis_that_can_not_be_used_is_named_with_the_way_out(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    with redis_server(tmp_path, *options) as server, pytest.raises(StoreError, match=words) as told:
        await publish_to(RedisCounts(server.url))
    assert str(told.value).startswith(f"redis://127.0.0.1:{server.port}/0 can't be used: ")


async def test_a_redis_that_does_not_answer_is_given_up_after_a_second(redis: RedisProcess) -> None:
    """Stopped, it takes connections and says nothing."""
    assert redis.process
    os.kill(redis.process.pid, 19)
    begun = time.monotonic()
    try:
        with pytest.raises(StoreError, match=r"Timeout|no answer within 1 s"):
            await publish_to(RedisCounts(redis.url))
    finally:
        os.kill(redis.process.pid, 18)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("url", ["redis://host:port/0", "redis://h/x?socket_timeout=never"])
def test_an_address_that_is_none_is_told_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as told:
        RedisCounts(url.replace("//", "//:hidden@"))
    assert "hidden" not in str(told.value)


async def test_a_file_of_another_version_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="was made by another version of ai-battle"):
        SqliteCounts(tmp_path)
