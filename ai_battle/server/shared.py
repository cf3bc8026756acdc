"""Counts that the workers of a server share: the dollars of keys, concurrent requests and requests per minute.

Each worker publishes its own sums, never differences, with an increasing number: a sum published twice, late, or after
a crash of the store counts once. The sums of a dead worker stay; the dollars that it had reserved count as spent, as
the cost of its last calls is unknown. (This is a state-based counter: Shapiro et al., "Conflict-free replicated data
types", 2011.)
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from secrets import token_hex
from time import monotonic
from typing import NamedTuple, Protocol, TypeVar

from ..config.server import WhenAway
from ..core.errors import StoreError
from ..core.ledger import Dollars
from .errors import Denied

PUBLISH_SECONDS = 0.1
"""Seconds until the others learn that a worker holds less; until then it may use that itself without asking."""
HEARTBEAT_SECONDS = 2.0
"""Seconds between two times at which a worker publishes all of its sums again."""
DEAD_SECONDS = 15.0
"""Seconds of silence after which a worker counts as dead."""
MERGE_SECONDS = 86_400.0
"""Seconds after which the sums of a dead worker are merged into one sum of all ended workers."""
DOLLARS, PLACES = "dollars/", "places/"
"""Prefixes of names: spending of keys, and places, which are free again when the worker holding them is dead."""
CLAIM_DIVISOR = 4
"""A worker claims a fourth more than it holds, if available, so that its next requests need not ask."""
RETRY_SECONDS = 1.0
"""Seconds for which a store that failed is not asked again."""
REDIS_AWAY = "usage of keys can't be counted at present."

T = TypeVar("T")


class Amounts(NamedTuple):
    """The amounts that one worker has used and holds of something; `number` orders its publications."""

    used: float
    held: float
    number: int = 0


class ClaimAnswer(NamedTuple):
    """The outcome of a claim: `used` by the other workers, with what dead ones held, and `held` by living ones."""

    granted: bool
    used: float
    held: float


class CountStore(Protocol):
    """Shared counts. Each method is one atomic step for all workers, by the store's clock. All raise `StoreError`."""

    async def claim(self, worker: str, name: str, own: Amounts, limit: float) -> ClaimAnswer:
        """Stores `own` if all workers together then stay within `limit`."""

    async def publish(self, worker: str, amounts: Mapping[str, Amounts]) -> None:
        """Stores the amounts unless newer ones are stored, and that the worker lives."""

    async def count(self, name: str, most: int, seconds: float) -> float:
        """Counts a request in the last `seconds`, unless there are `most`; returns seconds until there is room."""

    async def end(self, worker: str, names: Iterable[str]) -> None:
        """Adds what the worker has used to the sum of all ended workers, and closes."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The total that the store holds for this worker, and the limit under which it was granted."""

    total: float
    limit: float


