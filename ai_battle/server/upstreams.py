"""What the workers of a server tell each other of upstreams: outages and options that models refuse.

The first that meets one spares the rest.
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
from ..providers._capabilities import SECONDS, RefusalMemory
from .stored import MemoryStore, ResponseStore

LOOKS = 1.0
"""Seconds between two looks at what the others tell."""
KEPT = 120.0
"""Seconds after which an outage that goes on is told again."""


REFUSALS = "refusals/1"


class OutageNews(NamedTuple):
    """What the store has of one circuit: an outage by its id, and whether it is over."""

    id: str
    is_over: bool
    reason: str
    seconds: float


class KnownOutage(NamedTuple):
    """What this worker has told or been told: one that it met itself ends by an answer to itself alone."""

    id: str
    is_own: bool


@asynccontextmanager
async def sharing_upstreams(store: ResponseStore) -> AsyncIterator[None]:
    """Shares what is known with other workers, where there are any, while the block runs."""
    if isinstance(store, MemoryStore):
        yield
        return
    sharing = asyncio.create_task(_keep_sharing(store))
    try:
        yield
    finally:
        sharing.cancel()
        await asyncio.wait((sharing,))


async def _keep_sharing(store: ResponseStore) -> None:
    """A store that is away costs what the others know, no request waits for it."""
    outages = SharedOutages(store)
    while True:
        await asyncio.sleep(LOOKS)
        with suppress(StoreError):
            await outages.share()
            await share_refusals(store, RefusalMemory.load())


async def share_refusals(store: ResponseStore, memory: RefusalMemory) -> None:
    """Takes over what the others know. Of two that tell at once one is written over, and tells it at its next look."""
    stored = (await store.values([REFUSALS])).get(REFUSALS)
    memory.take_over(from_json(stored) if stored else {})
    known = memory.by_digest()
    if known and to_json(known) != stored:
        await store.keep_value(REFUSALS, to_json(known), SECONDS)


@dataclass(slots=True)
class SharedOutages:
    """One worker's side."""

    store: ResponseStore
    breakers: Callable[[], Iterable[tuple[CircuitName, CircuitBreaker]]] = circuit_breakers
    _known: dict[str, KnownOutage] = field(default_factory=dict)
    _past: dict[str, str] = field(default_factory=dict)

    async def share(self) -> None:
        """Tells the others what is new here, and takes over what is new there. Raises `StoreError`."""
        breakers = {_store_name(name): breaker for name, breaker in self.breakers()}
        stored = await self.store.values([*breakers]) if breakers else {}
        for name, breaker in breakers.items():
            await self._share_one(name, breaker, OutageNews(*from_json(stored[name])) if name in stored else None)
        self._forget(breakers)

    async def _share_one(self, name: str, breaker: CircuitBreaker, news: OutageNews | None) -> None:
        known, outage = self._known.get(name), breaker.outage
        if known and not outage:
            await self._tell(name, known.id, None)
            self._past[name] = known.id
            del self._known[name]
        elif outage and not (known and news):
            known = self._known[name] = known or KnownOutage(token_hex(8), is_own=True)
            await self._tell(name, known.id, outage)
        elif news:
            self._take_over(name, breaker, news)

    def _take_over(self, name: str, breaker: CircuitBreaker, news: OutageNews) -> None:
        """A worker that has just had an answer believes no other: that one may be cut off alone."""
        known = self._known.get(name)
        if known:
            if news.is_over and known == (news.id, False):
                breaker.take_over(None)
                del self._known[name]
        elif breaker.has_answered_within(LOOKS):
            self._past[name] = news.id
        elif not news.is_over and self._past.get(name) != news.id:
            breaker.take_over(Outage(news.reason, news.seconds))
            self._known[name] = KnownOutage(news.id, is_own=False)

    async def _tell(self, name: str, id_: str, outage: Outage | None) -> None:
        news = OutageNews(id_, outage is None, *(outage or Outage("", 0.0)))
        await self.store.keep_value(name, to_json(news), KEPT)

    def _forget(self, breakers: Mapping[str, CircuitBreaker]) -> None:
        """Those that went out of use."""
        for kept in (self._known, self._past):
            for name in kept.keys() - breakers:
                del kept[name]


def _store_name(name: CircuitName) -> str:
    """Its address may have a password in it. The number is that of the form of what is told, for other versions."""
    return f"outage/1/{sha256(to_json(name)).hexdigest()}"
