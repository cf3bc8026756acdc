"""What pairs have shown on several machines: each has a copy of its own, and one Redis has all of it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ai_battle.core.errors import StoreError
from ai_battle.evidence.store import EvidenceStore
from tests.redis import RedisProcess, redis_server

PAIR = "ollama/phi4 + openai/gpt-4o"
Machine = Callable[[str], EvidenceStore]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with redis_server(tmp_path, "--appendonly", "no") as server:
        yield server


@pytest.fixture
def machine(redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Opens the store as a machine of that name does."""
    opened = []

    def opens(name: str) -> EvidenceStore:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        opened.append(EvidenceStore(redis.url))
        return opened[-1]

    yield opens
    for store in opened:
        store.close()


def keys(store: EvidenceStore) -> list[str]:
    return [record.key for record in store.records("lessons", PAIR)]


def test_what_one_machine_learns_the_others_find(machine: Machine) -> None:
    first, second = machine("first"), machine("second")
    first.add("lessons", PAIR, "boat", {"answer": "fast"}, "How fast is a boat?")
    assert [found.document for found in second.search("lessons", PAIR, ["boat"], 3)] == [{"answer": "fast"}]

    second.change("lessons", PAIR, "boat", lambda found: {**(found or {}), "shown": 1})
    assert first.get("lessons", PAIR, "boat") == {"answer": "fast", "shown": 1}
    assert [found.key for found in first.search("lessons", PAIR, ["boat"], 3)] == ["boat"]
    assert first.remove("lessons", PAIR, ["boat"]) == 1
    assert keys(second) == []
    assert not second.search("lessons", PAIR, ["boat"], 3)


def test_a_machine_that_comes_later_has_everything(machine: Machine) -> None:
    first = machine("first")
    for number in range(1_203):
        first.add("lessons", PAIR, f"{number:04}", {})
    first.remove("lessons", PAIR, ["0007"])

    late = machine("late")
    assert keys(late) == [f"{number:04}" for number in range(1_203) if number != 7]
    first.add("lessons", PAIR, "new", {})
    assert keys(late)[-1] == "new"


def test_while_the_redis_is_away_what_was_known_can_be_read_and_nothing_is_said_to_be_kept(
    machine: Machine, redis: RedisProcess
) -> None:
    store = machine("first")
    store.add("lessons", PAIR, "one", {})
    redis.kill()
    with pytest.raises(StoreError, match=f"redis://127.0.0.1:{redis.port}/0 can't be used"):
        store.add("lessons", PAIR, "two", {})
    assert keys(store) == ["one"]


def test_a_redis_that_lost_everything_gets_it_back_from_the_copies(machine: Machine, redis: RedisProcess) -> None:
    first, second = machine("first"), machine("second")
    first.add("lessons", PAIR, "one", {"said": "first"}, "boat")
    assert keys(second) == ["one"]
    redis.kill()
    redis.start()

    second.add("lessons", PAIR, "two", {})
    assert keys(second) == keys(first) == ["one", "two"]
    assert keys(machine("late")) == ["one", "two"]
    assert first.search("lessons", PAIR, ["boat"], 3)[0].document == {"said": "first"}


def test_a_machine_that_was_away_for_too_long_reads_all_of_it_again(
    machine: Machine, redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, busy = machine("late"), machine("busy")
    late.add("lessons", PAIR, "gone", {})
    for number in range(300):
        busy.change("lessons", PAIR, "seen", lambda found, seen=number: {"seen": seen})  # type: ignore[misc]
    busy.remove("lessons", PAIR, ["gone"])
    _trim(redis)

    assert keys(late) == ["seen"]
    assert late.get("lessons", PAIR, "seen") == {"seen": 299}


def _trim(redis: RedisProcess) -> None:
    """As a Redis does by itself after 200,000 changes."""
    with closing(pytest.importorskip("redis").Redis.from_url(redis.url)) as client:
        client.xtrim("ai-battle:evidence/changes", maxlen=1)
