"""Statistics of one request while it is answered, and of all requests in Prometheus' text format."""

import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from time import perf_counter
from traceback import walk_tb
from typing import Any, TypeAlias

from ..config.server import ServeKey
from ..core.errors import AIBattleError, Unreachable
from ..core.events import AttemptFailed, Event, Warned
from ..core.exchange import Usage
from ..core.helping import NOT_NEEDED, VERIFICATION, BoostStep, HelpArrival, HelpFailed
from ..core.ledger import Budget
from .clients import Route
from .errors import BrokenStream, Crashed, Denied, client_failure
from .keys import ANYBODY

CLIENT_LEFT = 499
"""The status in log and metrics for a client that did not wait for its answer."""
UNVERIFIED = "unverified"
"""An answer that was to be verified by running it, and could not be."""
NOTHING_USABLE = "nothing_usable"
"""The outcome of a helper that failed without an error."""


@dataclass(slots=True)
class RequestStats:
    """Collects the statistics of a request from its events. All calls for it are charged to `budget`.

    `first_token` is in seconds after the start; `left_out` holds options that a model did not take unchanged. `error`
    is the kind of the error, `reason` its message if that can't contain any of the conversation; `help_failed` holds
    the kind of error of each helper that failed, and `unpaid_help` why there was no money for one.
    """

    api: str
    request_id: str = field(default_factory=lambda: f"req_{os.urandom(12).hex()}")
    started: float = field(default_factory=perf_counter)
    holder: ServeKey = ANYBODY
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
    unpaid_help: str = ""
    error: str = ""
    reason: str = ""
    content: dict[str, str] = field(default_factory=dict)
    is_delivered: bool = False
    _help: HelpArrival = field(default_factory=HelpArrival)

    async def __call__(self, event: Event) -> None:
        self._help.apply(event)
        match event:
            case HelpFailed(kind=kind) if kind != NOT_NEEDED:
                self._record_failed_help(event)
            case BoostStep(outcome=outcome):
                self.outcomes.append(outcome)
            case Warned(option=option) if option and option not in self.left_out:
                self.left_out.append(option)
            case AttemptFailed(kind=str(kind)):
                self.upstream_errors.append(kind)

    def _record_failed_help(self, event: HelpFailed) -> None:
        if event.kind == "budget":
            self.unpaid_help = event.reason
        self.help_failed.append(event.kind or (UNVERIFIED if event.strategy == VERIFICATION else NOTHING_USABLE))

    @property
    def usage(self) -> Usage:
        return self.budget.ledger.usage

    @property
    def dollars(self) -> float:
        """The cost of the usage, as far as prices are known."""
        return self.budget.ledger.known_cost

    @property
    def has_help(self) -> bool:
        return self._help.has_come

    def mark_first_token(self) -> None:
        """Marks the time at which the first part of the answer goes to the client."""
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
        """Records that the client left early. One that hangs up after the last event has the whole answer."""
        if not self.is_delivered:
            self.status, self.error = CLIENT_LEFT, "Left"

    @property
    def ids(self) -> dict[str, str]:
        return {"x-request-id": self.request_id, "request-id": self.request_id}

    @property
    def early_headers(self) -> dict[str, str]:
        """Headers for the client with what is certain while the answer is still coming."""
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
        """Headers for the client once the answer is complete."""
        headers = self.early_headers
        if self.route and self.route.strategy:
            headers |= {"x-ai-battle-helped": str(self.has_help).lower(), "x-ai-battle-loops": str(len(self.outcomes))}
        if self.budget.ledger.calls and self.usage.cost_usd is not None:
            # The digits of the log, as a cheap request costs a few millionths, but never written "2.7e-06".
            headers["x-ai-battle-cost-usd"] = f"{Decimal(repr(self.usage.cost_usd)):f}"
        return headers


def place_of(crash: BaseException | None) -> str:
    """Returns the type and place of an error without its message, which could quote the conversation."""
    frames = [*walk_tb(crash.__traceback__ if crash else None)]
    where = f" at {frames[-1][0].f_code.co_filename}:{frames[-1][1]}" if frames else ""
    return f"{type(crash).__name__}{where}"


SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
Labels: TypeAlias = tuple[str, ...]
"""Names or values of labels, in the same order for each metric."""
Key: TypeAlias = tuple[str | int, ...]
Row: TypeAlias = tuple[Sequence[str | int], float]

