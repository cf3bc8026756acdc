"""The curve of a calibration in letters, for a terminal."""

from collections.abc import Iterator, Mapping, Sequence

from ..judging.calibrating import Report
from ..judging.calibration import Point
from .calibration import SHARES, lines

WIDTH = 24
RIVALS = ("random", "length", "oracle")
Drawn = Mapping[str, Sequence[float]]


def rows(report: Report) -> Iterator[str]:
    """A line for each tenth of help, with the one marked that is nearest to what is recommended."""
    drawn = {line.name: line.quality for line in lines(report)}
    nearest = round(report.calibration.help_rate * 10) if report.helps else -1
    yield f"  help  quality  95 % interval   {' '.join(f'{name:>6}' for name in RIVALS)}"
    for tenth, point in enumerate(report.curve[::2]):
        yield f"{'▸' if tenth == nearest else ' '}{_row(point, drawn)}"
    marked = "; ▸ is nearest to what is recommended" if report.helps else ""
    yield f"  never {drawn['never'][0]:.3f}, always {drawn['always'][0]:.3f}{marked}"


def _row(point: Point, drawn: Drawn) -> str:
    share = round(point.help_rate * SHARES)
    others = " ".join(f"{drawn[name][share]:6.3f}" for name in RIVALS)
    span = f"{point.low:.3f} … {point.high:.3f}"
    return f"{point.help_rate:5.0%}   {point.quality:.3f}  {span}   {others}  {_bar(point.quality, drawn)}".rstrip()


def _bar(quality: float, drawn: Drawn) -> str:
    low, high = min(map(min, drawn.values())), max(map(max, drawn.values()))
    return "█" * round(WIDTH * (quality - low) / ((high - low) or 1))
