"""Several workers on one address: their processes and sockets, their summed metrics, and what they learn of upstreams.

Each worker has a listening socket of its own, among which the system distributes connections (SO_REUSEPORT). The
sockets belong to the parent process, so that waiting connections survive the end or restart of a worker.
"""

import asyncio
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import NamedTuple

from pydantic_core import from_json, to_json

from ..core.errors import AIBattleError, ConfigError, StoreError
from ..core.files import write_private
from ..providers._breaker import CircuitBreaker, CircuitName, Outage, circuit_breakers
from ..providers._capabilities import REFUSAL_SECONDS, RefusalMemory
from .metrics import GAUGES, Metrics
from .stored import MemoryStore, ResponseStore, SharedStore

LISTEN_BACKLOG = 1024
SNAPSHOT_SECONDS = 1.0
"""Seconds between two times at which a worker writes its metrics."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
"""Seconds until a dead worker is restarted: doubled each time, unless it lived for a minute.

Connections that the system assigned to it wait for so long.
"""
STABLE_SECONDS = 60.0
START_SECONDS = 60.0
"""Seconds within which a worker has to be ready."""
RELOAD_SECONDS = 0.5
"""Seconds between the reloads of two workers."""

Say = Callable[[str], None]
Command = Callable[["Worker"], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Worker:
    """One of several workers, as it sees itself: its number, its sockets, and the folder of all workers' metrics."""

    number: int
    sockets: tuple[int, ...]
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / f"{self.number}.json"

    @classmethod
    def of(cls, text: str) -> "Worker":
        number, sockets, folder = text.split(":", 2)
        return cls(int(number), tuple(map(int, sockets.split(","))), Path(folder))

    def __str__(self) -> str:
        return f"{self.number}:{','.join(map(str, self.sockets))}:{self.folder}"

    def restore(self, metrics: Metrics) -> None:
        """Continues with the metrics of the dead worker that this one replaces."""
        if self.file.exists():
            metrics.add(row for row in from_json(self.file.read_bytes()) if row[0][0] not in GAUGES)

    async def keep_writing(self, metrics: Metrics, gauges: Callable[[], Mapping[str, float]]) -> None:
        try:
            while True:
                self.write_snapshot(metrics, gauges())
                await asyncio.sleep(SNAPSHOT_SECONDS)
        finally:
            self.write_snapshot(metrics, {})

    def write_snapshot(self, metrics: Metrics, gauges: Mapping[str, float]) -> None:
        with suppress(OSError):  # a full disk loses the numbers of this second, not the worker
            write_private(self.file, [to_json(metrics.rows(gauges)).decode()])

    def add_others(self, whole: Metrics) -> None:
        """Adds the metrics of the other workers."""
        for file in sorted(self.folder.glob("*.json")):
            if file != self.file:
                whole.add(from_json(file.read_bytes()))


@dataclass(slots=True)
class WorkerPlace:
    """The place of one worker: its sockets, and the process that currently uses them."""

    worker: Worker
    listeners: tuple[socket.socket, ...]
    process: asyncio.subprocess.Process | None = None

    async def start(self, command: Sequence[str]) -> None:
        """Starts a process in a session of its own: Ctrl-C is for the parent, whose end it notices at its input."""
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, pass_fds=self.worker.sockets, start_new_session=True
        )

    @property
    def name(self) -> str:
        return f"Worker {self.worker.number}"

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            if self.process and self.process.returncode is None:
                self.process.send_signal(number)

    async def end(self) -> None:
        """Ends the worker. Closes the sockets first, so that no client waits for a worker that accepts nothing."""
        for listener in self.listeners:
            listener.close()
        self.signal(signal.SIGTERM)
        if self.process:
            await self.process.wait()


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class WorkerFailed(AIBattleError):
    """A worker that could not start. `code` is its exit code if it has reported the reason itself, else 0."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Supervisor:
    """Starts each worker by its `command`, and again if it dies; reports that to `say`."""

    command: Command
    say: Say
    places: list[WorkerPlace] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Enters when all workers are ready; on exit each one finishes its answers. Raises `WorkerFailed`."""
        keepers = [asyncio.create_task(self._keep_running(place)) for place in self.places]
        try:
            await self._wait_until_ready()
            yield
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.wait(keepers)
            await asyncio.gather(*(place.end() for place in self.places))

    async def reload(self) -> None:
        """Reloads one worker after the other, so that at most one is busy with it."""
        for place in self.places:
            place.signal(signal.SIGHUP)
            await asyncio.sleep(RELOAD_SECONDS)

    async def _wait_until_ready(self) -> None:
        end = monotonic() + START_SECONDS
        while not all(place.worker.file.exists() for place in self.places):
            for place in self.places:
                if place.process and (code := place.process.returncode) is not None:
                    raise WorkerFailed(f"{place.name} ended before it was ready: {_reason(code)}.", max(0, code))
            if monotonic() > end:
                late = ", ".join(place.name for place in self.places if not place.worker.file.exists())
                raise WorkerFailed(
                    f"Not ready within {START_SECONDS:g} s: {late}. Are there too many for this machine?"
                )
            await asyncio.sleep(0.02)

    async def _keep_running(self, place: WorkerPlace) -> None:
        wait = SHORTEST_PAUSE
        while True:
            begun = monotonic()
            await place.start(self.command(place.worker))
            assert place.process
            code = await place.process.wait()
            if not place.worker.file.exists():
                return  # it never was ready, so a restart would fail as well
            wait = SHORTEST_PAUSE if monotonic() - begun > STABLE_SECONDS else min(2 * wait, LONGEST_PAUSE)
            self.say(f"{place.name} has ended ({_reason(code)}); it is started again in {wait:g} s.")
            await asyncio.sleep(wait)