COUNTERS: Mapping[str, tuple[Labels, str]] = {
    "requests_total": (("api", "route", "status"), "Requests by what they came to; 499: the client left."),
    "tokens_total": (("route", "kind"), "Tokens of all models that were called, input and output."),
    "cost_usd_total": (("route",), "Dollars, as far as prices are known."),
    "helped_total": (("route",), "Requests for which another model was called in."),
    "boost_loops_total": (("route", "outcome"), "Rounds of the boost loop."),
    "shadow_total": (("route", "outcome"), "Requests that were to be answered by both models, by what they came to."),
    "shadow_cost_usd_total": (("route",), "Dollars that the shadow of a pair has cost; no part of cost_usd_total."),
    "loss_alarms_total": (("route",), "Alarms that a pair loses more than it may, counted again after a restart."),
    "upstream_errors_total": (("route", "kind"), "Calls of models that failed."),
}
HISTOGRAMS: Mapping[str, str] = {
    "request_seconds": "From the head of a request to the last byte of its answer.",
    "first_token_seconds": "From the head of a request to the first of a streamed answer.",
}


GAUGES: Mapping[str, str] = {
    "requests_in_flight": "Requests that are being answered.",
    "requests_queued": "Requests that wait for their turn.",
    "plan_cache_hits_total": "Boost plans that were in the cache.",
    "plan_cache_misses_total": "Boost plans that were not.",
    "plan_cache_size": "Boost plans in the cache.",
}
"""Current values. Those whose name ends in `_total` only grow."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """All numbers, by the name of their metric and the values of its labels; of a histogram by the place of a bound."""

    numbers: defaultdict[Key, float] = field(default_factory=lambda: defaultdict(float))

    def count(self, stats: RequestStats, route: str) -> None:
        """Counts a request under `route`, if it is listed: names made up by clients would grow without bound."""
        numbers, usage = self.numbers, stats.usage
        numbers["requests_total", stats.api, route, str(stats.status)] += 1
        numbers["tokens_total", route, "input"] += usage.input_tokens
        numbers["tokens_total", route, "output"] += usage.output_tokens
        numbers["cost_usd_total", route] += stats.dollars
        if stats.has_help:
            numbers["helped_total", route] += 1
        for outcome in stats.outcomes:
            numbers["boost_loops_total", route, outcome] += 1
        for kind in stats.upstream_errors:
            numbers["upstream_errors_total", route, kind] += 1
        self._observe("request_seconds", route, stats.seconds)
        if stats.first_token is not None:
            self._observe("first_token_seconds", route, stats.first_token)

    def _observe(self, name: str, route: str, seconds: float) -> None:
        self.numbers[name, route, bisect_left(SECONDS, seconds)] += 1
        self.numbers[f"{name}_sum", route] += seconds

    def count_alarm(self, route: str) -> None:
        self.numbers["loss_alarms_total", route] += 1

    def count_shadow(self, route: str, outcome: str, dollars: float) -> None:
        self.numbers["shadow_total", route, outcome] += 1
        self.numbers["shadow_cost_usd_total", route] += dollars

    def rows(self, gauges: Mapping[str, float]) -> list[Row]:
        """Returns all numbers in a form that JSON can hold."""
        return [*self.numbers.items(), *(((name,), value) for name, value in gauges.items())]

    def add(self, rows: Iterable[Row]) -> None:
        for key, number in rows:
            self.numbers[tuple(key)] += number

    def text(self) -> str:
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        for name, (labels, meaning) in COUNTERS.items():
            yield from _head(name, "counter", meaning)
            for values, number in self._rows_of(name):
                yield f"ai_battle_{name}{_labels(labels, values)} {number:.10g}"
        for name, meaning in HISTOGRAMS.items():
            yield from _head(name, "histogram", meaning)
            for (route,), total in self._rows_of(f"{name}_sum"):
                yield from self._histogram(name, route, total)
        for name, meaning in GAUGES.items():
            yield from _head(name, "counter" if name.endswith("_total") else "gauge", meaning)
            yield f"ai_battle_{name} {self.numbers[(name,)]:.10g}"

    def _rows_of(self, name: str) -> list[tuple[tuple[Any, ...], float]]:
        return sorted((key[1:], number) for key, number in self.numbers.items() if key[0] == name)

    def _histogram(self, name: str, route: str, total: float) -> Iterator[str]:
        below = 0
        for place, bound in enumerate((*map(str, SECONDS), "+Inf")):
            below += int(self.numbers.get((name, route, place), 0))
            yield f"ai_battle_{name}_bucket{_labels(('route', 'le'), (route, bound))} {below}"
        yield f"ai_battle_{name}_sum{_labels(('route',), (route,))} {total:.6g}"
        yield f"ai_battle_{name}_count{_labels(('route',), (route,))} {below}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP ai_battle_{name} {meaning}"
    yield f"# TYPE ai_battle_{name} {kind}"


def _labels(names: Labels, values: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
