"""Quality against the share of help, beside what others would do with the same answers: in letters and as a page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from markupsafe import Markup

from ..judging.calibrate import Report, Target
from ..judging.calibration import Point
from ..judging.measures import curve, mean
from . import calibration as words
from .pages import page as page_of
from .svg import Scale, join, tag

SHARES = 20
SHARES_OF_HELP = [n / SHARES for n in range(SHARES + 1)]
LETTERS = 14
LEFT, RIGHT, TOP, BOTTOM = 60, 640, 32, 322
WIDTH = 24
RIVALS = ("random", "length", "oracle")


@dataclass(frozen=True, slots=True)
class CurveLine:
    """The mean quality at 0, 5, 10 ... 100 % of help."""

    name: str
    quality: tuple[float, ...]


def lines(report: Report) -> tuple[CurveLine, ...]:
    """The detector, and what it is measured against; nothing without labels."""
    small, large = report.small, report.large
    if not small:
        return ()
    better = [b - a for a, b in zip(small, large, strict=True)]
    rivals = {"detector": report.scores, "length": report.lengths, "oracle": better}
    ranked = [CurveLine(name, tuple(_samples(curve(list(scores), small, large)))) for name, scores in rivals.items()]
    low, high = mean(small), mean(large)
    random = tuple(low + (high - low) * share / SHARES for share in range(SHARES + 1))
    return (*ranked, CurveLine("random", random), _level("never", low), _level("always", high))


def _level(name: str, quality: float) -> CurveLine:
    return CurveLine(name, (quality,) * (SHARES + 1))


def _samples(quality: Sequence[float]) -> Iterator[float]:
    last = len(quality) - 1
    return (quality[round(share * last / SHARES)] for share in range(SHARES + 1))


def rows(report: Report) -> Iterator[str]:
    """For a terminal: a line for each tenth of help, with the one marked that is nearest to what is recommended."""
    qualities = {line.name: line.quality for line in lines(report)}
    nearest = round(report.calibration.help_rate * 10) if report.helps else -1
    yield f"  help  quality  95 % interval   {' '.join(f'{name:>6}' for name in RIVALS)}"
    for tenth, point in enumerate(report.curve[::2]):
        yield f"{'▸' if tenth == nearest else ' '}{_row(point, qualities)}"
    marked = "; ▸ is nearest to what is recommended" if report.helps else ""
    yield f"  never {qualities['never'][0]:.3f}, always {qualities['always'][0]:.3f}{marked}"


def _row(point: Point, qualities: Mapping[str, Sequence[float]]) -> str:
    share = round(point.help_rate * SHARES)
    others = " ".join(f"{qualities[name][share]:6.3f}" for name in RIVALS)
    span = f"{point.low:.3f} … {point.high:.3f}"
    low, high = min(map(min, qualities.values())), max(map(max, qualities.values()))
    bar = "█" * round(WIDTH * (point.quality - low) / ((high - low) or 1))
    return f"{point.help_rate:5.0%}   {point.quality:.3f}  {span}   {others}  {bar}".rstrip()


def page(report: Report, target: Target, answers: int, path: str | None = None) -> str:
    """One self-contained page; `path` is that of the calibration, which a pair then names."""
    pieces = page_of(
        "calibration.html",
        title="Calibration",
        styles=("calibration.css",),
        sentences=(words.data(report, answers), *words.recommendation(report, target)),
        fragment=words.fragment(report, path) if report.helps else "",
        curve=report.curve,
        chart=chart(report) if report.curve else "",
    )
    return "".join(pieces)


def chart(report: Report) -> Markup:
    """The curve as a picture, with the recommended share of help marked."""
    curves = lines(report)
    above = [(point.help_rate, point.high) for point in report.curve]
    below = [(point.help_rate, point.low) for point in reversed(report.curve)]
    values = [*chain(*(line.quality for line in curves)), *(quality for _, quality in above + below)]
    across, up = Scale(0, 1, LEFT, RIGHT), Scale(min(values), max(*values, min(values) + 0.01), BOTTOM, TOP)
    band = tag("polygon", points=_points((*above, *below), across, up), class_="band")
    parts = [_curve(line, across, up) for line in curves]
    names = (tag("text", name, x=648, y=y, class_=name) for name, y in _names(curves, up))
    mark = _mark(report.calibration.help_rate, across) if report.helps else ""
    label = "Quality against the share of answers that get help"
    return tag(
        "svg", *_axes(across, up), band, *parts, *names, mark, viewBox="0 0 720 370", role="img", aria_label=label
    )


def _curve(line: CurveLine, across: Scale, up: Scale) -> Markup:
    places = [*zip(SHARES_OF_HELP, line.quality, strict=True)]
    return tag("polyline", points=_points(places, across, up), class_=f"line {line.name}")


def _points(places: Sequence[tuple[float, float]], across: Scale, up: Scale) -> str:
    return " ".join(f"{across(x)},{up(y)}" for x, y in places)


def _names(curves: Sequence[CurveLine], up: Scale) -> Iterator[tuple[str, float]]:
    """Where the name of each line stands, near its end and below the one above it."""
    free = 0.0
    for line in sorted(curves, key=lambda line: line.quality[-3], reverse=True):
        free = max(up(line.quality[-3]), free + LETTERS)
        yield line.name, free


def _mark(share: float, across: Scale) -> Markup:
    """A line at the recommended share, with its name where there is room for it."""
    x = across(share)
    line = tag("line", x1=x, x2=x, y1=TOP, y2=BOTTOM, class_="mark")
    anchor, beside = ("start", 4) if share < 0.75 else ("end", -4)
    return join(
        line, tag("text", f"recommended: {share:.1%}", x=x + beside, y=TOP - 6, text_anchor=anchor, class_="mark")
    )


def _axes(across: Scale, up: Scale) -> Iterator[Markup]:
    for part in range(0, 101, 20):
        yield tag("text", f"{part} %", x=across(part / 100), y=BOTTOM + 18, text_anchor="middle")
    for step in range(5):
        quality = up.low + (up.high - up.low) * step / 4
        yield tag("line", x1=LEFT, x2=RIGHT, y1=up(quality), y2=up(quality), class_="grid")
        yield tag("text", f"{quality:.2f}", x=52, y=up(quality) + 4, text_anchor="end")
    yield tag("text", "share of answers that get help", x=350, y=BOTTOM + 40, text_anchor="middle")
    yield tag("text", "quality", x=52, y=TOP - 12, text_anchor="end")
