"""The tables of a benchmark's report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from operator import itemgetter

from ..benchmark.cascade import BySignal
from ..benchmark.statistics import Compared, Verdict
from ..benchmark.summary import Row, Summary
from ..benchmark.sweep import Swept
from ..core.texts import about
from ._charts import colour
from ._figures import count, dollars
from ._markup import Html, tag
from .benchmark_charts import NONE, PER, percent, price, seconds, short

MOST_MATRIX = 16
MOST_SIGNALS = 20
MOST_BEATEN = 6
KINDS: Mapping[Verdict, str] = {
    "better": "better",
    "worse": "worse",
    "no difference shown": "same",
    "not enough data": "unsure",
}
LEAST_SHOWN = 0.05
TOKENS = 4
"""The column that stands for dollars where there are none."""
DEAR = f"$ / {PER:,} tasks"

Cell = str | tuple[str, float | None] | tuple[str, float | None, str]
"""What stands in it, what it is sorted by where that is another, and how sure it is."""


def table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]], class_: str = "sortable") -> Html:
    """Rows with the class of each."""
    head = tag("thead", tag("tr", *(tag("th", each, scope="col") for each in heads)))
    body = (tag("tr", *(_td(cell) for cell in cells), class_=kind) for kind, cells in rows)
    return tag("table", head, tag("tbody", *body), class_=class_)


def _td(cell: Cell) -> Html:
    if isinstance(cell, str):
        return tag("td", cell)
    said, value, *sure = cell
    inside = (said, tag("small", sure[0])) if sure and sure[0] else (said,)
    return tag("td", *inside) if value is None else tag("td", *inside, data_by=f"{value:.10g}")


def over_tasks(summary: Summary) -> str:
    """Over how many tasks the figures are, where that is not all of them."""
    return f" (over {summary.compared:,} of {summary.tasks:,} tasks)" if summary.compared < summary.tasks else ""


def beaten(summary: Summary) -> Iterator[str]:
    """A sentence for each setting that beats others."""
    found: dict[str, list[str]] = {}
    for row in summary.settings:
        if row.dominated:
            found.setdefault(row.dominated, []).append(row.name)
    for by, names in found.items():
        who = ", ".join(names) if len(names) <= MOST_BEATEN else f"{len(names):,} other settings"
        yield f"beaten by {by}, which is no worse and no dearer, and shown to be better in one of both: {who}"


def settings_table(summary: Summary) -> Html:
    """Columns that say nothing are left out."""
    heads = (
        "setting",
        "quality",
        "tasks",
        DEAR,
        f"tokens / {PER:,} tasks",
        "right / $",
        "median",
        "p95",
        "help",
        "missing",
        "beaten by",
    )
    rows = [_setting(row, n) for n, row in enumerate(summary.settings)]
    left_out = {TOKENS} if summary.axis != "tokens" else set()
    kept = [n for n in range(len(heads)) if n not in left_out and _says(n, rows)]
    kinds = ("dominated" if row.dominated else "" for row in summary.settings)
    cells = (itemgetter(*kept)(row) for row in rows)
    return table(itemgetter(*kept)(heads), list(zip(kinds, cells, strict=True)))


def _says(column: int, rows: Sequence[Sequence[Cell]]) -> bool:
    """The first ones always do: a name, and how many tasks."""
    cells = [row[column] for row in rows]
    return any((cell if isinstance(cell, str) else cell[0]) not in (NONE, "unknown") for cell in cells)


def _setting(row: Row, n: int) -> list[Cell]:
    kind = "name grey" if row.dominated else f"name {colour(n)}"
    name = tag("b", row.name, class_=kind, title=_models(row), data_of=row.name)
    missing = [f"{amount} {what}" for amount, what in ((row.failed, "failed"), (row.unscored, "unscored")) if amount]
    return [
        name,
        (percent(row.quality), row.quality, _ends(row.low, row.high, percent)),
        (count(row.n), row.n),
        _usd(row),
        (NONE if row.effort is None else count(round(row.effort * PER)), row.effort),
        (NONE if row.quality_per_dollar is None else f"{row.quality_per_dollar:,.0f}", row.quality_per_dollar),
        (_time(row.seconds_p50), row.seconds_p50, _ends(row.seconds_p50_low, row.seconds_p50_high, seconds)),
        (_time(row.seconds_p95), row.seconds_p95, _ends(row.seconds_p95_low, row.seconds_p95_high, seconds)),
        (percent(row.help_rate), row.help_rate, _ends(row.help_rate_low, row.help_rate_high, percent)),
        ", ".join(missing) or NONE,
        short(row.dominated) or NONE,
    ]


def _models(row: Row) -> str:
    return " ".join(
        filter(None, (row.model, row.strategy and f"{row.strategy} by {', '.join(row.helpers) or 'itself'}"))
    )


def _usd(row: Row) -> Cell:
    if row.cost_per_task is None:
        return "unknown"
    shown = about(estimated=row.estimated) + price(row.cost_per_task)
    return shown, row.cost_per_task, _ends(row.cost_low, row.cost_high, price)


def _ends(low: float | None, high: float | None, shown: Callable[[float], str]) -> str:
    """A 95 % interval, also one that is open; empty where nothing is known, or where it has no width."""
    if (low is None and high is None) or low == high:
        return ""
    if high is None:
        return f"from {shown(low or 0.0)}"
    return f"{shown(low)} to {shown(high)}" if low is not None else f"to {shown(high)}"


def _time(value: float | None) -> str:
    return NONE if value is None else seconds(value)


def matrix(summary: Summary) -> Html:
    """Every setting against every other; the best ones where there are many."""
    best = sorted(summary.settings, key=lambda row: -(row.quality or 0.0))[:MOST_MATRIX]
    kept = {row.name for row in best}
    names = [row.name for row in summary.settings if row.name in kept]
    found = {(pair.a, pair.b): pair for pair in summary.pairs}
    corner = tag("th", "")
    head = tag("thead", tag("tr", corner, *(tag("th", short(name), scope="col") for name in names)))
    rows = (
        tag("tr", tag("th", short(row), scope="row"), *(_against(row, column, found) for column in names))
        for row in names
    )
    return tag("table", head, tag("tbody", *rows), class_="matrix")


def _against(row: str, column: str, found: Mapping[tuple[str, str], Compared]) -> Html:
    pair, sign = found.get((column, row)), 1
    if pair is None:
        pair, sign = found.get((row, column)), -1
    if pair is None or row == column:
        return tag("td", "")
    points = sign * 100 * pair.found.mean
    verdict = _turned(pair.verdict) if sign < 0 else pair.verdict
    ends = sorted(sign * 100 * end for end in pair.found.interval)
    said = f"{row} against {column}: {points:+.1f} points, 95 % {ends[0]:+.1f} to {ends[1]:+.1f}, p {pair.p_holm:.3g}"
    shown = f"{points:+.1f}" if abs(points) >= LEAST_SHOWN else "0.0"
    mark = " ?" if verdict == "not enough data" else ""
    return tag("td", f"{shown}{mark}", title=f"{said}: {verdict}", class_=KINDS[verdict])


def _turned(verdict: Verdict) -> Verdict:
    """The same, seen from the other setting."""
    if verdict == "better":
        return "worse"
    return "better" if verdict == "worse" else verdict


def order_table(rows: Sequence[Row]) -> Html:
    heads = (
        "setting",
        "help rate",
        "rescued",
        "spoilt",
        "$ / rescued",
        "drafts wasted",
        "APGR",
        "CPT 50 %",
        "CPT 80 %",
    )
    return table(heads, [("", _order(row)) for row in rows])


def _order(row: Row) -> list[Cell]:
    sure = _ends(row.apgr_low, row.apgr_high, "{:.2f}".format)
    wasted = f", {dollars(row.wasted_usd)}" if row.wasted_usd else ""
    return [
        row.name,
        (percent(row.help_rate), row.help_rate, _ends(row.help_rate_low, row.help_rate_high, percent)),
        (_number(row.rescued), row.rescued),
        (_number(row.spoilt), row.spoilt),
        (NONE if row.usd_per_rescued is None else dollars(row.usd_per_rescued), row.usd_per_rescued),
        (f"{count(row.drafts_wasted)}{wasted}", row.drafts_wasted),
        (NONE if row.apgr is None else f"{row.apgr:.3f}", row.apgr, sure),
        (percent(row.cpt50), row.cpt50),
        (percent(row.cpt80), row.cpt80),
    ]


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:g}"


def signals_table(found: Sequence[BySignal]) -> Html:
    heads = ("signal of the detector", "answers", "wrong", "95 %", "wrong without it", "helped", "rescued", "$ wasted")
    return table(heads, [("", _signal(each)) for each in sorted(found, key=_silent)[:MOST_SIGNALS]])


def _silent(each: BySignal) -> float:
    """The signals first that tell wrong answers from right ones, the more often the better."""
    if each.wrong is None or each.wrong_else is None:
        return 0.0
    return -abs(each.wrong - each.wrong_else) * sqrt(each.spoke)


def _signal(each: BySignal) -> list[Cell]:
    interval = NONE if each.wrong_low is None else f"{percent(each.wrong_low)} to {percent(each.wrong_high)}"
    return [
        each.signal,
        (count(each.spoke), each.spoke),
        (percent(each.wrong), each.wrong),
        interval,
        (percent(each.wrong_else), each.wrong_else),
        (count(each.helped), each.helped),
        (_number(each.rescued), each.rescued),
        (dollars(each.wasted_usd), each.wasted_usd),
    ]


def sweep_table(found: Sequence[Swept]) -> Html:
    heads = ("setting", "help rate", "quality", "95 %, or bounds", DEAR, "needs new answers")
    return table(heads, [("", _swept(each)) for each in found])


def _swept(each: Swept) -> list[Cell]:
    if each.interval is not None:
        sure = f"{percent(each.interval.low)} to {percent(each.interval.high)}"
    else:
        sure = f"between {percent(each.least)} and {percent(each.most)}"
    return [
        each.policy.name,
        (percent(each.help_rate), each.help_rate),
        (percent(each.quality), each.quality),
        sure,
        (NONE if each.cost_per_task is None else price(each.cost_per_task), each.cost_per_task),
        (count(each.unknown), each.unknown),
    ]
