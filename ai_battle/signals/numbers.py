"""Numbers as people and models write them: $1,200.00, 3/4, 1 1/2, 25 %, 2.5e3, \\frac{1}{2}."""

import re
from collections.abc import Iterator
from fractions import Fraction

from .locales import LATIN

_DIGITS = r"(?:\d{1,3}(?:,\d{3}){1,9}(?!\d)|\d{1,30}(?!\d))"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.)\]}}])[-\u2212\u2013])?[$\u20ac\u00a3\u00a5]?(?<![{LATIN}\d.])"
    rf"(?:(?P<whole>{_DIGITS})?(?P<decimals>\.\d{{1,30}})?(?<=\d)(?P<exponent>[eE][+-]?\d{{1,2}}(?!\w))?)"
    rf"(?:(?P<mixed> \d{{1,9}})?(?P<over>(?<=\d) ?/ ?\d{{1,30}}(?![\d.]))|(?P<thousand>[kK](?!\w)))?"
)
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?(?:\{(-?[^{}\\]{1,40})\}\s?\{([^{}\\]{1,40})\}|(\d)(\d))")
_LATEX_FILL = re.compile(r"\\[!,;: ]|\\(?=[$%#_&])|\\(?:left|right|displaystyle)\b|\^?\{?\\circ\}?")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox|operatorname)\s?\{([^{}]{0,200})\}")
_SIGNED = re.compile(r"[^\s]\s?[-+*/]|\\[a-z]")
_WORTH = 1000


def numbers(text: str) -> Iterator[Fraction]:
    """All numbers of `text`, in order; signs count where nothing that could be subtracted from stands before them."""
    for match in _NUMBER.finditer(without_latex(text)):
        if (value := _value(match)) is not None:
            yield value


def without_latex(text: str) -> str:
    """The text with fractions written with a stroke, and without the commands that only set it."""
    if "\\" not in text and "{" not in text:
        return text
    text = text.replace("{,}", ",")
    spaced = _LATEX_FILL.sub("", _LATEX_TEXT.sub(r" \1 ", text))
    return _LATEX_FRACTION.sub(lambda m: f"{_term(m[1] or m[3])}/{_term(m[2] or m[4])}", spaced)


def _term(part: str) -> str:
    """In brackets where it is more than one number or name."""
    return f"({part})" if _SIGNED.search(part) else part


def plain(value: Fraction) -> str:
    """Equal for what is the same number to people: two decimals count, or three digits below 1."""
    if value.denominator == 1:
        return str(value.numerator)
    rounded = round(value, 2) if abs(value) >= 1 else Fraction(f"{float(value):.3g}")
    return str(rounded.numerator) if rounded.denominator == 1 else str(float(rounded))


def _value(match: re.Match[str]) -> Fraction | None:
    value = _written(match)
    if match["over"]:
        below = int(match["over"].strip(" /"))
        if not below:
            return None
        value = value + Fraction(int(match["mixed"]), below) if match["mixed"] else value / below
    if match["thousand"]:
        value *= _WORTH
    return -value if match["sign"] else value


def _written(match: re.Match[str]) -> Fraction:
    """Without its sign, and what it is a part of."""
    whole = (match["whole"] or "0").replace(",", "")
    return Fraction(f"{whole}{match['decimals'] or ''}{match['exponent'] or ''}")