def _reason(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


@contextmanager
def take_places(number: int, host: str, port: int) -> Iterator[list[WorkerPlace]]:
    """Opens the sockets of several workers on one address. Raises `ConfigError` if that fails."""
    if not hasattr(socket, "SO_REUSEPORT"):
        raise ConfigError("This system has no SO_REUSEPORT, which several workers need: start one without --workers.")
    with ExitStack() as opened, tempfile.TemporaryDirectory(prefix="ai-battle-workers-") as folder:
        try:
            port = _free_port(host, port)
            places = [_place(opened, each, host, port, Path(folder)) for each in range(1, number + 1)]
        except OSError as error:
            reason = f"{error.strerror}; choose another with --port."
            raise ConfigError(f"Can't listen on {host}:{port}: {reason}") from error
        yield places


def _place(opened: ExitStack, number: int, host: str, port: int, folder: Path) -> WorkerPlace:
    listeners = tuple(opened.enter_context(each) for each in _bind(host, port, socket.SO_REUSEPORT))
    for listener in listeners:
        listener.listen(LISTEN_BACKLOG)
    return WorkerPlace(Worker(number, tuple(listener.fileno() for listener in listeners), folder), listeners)


def _free_port(host: str, port: int) -> int:
    """Returns a free port. Binds without SO_REUSEPORT, so that none is shared with another program by mistake."""
    with ExitStack() as opened:
        listeners = [opened.enter_context(each) for each in _bind(host, port, socket.SO_REUSEADDR)]
        found: int = listeners[0].getsockname()[1]
        return found


def _bind(host: str, port: int, option: int) -> list[socket.socket]:
    """Binds a socket for each address of the host. If `port` is 0, the first one chooses it."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    for family, *_, address in dict.fromkeys(found):
        listener = socket.socket(family, socket.SOCK_STREAM)
        bound.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, option, 1)
        if family == socket.AF_INET6:  # else `::` would take the IPv4 port as well, which has its own socket
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address[0], port or bound[0].getsockname()[1], *address[2:]))
    return bound


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
    """Shares outages and refused options with other workers, if any, so that only the first to meet one pays for it."""
    if isinstance(store, MemoryStore):
        yield
        return
    sharing = asyncio.create_task(_keep_sharing(store))
    try:
        yield
    finally:
        sharing.cancel()
        await asyncio.wait((sharing,))


async def _keep_sharing(store: SharedStore) -> None:
    """Exchanges in a loop. While the store is away the others' knowledge is missing, but no request waits for it."""
    outages = SharedOutages(store)
    while True:
        await asyncio.sleep(EXCHANGE_SECONDS)
        with suppress(StoreError):
            await outages.share()
            await share_refusals(store, RefusalMemory.load())


async def share_refusals(store: SharedStore, memory: RefusalMemory) -> None:
    """Merges the refusals of all workers. If two write at once one is overwritten; it writes again at its next turn."""
    stored = (await store.values([REFUSALS])).get(REFUSALS)
    memory.take_over(from_json(stored) if stored else {})
    known = memory.by_digest()
    if known and to_json(known) != stored:
        await store.keep_value(REFUSALS, to_json(known), REFUSAL_SECONDS)


@dataclass(slots=True)
class SharedOutages:
    """One worker's side of sharing outages."""

    store: SharedStore
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
