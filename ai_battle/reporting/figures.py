"""Formats figures for people; an unknown value is never shown as 0."""

from collections.abc import Callable
from datetime import datetime

from ..core.texts import in_dollars

UNKNOWN_FIGURE = "unknown"
NO_FIGURE = "\N{EN DASH}"
TASKS = 1_000
"""The number of tasks that a price is given for: that of a single one is too small to read."""

AXES = {
    "dollars": f"dollars for {TASKS:,} tasks",
    "tokens": "tokens for a task",
    "seconds": "seconds for a task",
}
"""The measures that settings are compared by, apart from their quality."""

LONGEST_NAME = 40


def count(number: int) -> str:
    return f"{number:,}"


def compact(number: int) -> str:
    """Formats a number for a narrow place, such as 12.3k."""
    if number >= 1_000_000:
        return f"{number / 1e6:.2f}M"
    return f"{number / 1000:.1f}k" if number >= 10_000 else str(number)


def count_of(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def dollars(amount: float | None) -> str:
    return UNKNOWN_FIGURE if amount is None else in_dollars(amount)


def with_sign(value: float, words: Callable[[float], str]) -> str:
    return f"{'-' if value < 0 else '+'}{words(abs(value))}"


def cost(amount: float | None) -> str:
    """Formats a cost for the middle of a sentence, where `unknown` alone would be unclear."""
    return "cost unknown" if amount is None else dollars(amount)


def price(amount: float | None) -> str:
    """Returns the price of `TASKS` tasks, given that of one."""
    return dollars(None if amount is None else amount * TASKS)


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def clock(seconds: float) -> str:
    """Formats a duration as 1:02:03, so that a status line keeps its width while it counts."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def seconds(value: float) -> str:
    """Formats a duration, also one below a tenth of a second."""
    return duration(value) if value >= 1 else f"{value * 1e3:.3g} ms"


def effort(value: float, axis: str) -> str:
    """Formats what a task takes, in the unit of an axis."""
    if axis == "dollars":
        return f"${value * TASKS:,.4g}"
    return seconds(value) if axis == "seconds" else f"{value:,.0f}"


def axis_title(axis: str) -> str:
    return AXES[axis]


def short(name: str) -> str:
    """Shortens a name in the middle, as names of settings in a grid differ at their end."""
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


def colour(position: int) -> str:
    """Returns the CSS class that colours a participant or a setting everywhere on the page."""
    return f"c{position % 8}"


def percent(value: float | None) -> str:
    return NO_FIGURE if value is None else f"{100 * value:.1f} %"


def whole(value: float) -> str:
    return f"{100 * value:.0f} %"


def score(value: float | None) -> str:
    return NO_FIGURE if value is None else f"{value:.2f}"


def moment(iso: str) -> str:
    """Formats a journal's time as "2026-11-20 18:04:17 UTC"."""
    try:
        return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return iso
