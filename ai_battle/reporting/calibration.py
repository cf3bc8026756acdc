"""What a calibration shows: quality against the share of help, beside what others would do with the same answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..judging.calibrating import Report, Target
from ..judging.measures import curve, mean
from . import calibration_words as words
from ._markup import Html, joined, tag
from ._page import END, file, head

SHARES = 20
LETTERS = 14
TOP, HEIGHT = 32, 290
CAPTION = (
    "detector: those with the highest expected gain get help first; its 95 % interval is shaded. "
    "length: the longest answers first. oracle: those first that help makes right. random: any."
)


@dataclass(frozen=True, slots=True)
class Line:
    """The mean quality at 0, 5, 10 ... 100 % of help."""

    name: str
    quality: tuple[float, ...]


def lines(report: Report) -> tuple[Line, ...]:
    """The detector, and what it is measured against; nothing without labels."""
    small, large = report.small, report.large
    if not small:
        return ()
    better = [b - a for a, b in zip(small, large, strict=True)]
    rivals = {"detector": report.scores, "length": report.lengths, "oracle": better}
    drawn = [Line(name, tuple(_sampled(curve(list(scores), small, large)))) for name, scores in rivals.items()]
    low, high = mean(small), mean(large)
    random = tuple(low + (high - low) * share / SHARES for share in range(SHARES + 1))
    return (*drawn, Line("random", random), _level("never", low), _level("always", high))


def chart(report: Report) -> Html:
    """The curve as a picture, with the recommended share of help marked."""
    found = lines(report)
    frame = _Frame(
        [value for line in found for value in line.quality] + [v for p in report.curve for v in (p.low, p.high)]
    )
    band = tag("polygon", points=frame.band(report), class_="band")
    drawn = (tag("polyline", points=frame.points(line.quality), class_=f"line {line.name}") for line in found)
    names = (tag("text", line.name, x=648, y=y, class_=line.name) for line, y in frame.beside(found))
    mark = frame.mark(report.calibration.help_rate) if report.helps else ""
    label = "Quality against the share of answers that get help"
    parts = (*frame.axes(), band, *drawn, *names, mark)
    return tag("svg", *parts, viewBox="0 0 720 370", role="img", aria_label=label)


def page(report: Report, target: Target, answers: int, path: str | None = None) -> str:
    """One self-contained page; `path` is that of the calibration, which a pair then names."""
    said = (tag("p", sentence) for sentence in (words.data(report, answers), *words.recommended(report, target)))
    pair = joined(tag("p", "In a pair of discussion.collaboration.pairs:"), tag("pre", words.fragment(report, path)))
    shown = joined(tag("h1", "Calibration"), *said, pair if report.helps else "", _curve(report))
    return f"{head('Calibration', file('calibration.css'))}{shown}\n{END}"


def _curve(report: Report) -> Html:
    """The picture and its figures; nothing without labels."""
    if not report.curve:
        return tag("p", "Without labels there is no curve of quality.")
    heads = tag("tr", *(tag("th", name) for name in ("share of help", "quality", "95 % interval")))
    rows = (
        tag("tr", *(tag("td", f) for f in (f"{p.help_rate:.0%}", f"{p.quality:.3f}", f"{p.low:.3f} to {p.high:.3f}")))
        for p in report.curve
    )
    return joined(chart(report), tag("p", CAPTION, class_="caption"), tag("table", heads, *rows))


class _Frame:
    """Where a share and a quality lie in the picture."""

    def __init__(self, values: Sequence[float]) -> None:
        self.low, self.span = min(values), max(max(values) - min(values), 0.01)

    def x(self, share: float) -> float:
        return round(60 + 580 * share, 1)

    def y(self, quality: float) -> float:
        return round(TOP + HEIGHT * (1 - (quality - self.low) / self.span), 1)

    def points(self, quality: Sequence[float]) -> str:
        return " ".join(f"{self.x(n / (len(quality) - 1))},{self.y(value)}" for n, value in enumerate(quality))

    def band(self, report: Report) -> str:
        above = [f"{self.x(p.help_rate)},{self.y(p.high)}" for p in report.curve]
        below = [f"{self.x(p.help_rate)},{self.y(p.low)}" for p in reversed(report.curve)]
        return " ".join((*above, *below))

    def beside(self, lines: Sequence[Line]) -> Iterator[tuple[Line, float]]:
        """Where the name of each line stands, near its end and below the one above it."""
        free = 0.0
        for line in sorted(lines, key=lambda line: line.quality[-3], reverse=True):
            free = max(self.y(line.quality[-3]), free + LETTERS)
            yield line, free

    def mark(self, share: float) -> Html:
        """A line at the recommended share, with its name where there is room for it."""
        x = self.x(share)
        line = tag("line", x1=x, x2=x, y1=TOP, y2=TOP + HEIGHT, class_="mark")
        name = f"recommended: {share:.1%}"
        side = ("start", 4) if share < 0.75 else ("end", -4)
        return joined(line, tag("text", name, x=x + side[1], y=TOP - 6, text_anchor=side[0], class_="mark"))

    def axes(self) -> Iterator[Html]:
        bottom = TOP + HEIGHT
        for part in range(0, 101, 20):
            yield tag("text", f"{part} %", x=self.x(part / 100), y=bottom + 18, text_anchor="middle")
        for step in range(5):
            quality = self.low + self.span * step / 4
            y = self.y(quality)
            yield tag("line", x1=60, x2=640, y1=y, y2=y, class_="grid")
            yield tag("text", f"{quality:.2f}", x=52, y=y + 4, text_anchor="end")
        yield tag("text", "share of answers that get help", x=350, y=bottom + 40, text_anchor="middle")
        yield tag("text", "quality", x=52, y=TOP - 12, text_anchor="end")


def _level(name: str, quality: float) -> Line:
    return Line(name, (quality,) * (SHARES + 1))


def _sampled(reached: Sequence[float]) -> Iterator[float]:
    last = len(reached) - 1
    return (reached[round(share * last / SHARES)] for share in range(SHARES + 1))
