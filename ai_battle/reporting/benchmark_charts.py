"""Charts of a benchmark as inline SVG: the front, times, what help brings, and what the detector's word is worth."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from markupsafe import Markup

from ..benchmark.setting_results import Axis
from ..benchmark.summary import BenchmarkSummary, Bin, Item, Latency, SettingRow
from .charts import colour
from .figures import PER, percent, seconds, whole
from .svg import Box, Scale, figure, fitting, join, label_boxes, short, tag

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 14, 44
LETTER, LINE = 7.2, 14
MOST_LABELLED = 14
APART = 44
MOST_HILLS = 14
RIDGE = 46
SIDE = 340
MAP_ROW, MOST_ROWS, MOST_MAPPED, MAP_LABEL = 18, 24, 400, 200

AXES: dict[Axis, str] = {
    "dollars": f"dollars for {PER:,} tasks",
    "tokens": "tokens for a task",
    "seconds": "seconds for a task",
}


def effort(value: float, axis: Axis) -> str:
    if axis == "dollars":
        return f"${value * PER:,.4g}"
    return seconds(value) if axis == "seconds" else f"{value:,.0f}"


def front(summary: BenchmarkSummary) -> Markup:
    """Cost and quality of each setting; what another setting beats in both is grey."""
    rows = [row for row in summary.settings if row.quality is not None and row.effort is not None]
    if not rows:
        return Markup("")
    across, up = _scales(rows)
    numbers = _numbers(summary)
    drawn = (
        _frame(across, up, lambda value: effort(value, summary.axis), AXES[summary.axis], "quality"),
        _line([_at(row, across, up) for row in summary.front if row in rows], "front"),
        *(_point(row, numbers[row.name], across, up, summary.axis) for row in rows),
        *_labels(rows, across, up),
    )
    legend = "whiskers are 95 % intervals; grey: another setting is no worse and no dearer"
    return figure("Cost and quality", legend, WIDTH, HEIGHT, *drawn)


def _numbers(summary: BenchmarkSummary) -> Mapping[str, int]:
    """The place of each setting, which gives it its colour."""
    return {row.name: n for n, row in enumerate(summary.settings)}


def _at(row: SettingRow, across: Scale, up: Scale) -> tuple[float, float]:
    return across(row.effort or 0.0), up(row.quality or 0.0)


def _scales(rows: Sequence[SettingRow]) -> tuple[Scale, Scale]:
    across = fitting([row.effort or 0.0 for row in rows], LEFT, WIDTH - RIGHT, logs=True)
    up = fitting([end for row in rows for end in (row.low, row.high) if end is not None], HEIGHT - BOTTOM, TOP)
    return across, Scale(up.low, min(1.0, up.high), up.start, up.end)


def _point(row: SettingRow, n: int, across: Scale, up: Scale, axis: Axis) -> Markup:
    x, y = _at(row, across, up)
    kind = "grey" if row.dominated else colour(n)
    interval = f"{percent(row.low)} to {percent(row.high)}"
    said = f"{row.name}: {percent(row.quality)} ({interval}), {effort(row.effort or 0.0, axis)}"
    if row.dominated:
        said += f"; {row.dominated} is no worse and no dearer"
    whisker = tag("line", x1=x, x2=x, y1=up(row.low or 0.0), y2=up(row.high or 0.0), class_="whisker")
    return tag(
        "g", tag("title", said), whisker, tag("circle", cx=x, cy=y, r=5), class_=f"point {kind}", data_of=row.name
    )


def _labels(rows: Sequence[SettingRow], across: Scale, up: Scale) -> Iterator[Markup]:
    """Of all, or of the front where there are many; a label that finds no room is left to the table."""
    named = [row for row in rows if len(rows) <= MOST_LABELLED or not row.dominated]
    wanted = [(*_at(row, across, up), LETTER * len(short(row.name))) for row in named]
    for row, box in zip(named, label_boxes(wanted, LINE, _inside), strict=True):
        if box:
            kind, place = "label grey" if row.dominated else "label", {"x": round(box[0], 1), "y": round(box[3] - 3, 1)}
            yield tag("text", short(row.name), **place, class_=kind, data_of=row.name)


def _inside(box: Box) -> bool:
    return box[0] > LEFT and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT - BOTTOM


def latency(summary: BenchmarkSummary) -> Markup:
    """How long answers took, by setting: a hill of counts, with the median and the 95th percentile."""
    found, timed = summary.latency, [row for row in summary.settings if row.seconds_p50 is not None]
    if not found.edges or not timed:
        return Markup("")
    rows = timed if len(timed) <= MOST_HILLS else _worth(timed)
    bottom = TOP + RIDGE * len(rows)
    across = Scale(found.edges[0], found.edges[-1], MAP_LABEL, WIDTH - RIGHT, is_log=True)
    numbers = _numbers(summary)
    hills = (_hill(row, numbers[row.name], TOP + RIDGE * (n + 1), found, across) for n, row in enumerate(rows))
    ticks = (_tick_below(across(value), TOP, bottom, seconds(value)) for value in _apart(across))
    left_out = "" if len(rows) == len(timed) else "; settings that no other beats"
    legend = f"each hill counts samples; the marks are the median and the 95th percentile; scale by powers{left_out}"
    return figure("How long answers take", legend, WIDTH, bottom + 24, *ticks, *hills)


def _worth(rows: Sequence[SettingRow]) -> list[SettingRow]:
    return [row for row in rows if not row.dominated][:MOST_HILLS]


def _apart(scale: Scale) -> list[float]:
    """Ticks far enough from one another to be read."""
    kept: list[float] = []
    for value in scale.ticks():
        if not kept or abs(scale(value) - scale(kept[-1])) > APART:
            kept.append(value)
    return kept


def _hill(row: SettingRow, n: int, base: float, found: Latency, across: Scale) -> Markup:
    counts = found.counts.get(row.name, ())
    most = max(counts, default=0) or 1
    tops = [
        (across(edge), base - (RIDGE - 12) * count / most)
        for start, end, count in zip(found.edges, found.edges[1:], counts, strict=False)
        for edge in (start, end)
    ]
    path = " ".join(f"{x},{y:.1f}" for x, y in [(across(found.edges[0]), base), *tops, (across(found.edges[-1]), base)])
    marks = [
        tag("line", x1=across(at), x2=across(at), y1=base - RIDGE + 14, y2=base, class_=kind)
        for at, kind in ((row.seconds_p50, "median"), (row.seconds_p95, "tail"))
        if at is not None
    ]
    said = f"{row.name}: median {seconds(row.seconds_p50 or 0)}, 95th percentile {seconds(row.seconds_p95 or 0)}"
    label = tag("text", short(row.name), x=MAP_LABEL - 8, y=base - 4, text_anchor="end")
    return tag("g", tag("title", said), label, tag("polygon", points=path), *marks, class_=f"hill {colour(n)}")


def help_curve(row: SettingRow) -> Markup:
    """Quality against help rate in the order of the detector's doubts, against help at random."""
    if not row.order or not row.order.curve:
        return Markup("")
    points = row.order.curve
    across, up = Scale(0, 1, LEFT, SIDE - RIGHT), fitting([y for _, y in points], SIDE - BOTTOM, TOP)
    blind = [(across(0), up(points[0][1])), (across(1), up(points[-1][1]))]
    drawn = (
        _frame(across, up, whole, "share of answers that get help", "quality"),
        _line(blind, "chance"),
        _line([(across(x), up(y)) for x, y in points], "front"),
    )
    here = [] if row.help_rate is None or row.quality is None else [_here(across(row.help_rate), up(row.quality))]
    legend = "the detector's order; dashed: at random; the point is the setting"
    return figure(f"What help brings: {short(row.name)}", legend, SIDE, SIDE, *drawn, *here)


