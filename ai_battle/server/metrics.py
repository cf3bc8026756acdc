"""What all requests came to, in Prometheus' text form."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from .tally import Tally

SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
Labels: TypeAlias = tuple[str, ...]
"""Values in the order of the metric's label names."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by upper bound; one entry for each set of labels."""

    bounds: tuple[float, ...] = SECONDS
    counts: dict[Labels, list[int]] = field(default_factory=dict)
    sums: defaultdict[Labels, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, labels: Labels, value: float) -> None:
        if labels not in self.counts:
            self.counts[labels] = [0] * (len(self.bounds) + 1)
        self.counts[labels][bisect_left(self.bounds, value)] += 1
        self.sums[labels] += value

    def lines(self, name: str, labels: Labels) -> Iterator[str]:
        for values, counts in sorted(self.counts.items()):
            below = 0
            for bound, number in zip((*map(str, self.bounds), "+Inf"), counts, strict=True):
                below += number
                yield f"{name}_bucket{_labelled((*labels, 'le'), (*values, bound))} {below}"
            yield f"{name}_sum{_labelled(labels, values)} {self.sums[values]:.6g}"
            yield f"{name}_count{_labelled(labels, values)} {below}"


COUNTERS: Mapping[str, tuple[Labels, str]] = {
    "requests_total": (("api", "route", "status"), "Requests by what they came to; 499: the client left."),
    "tokens_total": (("route", "kind"), "Tokens of all models that were called, input and output."),
    "cost_usd_total": (("route",), "Dollars, as far as prices are known."),
    "helped_total": (("route",), "Requests for which another model was called in."),
    "boost_loops_total": (("route", "outcome"), "Rounds of the boost loop."),
    "upstream_errors_total": (("route", "kind"), "Calls of models that failed."),
}
HISTOGRAMS: Mapping[str, tuple[Labels, str]] = {
    "request_seconds": (("route",), "From the head of a request to the last byte of its answer."),
    "first_token_seconds": (("route",), "From the head of a request to the first of a streamed answer."),
}


@dataclass(frozen=True, slots=True)
class Metrics:
    counters: dict[str, defaultdict[Labels, float]] = field(
        default_factory=lambda: {name: defaultdict(float) for name in COUNTERS}
    )
    seconds: Histogram = field(default_factory=Histogram)
    first_token: Histogram = field(default_factory=Histogram)

    def count(self, tally: Tally, route: str) -> None:
        """`route` is the one of the tally, if it is listed: names that clients make up would never end."""
        counters, here = self.counters, (route,)
        counters["requests_total"][tally.api, route, str(tally.status)] += 1
        counters["tokens_total"][route, "input"] += tally.usage.input_tokens
        counters["tokens_total"][route, "output"] += tally.usage.output_tokens
        counters["cost_usd_total"][here] += tally.dollars
        if tally.helped:
            counters["helped_total"][here] += 1
        for outcome in tally.outcomes:
            counters["boost_loops_total"][route, outcome] += 1
        for kind in tally.upstream_errors:
            counters["upstream_errors_total"][route, kind] += 1
        self.seconds.add(here, tally.seconds)
        if tally.first_token is not None:
            self.first_token.add(here, tally.first_token)

    def text(self, gauges: Iterable[tuple[str, str, float]]) -> str:
        """`gauges` are the name, the meaning and the value of what is true at this moment."""
        return "\n".join([*self._lines(gauges), ""])

    def _lines(self, gauges: Iterable[tuple[str, str, float]]) -> Iterator[str]:
        for name, (labels, meaning) in COUNTERS.items():
            yield from _head(name, "counter", meaning)
            for values, number in sorted(self.counters[name].items()):
                yield f"ai_battle_{name}{_labelled(labels, values)} {number:.10g}"
        for (name, (labels, meaning)), histogram in zip(
            HISTOGRAMS.items(), (self.seconds, self.first_token), strict=True
        ):
            yield from _head(name, "histogram", meaning)
            yield from histogram.lines(f"ai_battle_{name}", labels)
        for name, meaning, number in gauges:
            yield from _head(name, "counter" if name.endswith("_total") else "gauge", meaning)
            yield f"ai_battle_{name} {number:.10g}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP ai_battle_{name} {meaning}"
    yield f"# TYPE ai_battle_{name} {kind}"


def _labelled(names: Labels, values: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
