"""Shares between workers what each learns about upstreams: outages, and options that models refuse.

So only the first worker to meet one pays for it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from pydantic_core import from_json, to_json

from ..core.errors import StoreError
from ..providers._breaker import CircuitBreaker, CircuitName, Outage, circuit_breakers
from ..providers._capabilities import REFUSAL_SECONDS, RefusalMemory
from .stores import ResponseStore

EXCHANGE_SECONDS = 1.0
"""Seconds between two exchanges with the other workers."""
KEPT_SECONDS = 120.0
"""Seconds that the store keeps an outage; if it goes on, it is stored again."""


REFUSALS = "refusals/1"


class OutageNews(NamedTuple):
    """A circuit's outage in the store: its id, and whether it is over."""

    id: str
    is_over: bool
    reason: str
    seconds: float


class KnownOutage(NamedTuple):
    """An outage that this worker has shared or learned. One that it met itself ends only with an answer to itself."""

    id: str
    is_own: bool


@asynccontextmanager
async def sharing_upstreams(store: ResponseStore) -> AsyncIterator[None]:
    """Shares knowledge of upstreams with other workers, if there are any, while the block runs."""
    if not store.is_shared:
        yield
        return
    sharing = asyncio.create_task(_keep_sharing(store))
    try:
        yield
    finally:
        sharing.cancel()
        await asyncio.wait((sharing,))


async def _keep_sharing(store: ResponseStore) -> None:
    """Exchanges in a loop. While the store is away the others' knowledge is missing, but no request waits for it."""
    outages = SharedOutages(store)
    while True:
        await asyncio.sleep(EXCHANGE_SECONDS)
        with suppress(StoreError):
            await outages.share()
            await share_refusals(store, RefusalMemory.load())


async def share_refusals(store: ResponseStore, memory: RefusalMemory) -> None:
    """Merges the refusals of all workers. If two write at once one is overwritten; it writes again at its next turn."""
    stored = (await store.values([REFUSALS])).get(REFUSALS)
    memory.take_over(from_json(stored) if stored else {})
    known = memory.by_digest()
    if known and to_json(known) != stored:
        await store.keep_value(REFUSALS, to_json(known), REFUSAL_SECONDS)


@dataclass(slots=True)
class SharedOutages:
    """One worker's side of sharing outages."""

    store: ResponseStore
    breakers: Callable[[], Iterable[tuple[CircuitName, CircuitBreaker]]] = circuit_breakers
    _known: dict[str, KnownOutage] = field(default_factory=dict)
    _past: dict[str, str] = field(default_factory=dict)

    async def share(self) -> None:
        """Publishes new outages of this worker, and adopts those of others. Raises `StoreError`."""
        breakers = {_store_name(name): breaker for name, breaker in self.breakers()}
        stored = await self.store.values([*breakers]) if breakers else {}
        for name, breaker in breakers.items():
            await self._share_one(name, breaker, OutageNews(*from_json(stored[name])) if name in stored else None)
        self._forget(breakers)

    async def _share_one(self, name: str, breaker: CircuitBreaker, news: OutageNews | None) -> None:
        known, outage = self._known.get(name), breaker.outage
        if known and not outage:
            await self._publish(name, known.id, None)
            self._past[name] = known.id
            del self._known[name]
        elif outage and not (known and news):
            known = self._known[name] = known or KnownOutage(token_hex(8), is_own=True)
            await self._publish(name, known.id, outage)
        elif news:
            self._take_over(name, breaker, news)

    def _take_over(self, name: str, breaker: CircuitBreaker, news: OutageNews) -> None:
        """Adopts another worker's outage, unless this one has just had an answer: the other may be cut off alone."""
        known = self._known.get(name)
        if known:
            if news.is_over and known == (news.id, False):
                breaker.take_over(None)
                del self._known[name]
        elif breaker.has_answered_within(EXCHANGE_SECONDS):
            self._past[name] = news.id
        elif not news.is_over and self._past.get(name) != news.id:
            breaker.take_over(Outage(news.reason, news.seconds))
            self._known[name] = KnownOutage(news.id, is_own=False)

    async def _publish(self, name: str, id_: str, outage: Outage | None) -> None:
        news = OutageNews(id_, outage is None, *(outage or Outage("", 0.0)))
        await self.store.keep_value(name, to_json(news), KEPT_SECONDS)

    def _forget(self, breakers: Mapping[str, CircuitBreaker]) -> None:
        """Drops the circuits that are no longer in use."""
        for kept in (self._known, self._past):
            for name in kept.keys() - breakers:
                del kept[name]


def _store_name(name: CircuitName) -> str:
    """Returns a circuit's key, hashed as its address may hold a password. The 1 is the version of the format."""
    return f"outage/1/{sha256(to_json(name)).hexdigest()}"
