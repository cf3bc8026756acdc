"""Computes where the points of a picture lie: scales, ticks, labels. The templates draw them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from .figures import whole

STEPS = (1, 2, 2.5, 5, 10)
TICKS, FEW_TICKS = 5, 3
LOG_SCALE_FACTOR = 25
"""Ranges whose ends differ by this factor use a logarithmic scale."""

TICK_DISTANCE, TICK_SHARE = 44, 0.1
"""The least distance of two labelled ticks, also as a share of the axis, as a phone shows long axes smaller."""

SIDE_PIXELS = 340
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 14, 44
Box = tuple[float, float, float, float]
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps `low..high` to the positions `start..end`, logarithmically if `is_log`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (self._on_scale(each) for each in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        return _powers(self.low, self.high) if self.is_log else _even_ticks(self.low, self.high)

    def readable_ticks(self, words: Callable[[float], str]) -> Iterator[tuple[float, str]]:
        """Yields the positions and texts of ticks that are far enough apart to be read."""
        last, apart = None, max(TICK_DISTANCE, TICK_SHARE * abs(self.end - self.start))
        for value in self.ticks():
            place = self(value)
            if last is None or abs(place - last) > apart:
                yield place, words(value)
                last = place

    def _on_scale(self, value: float) -> float:
        return log10(max(value, 1e-12)) if self.is_log else value


def fitting(values: Sequence[float], start: float, end: float, *, logs: bool = False) -> Scale:
    """Returns a scale that holds all values with some room; with `logs`, logarithmic if they are far apart."""
    low, high = min(values), max(values)
    if logs and low > 0 and high / low > LOG_SCALE_FACTOR:
        return Scale(low / 1.5, high * 1.5, start, end, is_log=True)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return Scale(max(0.0, low - room) if low >= 0 else low - room, high + room, start, end)


def _even_ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / TICKS
    power = 10 ** floor(log10(raw)) if raw > 0 else 1.0
    step = next(power * each for each in STEPS if power * each >= raw * 0.999)
    first = ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Returns powers of ten, with twice and five times each if they are few."""
    powers = [10.0**power for power in range(floor(log10(low)), ceil(log10(high)) + 1)]
    inside = [power for power in powers if low <= power <= high]
    if len(inside) > FEW_TICKS:
        return inside
    return [value for power in powers for value in (power, 2 * power, 5 * power) if low <= value <= high]


@dataclass(frozen=True, slots=True)
class Axes:
    """Two axes: shares upwards, and across any values, formatted by `shown`."""

    across: Scale
    up: Scale
    shown: Callable[[float], str] = whole

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.across(x), self.up(y)

    def line(self, points: Points) -> Points:
        return [self.at(x, y) for x, y in points]

    @property
    def below(self) -> Iterator[tuple[float, str]]:
        """The ticks of the horizontal axis with their texts."""
        return self.across.readable_ticks(self.shown)

    @property
    def beside(self) -> Iterator[tuple[float, str]]:
        """The ticks of the vertical axis with their texts."""
        return ((self.up(value), f"{100 * value:.3g} %") for value in self.up.ticks())


def shares(values: Sequence[float], start: float, end: float) -> Scale:
    """Returns a scale of shares, which never exceeds 1."""
    found = fitting(values, start, end)
    return Scale(found.low, min(1.0, found.high), start, end)


def square(qualities: Sequence[float] = ()) -> Axes:
    """Returns axes for shares both ways; the vertical one covers `qualities`."""
    up = shares(qualities, SIDE_PIXELS - BOTTOM, TOP) if qualities else Scale(0, 1, SIDE_PIXELS - BOTTOM, TOP)
    return Axes(Scale(0, 1, LEFT, SIDE_PIXELS - RIGHT), up)


def label_boxes(
    wanted: Sequence[tuple[float, float, float]], height: float, inside: Callable[[Box], bool]
) -> list[Box | None]:
    """Returns boxes for the labels of points `(x, y, width)`, next to them, or None for labels without room."""
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y, _ in wanted]
    found: list[Box | None] = []
    for x, y, width in wanted:
        box = next((each for each in _boxes(x, y, width, height) if inside(each) and not _hits(each, taken)), None)
        found.append(box)
        taken += [box] if box else []
    return found


def _boxes(x: float, y: float, width: float, height: float) -> list[Box]:
    sides = [(left, y + dy) for left in (x + 9, x - width - 9) for dy in (-height / 2, -height - 4, 5)]
    corners = [*sides, (x - width / 2, y - height - 9), (x - width / 2, y + 9)]
    return [(left, top, left + width, top + height) for left, top in corners]


def _hits(box: Box, taken: Sequence[Box]) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