def _here(x: float, y: float) -> Markup:
    return tag("g", tag("circle", cx=x, cy=y, r=5), class_="point c1")


def calibration(bins: Sequence[Bin], error: float | None = None) -> Markup:
    """How many answers were right among those that the detector thinks equally good."""
    if not bins:
        return Markup("")
    across, up = Scale(0, 1, LEFT, SIDE - RIGHT), Scale(0, 1, SIDE - BOTTOM, TOP)
    most = max(each.n for each in bins)
    drawn = (
        _frame(across, up, whole, "quality that the detector says", "share that is right"),
        _line([(across(0), up(0)), (across(1), up(1))], "chance"),
        *(_calibration_point(each, across, up, most) for each in bins),
    )
    off = "" if error is None else f"; it is {100 * error:.0f} points off on average"
    return figure("What the detector's word is worth", f"on the dashed line it is right{off}", SIDE, SIDE, *drawn)


def _calibration_point(each: Bin, across: Scale, up: Scale, most: int) -> Markup:
    x, y = across(each.said), up(each.right)
    said = f"{each.n} answers: says {percent(each.said)}, right are {percent(each.right)}"
    whisker = tag("line", x1=x, x2=x, y1=up(each.right_low), y2=up(each.right_high), class_="whisker")
    size = round(3 + 5 * (each.n / most) ** 0.5, 1)
    return tag("g", tag("title", said), whisker, tag("circle", cx=x, cy=y, r=size), class_="point c0")


