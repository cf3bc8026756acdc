"""Quality against the share of help, beside what others would do with the same answers: in letters and as a page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ..judging.calibrate import Report, Target
from ..judging.calibration import Point
from ..judging.measures import curve, mean
from . import calibration as words
from .charts import Plane, Points, Scale
from .pages import page as page_of

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

    @property
    def points(self) -> Points:
        return [*zip(SHARES_OF_HELP, self.quality, strict=True)]


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
        styles=("report.css", "calibration.css"),
        sentences=(words.data(report, answers), *words.recommendation(report, target)),
        fragment=words.fragment(report, path) if report.helps else "",
        curve=report.curve,
        share=report.calibration.help_rate,
        picture=picture(report) if report.curve else None,
    )
    return "".join(pieces)


class CurvePicture(NamedTuple):
    """The lines with the places of their names, the interval of the first, and the recommended share of help."""

    plane: Plane
    lines: Sequence[CurveLine]
    names: Sequence[tuple[str, float]]
    band: Points
    mark: float | None


def picture(report: Report) -> CurvePicture:
    found = lines(report)
    band = [(point.help_rate, point.high) for point in report.curve]
    band += [(point.help_rate, point.low) for point in reversed(report.curve)]
    values = [*chain(*(line.quality for line in found)), *(quality for _, quality in band)]
    up = Scale(min(values), max(*values, min(values) + 0.01), BOTTOM, TOP)
    plane = Plane(Scale(0, 1, LEFT, RIGHT), up)
    mark = plane.across(report.calibration.help_rate) if report.helps else None
    return CurvePicture(plane, found, [*_names(found, up)], plane.line(band), mark)


def _names(curves: Sequence[CurveLine], up: Scale) -> Iterator[tuple[str, float]]:
    """Where the name of each line stands, near its end and below the one above it."""
    free = 0.0
    for line in sorted(curves, key=lambda line: line.quality[-3], reverse=True):
        free = max(up(line.quality[-3]), free + LETTERS)
        yield line.name, free
