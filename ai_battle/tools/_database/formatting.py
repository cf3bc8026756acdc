"""SQLite's printf and format, with widths that end: its own spends seconds on one call that nothing can interrupt."""

import re
from collections.abc import Iterator
from typing import Any

PLACE = re.compile(r"%([-+ 0,#]*)(\d*)(?:\.(\d+))?l{0,2}([a-zA-Z%])?")
WIDEST = 1_000
WHOLE, REAL = "diuxXoc", "fFeEgG"


def printf(form: str | None, *values: Any) -> str | None:
    """`%d %5.2f %,d %s %x %%` and their like; raises `ValueError` for what it does not know."""
    if form is None:
        return None
    left = iter(values)
    return PLACE.sub(lambda place: _filled(place, left), str(form))


def _filled(place: re.Match[str], values: Iterator[Any]) -> str:
    flags, width, precision, kind = place.groups("")
    if not kind or max(int(f"0{width}"), int(f"0{precision}")) > WIDEST:
        raise ValueError(f"a width of more than {WIDEST}, or a form that is not known: {place[0][:20]}")
    if kind == "%":
        return "%"
    value = _argument(next(values, None), kind)
    if "," in flags:
        return format(value, f"{width},.{precision or 6}f" if kind in REAL else f"{width},d")
    return f"%{flags}{width}{precision and '.'}{precision}{kind}" % (value,)


def _argument(value: Any, kind: str) -> Any:
    if kind in WHOLE + REAL and kind != "c":
        return _number(value, kind)
    return "" if value is None else str(value)[:1] if kind == "c" else value


def _number(value: Any, kind: str) -> Any:
    try:
        return int(value or 0) if kind in WHOLE else float(value or 0)
    except (TypeError, ValueError):
        return 0
