"""The report of a benchmark: one HTML file that needs nothing else; readable without its script, sharper with it."""

from collections.abc import Iterator, Sequence

from ..benchmark.cascade import BySignal
from ..benchmark.statistics import conclusions
from ..benchmark.store import Store
from ..benchmark.summary import Row, Summary
from . import benchmark_charts as charts
from ._figures import counted, dollars
from ._markup import Html, tag
from ._page import END, file, head
from .benchmark_items import explorer
from .benchmark_tables import (
    MOST_MATRIX,
    beaten,
    matrix,
    order_table,
    over_tasks,
    settings_table,
    signals_table,
    sweep_table,
)

MOST_SAID = 6


def render(summary: Summary, store: Store) -> Iterator[str]:
    """The page in pieces."""
    script = file("benchmark.js")
    yield head(summary.name, file("report.css") + file("benchmark.css"), script=script)
    yield tag("header", tag("h1", summary.name), _facts(summary))
    yield tag("section", tag("h2", "What it comes to"), *_front(summary), *_compared(summary), *_notes(summary))
    yield tag(
        "section", tag("h2", "Settings"), charts.front(summary), tag("div", settings_table(summary), class_="wide")
    )
    yield tag("section", charts.latency(summary))
    yield from _pairs(summary)
    yield from _help(summary)
    yield from _sweep(summary)
    yield "<main>\n"
    for piece in explorer(summary, store):
        yield f"{piece}\n"
    yield f"</main>\n<script>{script}</script>\n{END}"


def _facts(summary: Summary) -> Html:
    samples = sum(row.samples for row in summary.settings)
    facts = [
        counted(summary.tasks, "task"),
        counted(len(summary.settings), "setting"),
        counted(samples, "sample"),
        f"{summary.repeats} of each task" if summary.repeats > 1 else "",
        f"spent {dollars(summary.spent_usd)}{_expected(summary)}",
    ]
    return tag("p", *(tag("span", fact) for fact in facts if fact), class_="facts")


def _expected(summary: Summary) -> str:
    """The forecast, where there was one that was not nothing."""
    found = summary.forecast or {}
    low, high = found.get("low"), found.get("high")
    return f" (forecast: {dollars(low)} to {dollars(high)})" if low or high else ""


def _front(summary: Summary) -> Iterator[Html]:
    """Which settings no other beats, and which are beaten by which."""
    front = summary.front
    if front and len(summary.settings) > 1:
        shown = " → ".join(f"{row.name} ({charts.percent(row.quality)})" for row in front)
        title = tag("b", f"Not beaten, the cheapest first{over_tasks(summary)}: ")
        yield tag("p", title, shown, ".", class_="lead")
    yield from (tag("p", f"{said}.") for said in beaten(summary))


def _compared(summary: Summary) -> Iterator[Html]:
    yield tag("ul", *(tag("li", said) for said in conclusions(summary.pairs, MOST_SAID)))
    if summary.smallest is not None:
        seen = f"With {counted(summary.tasks, 'task')}, half of the comparisons can show differences from "
        yield tag("p", f"{seen}{100 * summary.smallest:.0f} points on.")


def _notes(summary: Summary) -> Iterator[Html]:
    if summary.notes:
        yield tag("ul", *(tag("li", note) for note in summary.notes), class_="notes")


def _pairs(summary: Summary) -> Iterator[Html]:
    if not summary.pairs:
        return
    best = f" The {MOST_MATRIX} best settings are shown." if len(summary.settings) > MOST_MATRIX else ""
    said = (
        "The row against the column, in points. Coloured: a difference is shown (p < 0.05 after Holm's correction for "
        f"all comparisons together); with a question mark: not enough data to say.{best}"
    )
    yield tag("section", tag("h2", "Each against each"), tag("p", said), tag("div", matrix(summary), class_="wide"))


def _help(summary: Summary) -> Iterator[Html]:
    helped = [row for row in summary.settings if row.help_rate is not None]
    if not helped:
        return
    curved = _different(helped)
    drawings = [charts.help_curve(row) for row in curved[:3]]
    yield tag(
        "section",
        tag("h2", "Help"),
        tag("div", order_table(helped), class_="wide"),
        charts.help_map(summary.items, summary.settings),
        tag("div", *drawings, charts.calibration(summary.calibration, summary.calibration_error), class_="beside"),
        *(_signals(name, found) for name, found in summary.by_signal.items()),
    )


def _signals(name: str, found: Sequence[BySignal]) -> Html:
    title = tag("summary", tag("b", "Signals of the detector: "), name)
    return tag("details", title, tag("div", signals_table(found), class_="wide"))


def _different(rows: Sequence[Row]) -> list[Row]:
    """One setting for each order of the answers: thresholds do not change it."""
    found = {row.order.curve: row for row in rows if row.order}
    return list(found.values())


def _sweep(summary: Summary) -> Iterator[Html]:
    if not summary.sweep:
        return
    said = (
        f"What other settings would have come to with {summary.sweep_of}, without another call. Numbers are exact; "
        "where a new answer of the small model would be needed, there is none, and bounds are told in its place."
    )
    title = tag("summary", tag("b", "Settings that were not run"))
    yield tag("section", tag("details", title, tag("p", said), tag("div", sweep_table(summary.sweep), class_="wide")))
