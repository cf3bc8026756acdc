"""What all requests of one server share; its routes can be exchanged while requests run."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from types import TracebackType

from ..assembly.models import Model
from ..core.errors import AIBattleError
from ..wire.failures import Failed, Failure
from .admission import Admission, Bounds
from .answering import USUAL, Rhythm
from .auth import Keys
from .budgets import Budgets
from .logging import RequestLog
from .metrics import Metrics
from .plans import Plans
from .refusing import Denied, said, with_asked_name, without_addresses
from .routes import NoRoute, Route, Routes
from .stored import ResponseStore
from .tally import Tally
from .tracing import Tracing

OTHER = "other"
"""What routes are called together that clients came up with themselves."""


@dataclass(slots=True)
class Generation:
    """The routes of one configuration, and how many requests they are answering.

    `hosts` are those of its upstreams, `upstreams` the names of their models.
    """

    routes: Routes
    models: Sequence[Model] = ()
    plans: Plans = field(default_factory=Plans)
    tracing: Tracing | None = None
    hosts: Set[str] = frozenset()
    upstreams: Set[str] = frozenset()
    running: int = 0
    retired: bool = False

    async def close_if_done(self) -> None:
        if self.retired and not self.running:
            for model in self.models:
                await model.client.aclose()


@dataclass(frozen=True, slots=True)
class InUse:
    """A route while a request is answered by it."""

    generation: Generation
    name: str

    async def __aenter__(self) -> Route:
        route = self.generation.routes.find(self.name)
        self.generation.running += 1
        return route

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.generation.running -= 1
        await self.generation.close_if_done()


@dataclass(slots=True)
class Served:
    """`keys`, `bounds` and `log_content` are those of the current configuration; the rest lives as long as it does."""

    current: Generation
    bounds: Bounds = field(default_factory=Bounds)
    keys: Keys = field(default_factory=Keys)
    budgets: Budgets = field(default_factory=Budgets)
    admission: Admission = field(default_factory=Admission)
    metrics: Metrics = field(default_factory=Metrics)
    log: RequestLog = field(default_factory=RequestLog)
    log_content: bool = False
    rhythm: Rhythm = USUAL
    store: ResponseStore | None = None

    @property
    def routes(self) -> Routes:
        return self.current.routes

    def route(self, name: str) -> "InUse":
        """The route stays whole until the request is over; entering raises `NoRoute`."""
        return InUse(self.current, name)

    async def exchange(self, new: Generation) -> None:
        """From now on requests are answered by the new routes; those that run keep the old ones."""
        old, self.current = self.current, new
        old.retired = True
        await old.close_if_done()

    def told(self, error: AIBattleError, asked: str) -> Failed:
        """The status, the kind and the words for a client, who knows the model by the name that it `asked` for."""
        failed = said(error)
        words = without_addresses(failed.message, self.current.hosts)
        if not isinstance(error, Denied | NoRoute):
            words = with_asked_name(words, self.current.upstreams, asked)
        return Failure(failed.status, words, failed.kind)

    def account(self, tally: Tally) -> None:
        """A request is over."""
        tally.done()
        if tally.dollars:
            self.budgets.keep()
        name = tally.route.name if tally.route else ""
        self.metrics.count(tally, name if not name or name in self.routes.named else OTHER)
        self.log.tell(tally)

    async def aclose(self) -> None:
        self.budgets.close()
        self.current.retired = True
        await self.current.close_if_done()
