"""State shared by all requests of a server; its routes can be replaced while requests run."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp

from ..assembly.models import Model
from ..config.server import ServeKey, ServerLimits
from ..core.errors import AIBattleError, ConfigError, StoreError
from ..core.telemetry import Telemetry
from ..evidence.store import EvidenceStore
from ..providers._names import is_loopback
from ..wire.blocks import Failure
from .admission import Admission, Closing
from .advisors import AdvisorPolicy
from .apis import Conversation
from .clients import Routes, SharedCache
from .errors import Denied, NoRoute, client_failure, with_requested_name, without_addresses
from .keys import KeyBudgets, Keys, other_limits
from .logs import RequestLog
from .metrics import GAUGES, Metrics, RequestStats
from .stored import MemoryStore, RedisStore, ResponseStore
from .streaming import USUAL, StreamTiming
from .workers import Worker

if TYPE_CHECKING:
    from ..collaboration._lessons import Lessons
    from ..collaboration._shadow import Shadow

OTHER = "other"
"""The label for all routes that clients named and no file lists."""
MOST_SIGNATURES, HOUR = 1_000, 3_600.0
WEBHOOK_TIMEOUT = aiohttp.ClientTimeout(total=10)


@dataclass(slots=True)
class Deployment:
    """The routes of one configuration, what they share, and how many requests they are answering.

    `models` are all models of the file, closed with it. `hosts` are the hosts of all upstreams, also of models that
    clients named; `upstreams` are the names of all models; `shadows` are keyed by the name of their route.
    """

    plans: SharedCache
    telemetry: Telemetry | None
    routes: Routes = field(default_factory=Routes)
    advisors: AdvisorPolicy = field(default_factory=AdvisorPolicy)
    models: list[Model] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    upstreams: set[str] = field(default_factory=set)
    shadows: "dict[str, Shadow]" = field(default_factory=dict)
    lessons: "list[Lessons]" = field(default_factory=list)
    signatures: SharedCache = field(
        default_factory=lambda: SharedCache("signature/", MOST_SIGNATURES, HOUR, expires=False)
    )
    running: int = 0
    retired: bool = False

    async def leave(self) -> None:
        self.running -= 1
        await self.close_if_done()

    async def close_if_done(self) -> None:
        if self.retired and not self.running:
            for shadow in self.shadows.values():
                await shadow.aclose()
            for lessons in self.lessons:
                await lessons.aclose()
            for model in self.models:
                await model.client.aclose()


@dataclass(slots=True)
class ServerState:
    """`keys`, `limits` and `log_content` are replaced on a reload; the rest lives as long as the server."""

    current: Deployment
    limits: ServerLimits = field(default_factory=ServerLimits)
    keys: Keys = field(default_factory=Keys)
    budgets: KeyBudgets = field(default_factory=KeyBudgets)
    admission: Admission = field(default_factory=Admission)
    closing: Closing = field(default_factory=Closing)
    metrics: Metrics = field(default_factory=Metrics)
    log: RequestLog = field(default_factory=RequestLog)
    log_content: bool = False
    timing: StreamTiming = USUAL
    store: ResponseStore = field(default_factory=MemoryStore)
    evidence: EvidenceStore | None = None
    posting: set[asyncio.Task[None]] = field(default_factory=set)
    worker: Worker | None = None

    @property
    def routes(self) -> Routes:
        return self.current.routes

    async def exchange(self, new: Deployment) -> None:
        """Replaces the routes for new requests; running requests keep the old ones."""
        old, self.current = self.current, new
        old.retired = True
        await old.close_if_done()

    async def warn_of_other_limits(self) -> None:
        """Warns of servers with other limits on the same Redis. The counts report a Redis that is away."""
        if isinstance(self.store, RedisStore):
            with suppress(StoreError):
                for words in await other_limits(self.store, self.keys):
                    self.log.log_warning(words)

    def failure(self, error: AIBattleError, requested: str) -> Failure:
        """Returns the error for a client, with the model under the name that the client `requested`."""
        failed = client_failure(error)
        words = without_addresses(failed.message, self.current.hosts)
        if not isinstance(error, Denied | NoRoute):
            words = with_requested_name(words, self.current.upstreams, requested)
        return Failure(failed.status, words, failed.kind)

    def raise_alarm(self, route: str, webhook: str, words: str) -> None:
        """Reports in log, metrics and webhook that a pair loses more than it may."""
        self.metrics.count_alarm(route)
        self.log.log_warning(f"{route}: {words}")
        if webhook:
            task = asyncio.create_task(self._post(webhook, {"event": "loss_alarm", "route": route, "reason": words}))
            self.posting.add(task)
            task.add_done_callback(self.posting.discard)

    async def _post(self, webhook: str, event: Mapping[str, str]) -> None:
        if fault := await _post_event(webhook, event):
            self.log.log_warning(f"The webhook of {event['route']} did not accept the alarm: {fault}.")

    def metrics_text(self) -> str:
        """Returns the metrics of all workers in Prometheus' text format."""
        whole = Metrics()
        whole.add(self.metrics.rows(self.gauges()))
        if self.worker:
            self.worker.add_others(whole)
        return whole.text()

    def gauges(self) -> dict[str, float]:
        """Returns the values of `GAUGES`."""
        plans, admission = self.current.plans, self.admission
        values = (admission.running, admission.queued, plans.hits, plans.misses, len(plans))
        return dict(zip(GAUGES, values, strict=True))

    def conversation_of(self, holder: ServeKey) -> Conversation:
        return Conversation(self.store, holder.name, self.log.log_warning)

    def account(self, stats: RequestStats) -> None:
        """Counts and logs a finished request."""
        stats.seconds = perf_counter() - stats.started
        name = stats.route.name if stats.route else ""
        self.metrics.count(stats, name if not name or name in self.routes.named else OTHER)
        self.log.log_request(stats)

    async def aclose(self) -> None:
        if self.budgets.counts:
            await self.budgets.counts.aclose()
        for task in self.posting:
            task.cancel()
        await asyncio.gather(*self.posting, return_exceptions=True)
        self.current.retired = True
        await self.current.close_if_done()
        await self.store.aclose()
        if self.evidence:
            self.evidence.close()


def require_webhook(url: str) -> None:
    """Raises `ConfigError` for an address that would send events unencrypted over the network."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    if url and not (is_safe and parts.hostname):
        raise ConfigError("webhook must be an address with https, or with http on this machine", "shadow.watch")


async def _post_event(url: str, event: Mapping[str, str]) -> str:
    """Returns why the event was not accepted, without the address, which may hold a secret; empty on success."""
    try:
        # Without redirects, which could lead to an address that `require_webhook` refuses.
        async with (
            aiohttp.ClientSession(timeout=WEBHOOK_TIMEOUT) as session,
            session.post(url, json=event, allow_redirects=False) as answer,
        ):
            return "" if answer.status < 300 else f"it answered {answer.status}"
    except (aiohttp.ClientError, OSError) as error:  # a timeout is an OSError too
        return type(error).__name__
