"""Workers that tell each other of outages; here two of them share one process and its clock."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from ai_battle.core.errors import ProviderError, Unreachable
from ai_battle.providers._breaker import Upstream
from ai_battle.server.stored import SqliteStore
from ai_battle.server.workers import SharedOutages
from tests.clocks import set_forward

MODEL = "gpt-4o"
FAILURES, PROBE_AFTER = 5, 30
"""In a row, and the seconds for which nobody calls after them."""


class Worker:
    def __init__(self, store: SqliteStore) -> None:
        self.upstream = Upstream("http://user:secret@127.0.0.1:1")
        self.circuit = self.upstream.circuit(MODEL)
        self.outages = SharedOutages(store, self.upstream.breakers)

    async def call(self, error: ProviderError | None = None) -> None:
        async def answer() -> None:
            if error:
                raise error

        with suppress(Unreachable):
            await self.circuit.attempt(answer)

    async def fail(self, times: int = FAILURES) -> None:
        for _ in range(times):
            await self.call(Unreachable("No connection", again="always"))
            set_forward(0.001)

    @property
    def is_waiting(self) -> bool:
        return self.circuit.waiting()[0] > 0


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[tuple[Worker, Worker]]:
    stores = [SqliteStore(tmp_path / "store.sqlite", 0) for _ in range(2)]
    yield Worker(stores[0]), Worker(stores[1])
    for store in stores:
        await store.aclose()


async def share(*workers: Worker) -> None:
    for worker in workers:
        await worker.outages.share()


async def test_an_outage_that_one_meets_holds_for_the_other_until_anyone_has_an_answer(
    workers: tuple[Worker, Worker], tmp_path: Path
) -> None:
    first, second = workers
    await first.fail()
    await share(first, second)
    assert second.is_waiting
    assert "No connection" in second.circuit.model.reason

    set_forward(PROBE_AFTER + 1)
    assert not second.is_waiting
    await first.call()
    await share(first, second)
    assert second.circuit.model.outage is None
    assert b"secret" not in (tmp_path / "store.sqlite").read_bytes()


async def test_an_answer_to_who_was_told_ends_it_for_all_who_were_told_alone(workers: tuple[Worker, Worker]) -> None:
    """Who has met it waits for an answer of its own: it may be cut off where the others are not."""
    first, second = workers
    await first.fail()
    await share(first, second)
    set_forward(PROBE_AFTER + 1)
    await second.call()
    await share(second, first)
    assert not second.is_waiting
    assert first.circuit.model.outage is not None

    set_forward(200)
    await share(first, second)
    assert not second.is_waiting


async def test_a_worker_that_has_answers_believes_no_outage_of_another(workers: tuple[Worker, Worker]) -> None:
    first, second = workers
    await first.fail()
    await second.call()
    await share(first, second)
    set_forward(10)
    await share(first, second)
    assert first.is_waiting
    assert not second.is_waiting


async def test_a_wish_to_be_left_alone_is_heard_by_all(workers: tuple[Worker, Worker]) -> None:
    first, second = workers
    first.circuit.upstream.close_for(20)
    await share(first, second)
    assert 19 < second.circuit.waiting()[0] <= 20
    set_forward(21)
    await share(first, second)
    assert not second.is_waiting
