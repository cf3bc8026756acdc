"""What one request came to, counted while it is answered."""

from dataclasses import dataclass, field
from secrets import token_hex
from time import perf_counter
from traceback import walk_tb

from ..core.errors import AIBattleError, Unreachable
from ..core.events import AttemptFailed, Event, Warned
from ..core.exchange import Usage
from ..core.helping import VERIFICATION, BoostStep, HelpAsked, HelpFailed
from ..core.ledger import Budget
from .errors import BrokenStream, Crashed, Denied, client_failure
from .keys import ANYBODY, KeyHolder
from .routes import Route

LEFT = 499
"""What the log and the metrics say of a client that did not wait for its answer."""
UNVERIFIED = "unverified"
"""An answer that was to be verified by running, and could not be."""
NOTHING = "nothing_usable"
"""What a helper came to that was heard, or not waited for, and brought no error of an upstream."""


@dataclass(slots=True)
class RequestStats:
    """A listener. `first_token` is in seconds after the start; all calls for the request are charged to `budget`.

    `left_out` are options of the request that a model did not take, or not as they were.
    `error` is the kind of what went wrong, `reason` its words where they can't hold any of the conversation;
    `help_failed` is the kind of what went wrong with each helper that brought nothing.
    """

    api: str
    request_id: str = field(default_factory=lambda: f"req_{token_hex(12)}")
    started: float = field(default_factory=perf_counter)
    holder: KeyHolder = ANYBODY
    route: Route | None = None
    model: str = ""
    stream: bool = False
    status: int = 200
    seconds: float = 0.0
    first_token: float | None = None
    budget: Budget = field(default_factory=Budget)
    outcomes: list[str] = field(default_factory=list)
    upstream_errors: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    help_failed: list[str] = field(default_factory=list)
    error: str = ""
    reason: str = ""
    content: dict[str, str] = field(default_factory=dict)
    is_delivered: bool = False
    _helps: bool = False
    _has_helped: bool = False
    _errors_before: int = 0

    async def __call__(self, event: Event) -> None:
        match event:
            case HelpAsked() | HelpFailed() | BoostStep():
                self._count_help(event)
            case Warned(option=option) if option and option not in self.left_out:
                self.left_out.append(option)
            case AttemptFailed():
                self.upstream_errors.append(_kind(event))

    def _count_help(self, event: HelpAsked | HelpFailed | BoostStep) -> None:
        match event:
            case HelpAsked():
                self._has_helped, self._helps = self.has_help, event.is_help
                self._errors_before = len(self.upstream_errors)
            case HelpFailed():
                self._helps = False
                kind = UNVERIFIED if event.strategy == VERIFICATION else NOTHING
                self.help_failed.append((self.upstream_errors[self._errors_before :] or [kind])[-1])
            case BoostStep(outcome=outcome):
                self.outcomes.append(outcome)
                self._helps = self._helps and outcome != "other"

    @property
    def usage(self) -> Usage:
        return self.budget.ledger.usage

    @property
    def dollars(self) -> float:
        """The known part of what the usage cost."""
        return self.budget.ledger.known_cost

    @property
    def has_help(self) -> bool:
        """Whether a helper brought something; one that is being asked counts until it fails."""
        return self._has_helped or self._helps

    def mark_first_token(self) -> None:
        """The first of the answer is on its way to the client."""
        if self.first_token is None:
            self.first_token = perf_counter() - self.started

    def record_failure(self, error: AIBattleError) -> None:
        self.status = client_failure(error).status
        cause = error.cause if isinstance(error, BrokenStream) else error
        self.error = type(cause).__name__
        if isinstance(cause, Unreachable | Denied):
            self.reason = str(cause)
        elif isinstance(cause, Crashed):
            self.reason = place_of(cause.__cause__)

    def record_departure(self) -> None:
        """Who hangs up after the last event has had the whole answer."""
        if not self.is_delivered:
            self.status, self.error = LEFT, "Left"

    @property
    def ids(self) -> dict[str, str]:
        return {"x-request-id": self.request_id, "request-id": self.request_id}

    @property
    def early_headers(self) -> dict[str, str]:
        """What is known for certain while the answer is still coming, as headers for the client."""
        headers = self.ids
        if self.route:
            headers["x-ai-battle-route"] = self.route.name if self.route.name.isprintable() else "other"
            if self.route.strategy:
                headers["x-ai-battle-strategy"] = self.route.strategy
        if self.left_out:
            headers["x-ai-battle-left-out"] = ", ".join(self.left_out)
        if self.has_help:
            headers["x-ai-battle-helped"] = "true"
        if self.outcomes:
            headers["x-ai-battle-loops"] = str(len(self.outcomes))
        return headers

    @property
    def headers(self) -> dict[str, str]:
        """The same when all is known."""
        headers = self.early_headers
        if self.route and self.route.strategy:
            headers |= {"x-ai-battle-helped": str(self.has_help).lower(), "x-ai-battle-loops": str(len(self.outcomes))}
        if self.budget.ledger.calls and self.usage.cost_usd is not None:
            headers["x-ai-battle-cost-usd"] = f"{self.usage.cost_usd:.6f}"
        return headers


def place_of(crash: BaseException | None) -> str:
    """Returns where an error happened, without words, which could be the conversation's."""
    frames = [*walk_tb(crash.__traceback__ if crash else None)]
    where = f" at {frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else ""
    return f"{type(crash).__name__}{where}"


def _kind(event: AttemptFailed) -> str:
    if event.timed_out:
        return "timeout"
    return f"http_{event.status}" if event.status else "connection"