def help_map(items: Sequence[Item], settings: Sequence[SettingRow]) -> Markup:
    """Who got help with which task, and what became of it: a column is a task, those with most help first."""
    rows = [row for row in settings if row.help_rate is not None][:MOST_ROWS]
    if not rows or not items:
        return Markup("")
    order = sorted(items, key=lambda item: -sum(item.helped.values()))[:MOST_MAPPED]
    step = (WIDTH - MAP_LABEL) / len(order)
    drawn = [_help_map_row(row, n, order, step) for n, row in enumerate(rows)]
    left_out = f"; the first {len(order):,} of {len(items):,}" if len(order) < len(items) else ""
    legend = f"a column is a task{left_out}; full colour: got help; orange: still wrong"
    return figure("Help by task", legend, WIDTH, MAP_ROW * len(rows) + 4, *drawn)


def _help_map_row(row: SettingRow, n: int, items: Sequence[Item], step: float) -> Markup:
    label = tag("text", short(row.name), x=MAP_LABEL - 8, y=n * MAP_ROW + 13, text_anchor="end")
    cells = [
        _cell(row, item, round(MAP_LABEL + place * step, 2), n * MAP_ROW + 2, step)
        for place, item in enumerate(items)
        if row.name in item.helped
    ]
    return tag("g", label, *cells)


def _cell(row: SettingRow, item: Item, x: float, y: float, step: float) -> Markup:
    share, score = item.helped[row.name], item.scores.get(row.name)
    kind = "unscored" if score is None else "right" if score > 0.5 else "wrong"
    said = f"{item.task}: helped {whole(share)}, {'not scored' if score is None else f'score {score:.2f}'}"
    size = {"width": round(max(step * 0.92, 0.5), 2), "height": MAP_ROW - 4}
    return tag("rect", tag("title", said), x=x, y=y, **size, class_=f"cell {kind}{' got' if share >= 0.5 else ''}")


def _frame(across: Scale, up: Scale, shown: Callable[[float], str], below: str, beside: str) -> Markup:
    """Both axes, with their ticks and names; the upright one is in percent."""
    middle = (up.start + up.end) / 2
    return tag(
        "g",
        *(_tick_below(across(value), up.end, up.start, shown(value)) for value in _apart(across)),
        *(_tick_beside(value, across, up) for value in up.ticks()),
        _axis_text(below, (across.start + across.end) / 2, up.start + 36),
        _axis_text(beside, 0, 0, transform=f"translate(12 {middle}) rotate(-90)"),
    )


def _tick_below(x: float, top: float, bottom: float, words: str) -> Markup:
    return join(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"), _axis_text(words, x, bottom + 16))


def _tick_beside(value: float, across: Scale, up: Scale) -> Markup:
    line = tag("line", x1=across.start, x2=across.end, y1=up(value), y2=up(value), class_="grid")
    words = f"{value:.4g}" if value > 1 else f"{100 * value:.3g} %"
    return join(line, _axis_text(words, across.start - 8, up(value) + 4, text_anchor="end"))


def _axis_text(words: str, x: float, y: float, text_anchor: str = "middle", **more: str) -> Markup:
    return tag("text", words, x=x, y=y, text_anchor=text_anchor, class_="figure", **more)


def _line(points: Sequence[tuple[float, float]], kind: str) -> Markup:
    return tag("polyline", points=" ".join(f"{x},{y}" for x, y in points), class_=kind)
