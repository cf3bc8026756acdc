"""What a calibration shows: quality against the share of help, beside what others would do with the same answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..collaboration._stuck.calibrating import Report
from ..collaboration.measures import curve, mean
from ._markup import Html, tag

SHARES = 20
LETTERS = 14


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


def chart(report: Report, rate: float) -> Html:
    """The curve as a picture, with the recommended share of help marked."""
    found = lines(report)
    if not found:
        return Html("")
    values = [value for line in found for value in line.quality] + [p.low for p in report.curve]
    frame = _Frame(min(values), max(values))
    band = tag("polygon", points=frame.band(report), class_="band")
    drawn = (tag("polyline", points=frame.points(line.quality), class_=f"line {line.name}") for line in found)
    names = (tag("text", line.name, x=648, y=y, class_=line.name) for line, y in frame.beside(found))
    mark = tag("line", x1=frame.x(rate), x2=frame.x(rate), y1=10, y2=310, class_="mark")
    return tag("svg", band, *drawn, *names, mark, *frame.axes(), viewBox="0 0 720 350", role="img")


def page(report: Report, target: str) -> Html:
    """One self-contained page."""
    head = tag("head", Html('<meta charset="utf-8">'), tag("title", "Calibration"), Html(f"<style>{STYLE}</style>"))
    rate = report.calibration.help_rate
    said = tag("p", f"{target}: {rate:.1%} of the answers get help (± {report.calibration.error:.1%}).")
    note = tag("p", report.note) if report.note else Html("")
    heads = tag("tr", *(tag("th", name) for name in ("share of help", "quality", "95 % interval")))
    rows = (
        tag("tr", *(tag("td", f) for f in (f"{p.help_rate:.0%}", f"{p.quality:.3f}", f"{p.low:.3f} to {p.high:.3f}")))
        for p in report.curve
    )
    body = tag("body", tag("h1", "Calibration"), said, note, chart(report, rate), tag("table", heads, *rows))
    return Html(f"<!doctype html>\n{tag('html', head, body, lang='en')}\n")


class _Frame:
    """Where a share and a quality lie in the picture."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.span = low, max(high - low, 0.01)

    def x(self, share: float) -> float:
        return round(60 + 580 * share, 1)

    def y(self, quality: float) -> float:
        return round(310 - 290 * (quality - self.low) / self.span, 1)

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

    def axes(self) -> Iterator[Html]:
        for part in range(0, 101, 20):
            yield tag("text", f"{part} %", x=self.x(part / 100), y=332, text_anchor="middle")
        for step in range(5):
            quality = self.low + self.span * step / 4
            yield tag("text", f"{quality:.2f}", x=52, y=self.y(quality) + 4, text_anchor="end")


def _level(name: str, quality: float) -> Line:
    return Line(name, (quality,) * (SHARES + 1))


def _sampled(reached: Sequence[float]) -> Iterator[float]:
    last = len(reached) - 1
    return (reached[round(share * last / SHARES)] for share in range(SHARES + 1))


STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}table{border-collapse:collapse}td,th{padding:.15rem .8rem;text-align:right;"
    "border-bottom:1px solid #ddd}svg{width:100%;font-size:12px}.line{fill:none;stroke-width:2;stroke:#999}"
    ".detector{stroke:#0a58ca}text.detector{fill:#0a58ca;stroke:none}.oracle{stroke:#198754}"
    "text.oracle{fill:#198754;stroke:none}.length{stroke:#fd7e14}text.length{fill:#b35a00;stroke:none}"
    ".random,.never,.always{stroke-dasharray:4 4}.band{fill:#0a58ca;opacity:.12}"
    ".mark{stroke:#d00;stroke-dasharray:2 3}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}text{fill:#ccc}td,th{border-color:#333}}"
)
