"""Charts as inline SVG: elements whose text is escaped, and where a value or a label lies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup, escape

from ..core.texts import printable

STEPS = (1, 2, 2.5, 5, 10)
TICKS, FEW_TICKS = 5, 3
WIDE = 25
"""A range whose ends are this many times apart is drawn by powers."""
LONGEST = 30
Box = tuple[float, float, float, float]


def short(name: str) -> str:
    """The end is kept, too: there stands what settings of a grid differ by."""
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def tag(name: str, *children: str, **attributes: str | float) -> Markup:
    """An element. Attributes that are Python keywords take an underscore (`class_`), hyphens are underscores."""
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    opening = Markup("").join(Markup(' {}="{}"').format(key, printable(str(value))) for key, value in pairs)
    return Markup("<{0}{1}>{2}</{0}>").format(name, opening, join(*children))


def join(*children: str) -> Markup:
    return Markup("").join(each if isinstance(each, Markup) else escape(printable(each)) for each in children)


def figure(title: str, legend: str, width: float, height: float, *elements: Markup) -> Markup:
    caption = tag("figcaption", tag("strong", title), " ", tag("span", legend))
    picture = tag("svg", tag("title", title), *elements, viewBox=f"0 0 {width:g} {height:g}", role="img")
    return tag("figure", caption, picture)


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low..high` to the places `start..end`; by powers where `is_log`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (self._of(each) for each in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        return _powers(self.low, self.high) if self.is_log else _even(self.low, self.high)

    def _of(self, value: float) -> float:
        return log10(max(value, 1e-12)) if self.is_log else value


def fitting(values: Sequence[float], start: float, end: float, *, logs: bool = False) -> Scale:
    """A scale that holds all values with a little room; by powers, if that may be, where they are far apart."""
    low, high = min(values), max(values)
    if logs and low > 0 and high / low > WIDE:
        return Scale(low / 1.5, high * 1.5, start, end, is_log=True)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return Scale(max(0.0, low - room) if low >= 0 else low - room, high + room, start, end)


def _even(low: float, high: float) -> list[float]:
    raw = (high - low) / TICKS
    power = 10 ** floor(log10(raw)) if raw > 0 else 1.0
    step = next(power * each for each in STEPS if power * each >= raw * 0.999)
    first = ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten; with their doubles and fives where these are few."""
    powers = [10.0**power for power in range(floor(log10(low)), ceil(log10(high)) + 1)]
    inside = [power for power in powers if low <= power <= high]
    if len(inside) > FEW_TICKS:
        return inside
    return [value for power in powers for value in (power, 2 * power, 5 * power) if low <= value <= high]


def label_boxes(
    wanted: Sequence[tuple[float, float, float]], height: float, inside: Callable[[Box], bool]
) -> list[Box | None]:
    """Boxes for labels of points `(x, y, width)`, beside them where there is room; None where there is none."""
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y, _ in wanted]
    found: list[Box | None] = []
    for x, y, width in wanted:
        box = next((each for each in _around(x, y, width, height) if inside(each) and not _hits(each, taken)), None)
        found.append(box)
        taken += [box] if box else []
    return found


def _around(x: float, y: float, width: float, height: float) -> list[Box]:
    corners = [(x + 9, y + dy) for dy in (-height / 2, -height - 4, 5)] + [
        (x - width - 9, y + dy) for dy in (-height / 2, -height - 4, 5)
    ]
    corners += [(x - width / 2, y - height - 9), (x - width / 2, y + 9)]
    return [(left, top, left + width, top + height) for left, top in corners]


def _hits(box: Box, taken: Sequence[Box]) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
