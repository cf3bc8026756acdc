"""Answers that workers keep together: the same in a file of one machine and in a Redis of many, as in one process."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.errors import StoreError
from ai_battle.core.redis_scripts import PREFIX
from ai_battle.server.stored import MemoryStore, RedisStore, ResponseStore, SqliteStore
from tests.redis import redis_server

Open = Callable[[], ResponseStore]
MOST = 1000


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Each but the first is another worker's."""
    opened: list[ResponseStore] = []

    def open_with(make: Callable[[], ResponseStore]) -> Open:
        def opens() -> ResponseStore:
            opened.append(make())
            return opened[-1]

        return opens

    if request.param == "redis":
        with redis_server(tmp_path) as server:
            yield open_with(lambda: RedisStore(server.url, MOST))
            for store in opened:
                await store.aclose()
        return
    memory = MemoryStore(MOST)
    yield open_with(lambda: memory if request.param == "memory" else SqliteStore(tmp_path / "responses.sqlite", MOST))
    for store in opened:
        await store.aclose()


def response(id_: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"input": [], "answer": {"id": id_, "output": [*items]}}


def item(id_: str, text: str = "Hi.") -> dict[str, Any]:
    return {"id": id_, "type": "message", "text": text}


async def test_what_one_worker_keeps_another_finds_for_the_same_key(open_store: Open) -> None:
    stored = response("resp_1", item("msg_1"), {"role": "user", "content": "no id"}, {"id": ["no name"]})
    await open_store().add("team", stored)

    other = open_store()
    assert await other.response("team", "resp_1") == stored
    assert await other.item("team", "msg_1") == item("msg_1")
    for missing in (("another", "resp_1"), ("team", "resp_2"), ("team", "msg_1"), ("", "team\nresp_1")):
        assert await other.response(*missing) is None
    assert await other.item("another", "msg_1") is None
    assert not await other.delete("another", "resp_1")
    assert await other.delete("team", "resp_1")
    assert (await open_store().response("team", "resp_1"), await open_store().item("team", "msg_1")) == (None, None)


async def test_what_was_used_last_stays_where_there_is_no_room(open_store: Open) -> None:
    store = open_store()
    for number in range(3):
        await store.add("team", response(f"resp_{number}", item(f"msg_{number}", "x" * 200)))
    assert await store.response("team", "resp_0")
    await store.add("team", response("resp_3", item("msg_3", "x" * 200)))
    await store.add("team", response("resp_4", item("msg_4", "x" * MOST)))

    found = [await store.response("team", f"resp_{number}") is not None for number in range(5)]
    assert found == [True, False, True, True, False]
    assert await store.item("team", "msg_1") is None
    assert await store.item("team", "msg_0") is not None


async def test_an_item_can_be_found_as_long_as_an_answer_has_it(open_store: Open) -> None:
    store, said = open_store(), item("msg_1", "Größe 😀")
    first, second = response("resp_1", item("msg_0"), said), response("resp_2", item("msg_2"))
    await store.add("team", first)
    await store.add("team", {**second, "input": ({"role": "user", "content": "?"}, said)})
    await store.add("team", response("resp_3", said))

    assert await store.item("team", "msg_1") == said
    assert [await store.delete("team", f"resp_{number}") for number in (2, 3, 3)] == [True, True, False]
    assert [await store.item("team", f"msg_{number}") for number in range(3)] == [item("msg_0"), said, None]
    assert await store.response("team", "resp_1") == first
    assert await store.delete("team", "resp_1")
    assert await store.item("team", "msg_1") is None


async def test_an_item_that_is_referred_to_keeps_its_answer(open_store: Open) -> None:
    store = open_store()
    for number in range(3):
        await store.add("team", response(f"resp_{number}", item(f"msg_{number}", "x" * 200)))
    assert await store.item("team", "msg_0")
    await store.add("team", response("resp_3", item("msg_3", "x" * 200)))

    assert [await store.item("team", f"msg_{number}") is not None for number in range(3)] == [True, False, True]


async def test_an_item_is_kept_once(tmp_path: Path) -> None:
    one_process, path = MemoryStore(3_000_000), tmp_path / "responses.sqlite"
    workers, stored = SqliteStore(path, 3_000_000), response("resp_1", item("msg_1", "x" * 1_000_000))
    await one_process.add("team", stored)
    await workers.add("team", stored)
    await workers.aclose()

    assert await one_process.response("team", "resp_1") is stored
    assert path.stat().st_size < 1_100_000


async def test_a_redis_of_an_earlier_version_has_its_whole_room(tmp_path: Path) -> None:
    redis = pytest.importorskip("redis")
    with redis_server(tmp_path) as server:
        client = redis.Redis.from_url(server.url)
        for number in range(25):
            name = f"{PREFIX}response/team\nold_{number}"
            client.hset(name, mapping={"items": "x" * 300, f"item/team\nmsg_{number}": "x" * 300})
            client.set(f"{PREFIX}item/team\nmsg_{number}", name)
            client.zadd(f"{PREFIX}responses", {name: number})
        client.set(f"{PREFIX}responses-bytes", 25 * 300)
        store = RedisStore(server.url, MOST)
        for number in range(3):
            await store.add("team", response(f"resp_{number}", item(f"msg_{number}", "x" * 200)))
        found = [await store.response("team", f"resp_{number}") is not None for number in range(3)]
        left = {key.decode().removeprefix(PREFIX).partition("/")[0] for key in client.scan_iter()}
        await store.aclose()
        client.close()

    assert found == [True, True, True]
    assert left == {"answers", "answers-bytes", "answer", "answer-item"}


@pytest.mark.parametrize("open_store", ["sqlite", "redis"], indirect=True)
async def test_values_are_known_to_the_others_as_long_as_they_hold(open_store: Open) -> None:
    first, second = open_store(), open_store()
    assert not isinstance(first, MemoryStore)
    assert not isinstance(second, MemoryStore)
    await first.keep_value("plan/1", b"old", 100)
    await first.keep_value("plan/1", b"new", 100)
    await first.keep_value("signature/1", b"{}", 100)

    known = {"plan/1": b"new", "signature/1": b"{}"}
    assert await second.values(["plan/1", "signature/1", "plan/2"]) == known
    assert await second.values([]) == {}


async def test_a_store_that_is_away_is_an_error_with_its_address(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        store = RedisStore(server.url, MOST)
    with pytest.raises(StoreError, match=f"redis://127.0.0.1:{server.port}/0 can't be used"):
        await store.item("team", "msg_1")
    await store.aclose()
