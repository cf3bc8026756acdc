"""Statistics of one request while it is answered, and of all requests in Prometheus' text format."""

import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from time import perf_counter
from traceback import walk_tb
from typing import Any, NamedTuple, TypeAlias

from ..core.errors import AIBattleError, Unreachable
from ..core.events import AttemptFailed, Event, Warned
from ..core.exchange import Usage
from ..core.helping import NOT_NEEDED, VERIFICATION, BoostStep, HelpArrival, HelpFailed
from ..core.ledger import Budget
from .errors import BrokenStream, Crashed, Denied, client_failure
from .keys import ANYBODY, KeyHolder
from .routes import Route

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
"""Label values, in the order of the metric's label names."""

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


class Gauge(NamedTuple):
    """A current value. Those whose name ends in `_total` only grow."""

    name: str
    meaning: str
    value: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by upper bound, per route."""

    bounds: tuple[float, ...] = SECONDS
    counts: dict[str, list[int]] = field(default_factory=dict)
    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, route: str, value: float) -> None:
        if route not in self.counts:
            self.counts[route] = [0] * (len(self.bounds) + 1)
        self.counts[route][bisect_left(self.bounds, value)] += 1
        self.sums[route] += value

    def lines(self, name: str) -> Iterator[str]:
        for route, counts in sorted(self.counts.items()):
            below = 0
            for bound, number in zip((*map(str, self.bounds), "+Inf"), counts, strict=True):
                below += number
                yield f"{name}_bucket{_labels(('route', 'le'), (route, bound))} {below}"
            yield f"{name}_sum{_labels(('route',), (route,))} {self.sums[route]:.6g}"
            yield f"{name}_count{_labels(('route',), (route,))} {below}"


@dataclass(frozen=True, slots=True)
class Metrics:
    counters: dict[str, defaultdict[Labels, float]] = field(
        default_factory=lambda: {name: defaultdict(float) for name in COUNTERS}
    )
    histograms: dict[str, Histogram] = field(default_factory=lambda: {name: Histogram() for name in HISTOGRAMS})

    def count(self, stats: RequestStats, route: str) -> None:
        """Counts a request under `route`, if it is listed: names made up by clients would grow without bound."""
        counters, here = self.counters, (route,)
        counters["requests_total"][stats.api, route, str(stats.status)] += 1
        usage = stats.usage
        counters["tokens_total"][route, "input"] += usage.input_tokens
        counters["tokens_total"][route, "output"] += usage.output_tokens
        counters["cost_usd_total"][here] += stats.dollars
        if stats.has_help:
            counters["helped_total"][here] += 1
        for outcome in stats.outcomes:
            counters["boost_loops_total"][route, outcome] += 1
        for kind in stats.upstream_errors:
            counters["upstream_errors_total"][route, kind] += 1
        self.histograms["request_seconds"].add(route, stats.seconds)
        if stats.first_token is not None:
            self.histograms["first_token_seconds"].add(route, stats.first_token)

    def count_alarm(self, route: str) -> None:
        self.counters["loss_alarms_total"][(route,)] += 1

    def count_shadow(self, route: str, outcome: str, dollars: float) -> None:
        self.counters["shadow_total"][route, outcome] += 1
        self.counters["shadow_cost_usd_total"][(route,)] += dollars

    def snapshot(self) -> Mapping[str, Any]:
        """Returns the numbers in a form that JSON can hold."""
        counters = {name: [*found.items()] for name, found in self.counters.items()}
        histograms = {name: [found.counts, found.sums] for name, found in self.histograms.items()}
        return {"counters": counters, "histograms": histograms}

    def add(self, snapshot: Mapping[str, Any]) -> None:
        for name, found in snapshot["counters"].items():
            for labels, value in found:
                self.counters[name][tuple(labels)] += value
        for name, (counts, sums) in snapshot["histograms"].items():
            mine = self.histograms[name]
            for route, numbers in counts.items():
                before = mine.counts.get(route, [0] * len(numbers))
                mine.counts[route] = [*map(sum, zip(before, numbers, strict=True))]
                mine.sums[route] += sums[route]

    def text(self, gauges: Iterable[Gauge]) -> str:
        return "\n".join([*self._lines(gauges), ""])

    def _lines(self, gauges: Iterable[Gauge]) -> Iterator[str]:
        for name, (labels, meaning) in COUNTERS.items():
            yield from _head(name, "counter", meaning)
            for values, number in sorted(self.counters[name].items()):
                yield f"ai_battle_{name}{_labels(labels, values)} {number:.10g}"
        for name, meaning in HISTOGRAMS.items():
            yield from _head(name, "histogram", meaning)
            yield from self.histograms[name].lines(f"ai_battle_{name}")
        for name, meaning, number in gauges:
            yield from _head(name, "counter" if name.endswith("_total") else "gauge", meaning)
            yield f"ai_battle_{name} {number:.10g}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP ai_battle_{name} {meaning}"
    yield f"# TYPE ai_battle_{name} {kind}"


def _labels(names: Labels, values: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