@dataclass(slots=True)
class SharedCounts:
    """One worker's side of a store. Amounts within its last grant need no question to the store.

    While the store is away, `warn` is called once, budgets are closed, and each worker counts requests alone, unless
    `away` says otherwise.
    """

    store: CountStore
    away: WhenAway = field(default_factory=WhenAway)
    warn: Callable[[str], object] = str
    worker: str = field(default_factory=lambda: token_hex(8))
    _own: dict[str, Amounts] = field(default_factory=dict)
    _grants: dict[str, Grant] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)
    _number: int = 0
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _fault: str = ""
    _rests_until: float = 0.0
    _publishing: asyncio.Task[None] | None = None
    _beating: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts publishing this worker's sums. Needs a running event loop."""
        self._beating = self._beating or asyncio.create_task(self._heartbeat())

    async def claim_dollars(self, payer: str, own: Dollars, limit: float, *, ask: bool = False) -> ClaimAnswer | None:
        """Returns the answer, or None if enough was granted before; `ask` asks the store all the same.

        Raises `Denied` while the store is away.
        """
        name = f"{DOLLARS}{payer}"
        try:
            ahead = 0.0 if ask else own.aside / CLAIM_DIVISOR
            return await self._claim(name, Amounts(own.spent, own.aside), limit, ahead=ahead, ask=ask)
        except StoreError as error:
            if self.away.budgets == "open":
                return None
            raise Denied(503, f"The budget of {payer} is closed: {REDIS_AWAY}", retry_after=RETRY_SECONDS) from error

    async def claim_place(self, key: str, held: int, most: int) -> bool:
        """Checks that all workers together answer at most `most` requests of a key, `held` of them this one."""
        try:
            answer = await self._claim(f"{PLACES}{key}", Amounts(0.0, held), most, ahead=held // CLAIM_DIVISOR)
            return answer is None or answer.granted
        except StoreError as error:
            self._refuse_requests(error)
            return True

    async def count_request(self, key: str, most: int, seconds: float) -> float | None:
        """Counts a request; returns 0 or the seconds to wait, or None while the store is away."""
        try:
            return await self._ask(lambda: self.store.count(f"requests/{key}", most, seconds))
        except StoreError as error:
            self._refuse_requests(error)
            return None

    def publish_dollars(self, payer: str, own: Dollars) -> None:
        self._publish_soon(f"{DOLLARS}{payer}", own.spent, own.aside)

    def publish_places(self, key: str, held: int) -> None:
        self._publish_soon(f"{PLACES}{key}", 0.0, held)

    async def aclose(self) -> None:
        """Publishes the last sums if the store is there, and frees what this worker held."""
        for task in (self._beating, self._publishing):
            if task:
                task.cancel()
                await asyncio.wait([task])
        try:
            await self.store.publish(
                self.worker, {name: self._next_amounts(own.used, 0.0) for name, own in self._own.items()}
            )
            await self.store.end(self.worker, self._own)
        except StoreError as error:
            self.warn(f"The last usage of keys could not be shared with the other workers: {error}")

    async def _claim(
        self, name: str, own: Amounts, limit: float, *, ahead: float = 0.0, ask: bool = False
    ) -> ClaimAnswer | None:
        """Claims an amount, and `ahead` on top if available, so that the next request need not ask."""
        self._own[name] = own
        if not ask and self._has_grant(name, limit):
            return None
        # The lock orders claims and publications: a late publication must not lower what was granted meanwhile.
        async with self._writing:
            if not ask and self._has_grant(name, limit):  # granted to another request while this one waited
                return None
            own = self._own[name]
            answer = await self._ask_for(name, own, limit, ahead)
            return answer if answer.granted or not ahead else await self._ask_for(name, own, limit, 0.0)

    async def _ask_for(self, name: str, own: Amounts, limit: float, ahead: float) -> ClaimAnswer:
        held = own.held + ahead
        answer = await self._ask(lambda: self.store.claim(self.worker, name, self._next_amounts(own.used, held), limit))
        if answer.granted:
            self._grants[name] = Grant(own.used + held, limit)
        return answer

    def _has_grant(self, name: str, limit: float) -> bool:
        grant, own = self._grants.get(name), self._own[name]
        return grant is not None and own.used + own.held <= grant.total and grant.limit <= limit

    def _refuse_requests(self, error: StoreError) -> None:
        if self.away.requests == "closed":
            raise Denied(503, f"No request is taken: {REDIS_AWAY}", retry_after=RETRY_SECONDS) from error

    def _next_amounts(self, used: float, held: float) -> Amounts:
        self._number += 1
        return Amounts(used, held, self._number)

    def _publish_soon(self, name: str, used: float, held: float) -> None:
        self._own[name] = Amounts(used, held)
        self._changed.add(name)
        if not self._publishing or self._publishing.done():
            self._publishing = asyncio.create_task(self._publish_changed())

    async def _publish_changed(self) -> None:
        await asyncio.sleep(PUBLISH_SECONDS)
        changed, self._changed = self._changed, set()
        await self._publish(changed)

    async def _publish(self, names: Iterable[str]) -> None:
        """Publishes amounts; what fails now is published with the next beat."""
        async with self._writing:
            amounts = {name: self._amounts_to_publish(name) for name in names}
            with suppress(StoreError):
                await self._ask(lambda: self.store.publish(self.worker, amounts))

    def _amounts_to_publish(self, name: str) -> Amounts:
        """Returns the amounts to publish: of what is held, no more than was granted. Lowers the grant to that."""
        own, grant = self._own[name], self._grants.get(name)
        if not grant:
            return self._next_amounts(own.used, 0.0)
        held = max(0.0, min(own.held, grant.total - own.used))
        self._grants[name] = replace(grant, total=own.used + held)
        return self._next_amounts(own.used, held)

    async def _heartbeat(self) -> None:
        """Publishes everything again and again, as a store that crashed may have lost it."""
        while True:
            await self._publish([*self._own])
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _ask(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Asks the store. One that failed rests, so that not every request waits for its timeout."""
        now = monotonic()
        if self._fault and now < self._rests_until:
            raise StoreError(self._fault)
        try:
            answer = await ask()
        except StoreError as error:
            self._rests_until = monotonic() + RETRY_SECONDS
            if not self._fault:
                self.warn(f"Usage of keys can't be counted with the other workers: {error}")
            self._fault = str(error)
            raise
        if self._fault:
            self._fault = ""
            self.warn("Usage of keys is counted with the other workers again.")
        return answer


@dataclass(frozen=True, slots=True)
class KeyDollars:
    """The dollars of one key, over all workers."""

    counts: SharedCounts
    key: str

    async def claim(self, own: Dollars, limit: float) -> tuple[bool, Dollars | None]:
        answer = await self.counts.claim_dollars(self.key, own, limit)
        return (answer.granted, Dollars(answer.used, answer.held)) if answer else (True, None)

    async def look(self, own: Dollars, limit: float) -> Dollars:
        answer = await self.counts.claim_dollars(self.key, own, limit, ask=True)
        return Dollars(answer.used, answer.held) if answer else Dollars()

    def publish(self, own: Dollars) -> None:
        self.counts.publish_dollars(self.key, own)
