"""Numbers of all locales, as Python writes them: 1.234,50, 1 234,50, 1'234.50, 1,23,456 and \u0663\u066b\u0665."""

import re
from fractions import Fraction
from functools import cache

LATIN = "_A-Za-z\u00c0-\u024f\u0370-\u03ff"
"""Letters that a number may be a part of a name with; a Chinese one stands beside a number as a space would."""
_SPACE = "\u00a0\u2007\u2009\u202f"
_GROUPED_BY_SPACE = re.compile(
    rf"\d(?<![{LATIN}\d.,]\d)\d{{0,2}}(?:(?:[{_SPACE}]\d{{3}})+|(?: \d{{3}})+)(?![\d {_SPACE}]?\d)"
)
_GROUPED_BY_MARK = re.compile(rf"\d(?<![{LATIN}\d.,]\d)\d{{0,2}}(?:['\u2019\u066c]\d{{3}})+(?!\d)")
_CHAIN = re.compile(r"\d(?<![.,]\d)\d*(?:[.,]\d+)+")
_TEN_THOUSANDS = re.compile(rf"(?<![{LATIN}\d.])(\d{{1,12}}(?:\.\d{{1,8}})?) ?([万萬億亿])(\d{{1,4}}(?![\d.]))?")
_WORTH = {"\u4e07": 10**4, "\u842c": 10**4, "\u5104": 10**8, "\u4ebf": 10**8}
_WRITTEN = re.compile(r"\d[\d.,]*\d")
_COMMA_IS_DECIMAL = re.compile(r"(?:\d{1,3}(?:\.\d{3})+|\d+),(?:\d{1,2}|\d{4,9})|0,\d+|\d{1,3}(?:\.\d{3}){2,}")
_POINT_IS_DECIMAL = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)\.(?:\d{1,2}|\d{4,9})|0\.\d+|\d{1,3}(?:,\d{3}){2,}")
_UNCLEAR = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_MARKS = {
    0x066A: "%", 0x066B: ".", 0x060C: ", ", 0xFF0C: ", ", 0x3001: ", ", 0x3002: ". ", 0xFF0E: ".", 0xFF05: "%",
    0xFF1D: "=", 0xFF0B: "+", 0xFF0D: "-", 0xFF0A: "*", 0xFF0F: "/", 0xFF08: "(", 0xFF09: ")", 0xFF04: "$",
    0xFF1A: ": ", 0xFF1F: "? ", 0xFF5E: "~", 0xFFE5: "\u00a5",
}  # fmt: skip


_ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50, 0x0ED0,
    0x0F20, 0x1040, 0x17E0, 0x1810, 0xFF10,
)  # fmt: skip
_WIDE_COMMA = re.compile(r"(?<=\d)\uff0c(?=\d{3})")


def decimal_commas(text: str, prompt: str = "") -> tuple[bool, ...]:
    """Whether commas are decimal in `text`: one answer where it shows, in it or else in its prompt; both where not."""
    written = _separated(text)
    for shown in (written, [*_separated(prompt), *written]):
        commas = sum(_COMMA_IS_DECIMAL.fullmatch(number) is not None for number in shown)
        points = sum(_POINT_IS_DECIMAL.fullmatch(number) is not None for number in shown)
        if commas and points:
            return (commas > points, commas <= points)
        if commas or points:
            return (commas > 0,)
    return (False, True) if any(map(_UNCLEAR.fullmatch, written)) else (False,)


def _separated(text: str) -> list[str]:
    """The numbers with something between their digits."""
    return [number for number in _WRITTEN.findall(text) if "," in number or "." in number]


def plain_digits(text: str) -> str:
    """Digits of all scripts as 0 to 9, and the signs of sums as ASCII has them."""
    return text if text.isascii() else _WIDE_COMMA.sub(",", text).translate(_digits())


def plain_numbers(text: str, *, decimal_comma: bool = False) -> str:
    """The text with its numbers as 1234.5; dates, versions and lists stay as they are."""
    if not text.isascii():
        text = _TEN_THOUSANDS.sub(_multiplied, _GROUPED_BY_MARK.sub(_joined, text))
    elif "'" in text:
        text = _GROUPED_BY_MARK.sub(_joined, text)
    text = _GROUPED_BY_SPACE.sub(_joined, text)
    if "," in text or "." in text:
        return _CHAIN.sub(lambda chain: _plain(chain.group(), decimal_comma), text)
    return text


def readings(text: str) -> list[str]:
    """The text with plain numbers, in each way in which they may be meant."""
    text = plain_digits(text)
    return [plain_numbers(text, decimal_comma=commas) for commas in decimal_commas(text)]


def _plain(chain: str, decimal_comma: bool) -> str:
    """Of two kinds of separators the last is the decimal one; several of one kind group digits."""
    commas, points = chain.count(","), chain.count(".")
    if commas and points:
        return _of_both(chain, "," if chain.rfind(",") > chain.rfind(".") else ".")
    mark = "," if commas else "."
    whole, *groups = chain.split(mark)
    if _are_groups(whole, groups) and (len(groups) > 1 or (commas > 0) != decimal_comma):
        return chain.replace(mark, "")
    if len(groups) > 1 or (commas and not decimal_comma and whole != "0"):
        return chain
    return f"{whole}.{groups[0]}"


def _of_both(chain: str, decimal: str) -> str:
    whole, _, decimals = chain.rpartition(decimal)
    mark = "." if decimal == "," else ","
    first, *groups = whole.split(mark)
    return f"{first}{''.join(groups)}.{decimals}" if decimal not in whole and _are_groups(first, groups) else chain


def _are_groups(whole: str, groups: list[str]) -> bool:
    """Three digits each; in India two each but for the last. What begins with 0 has no groups behind it."""
    if not 1 <= len(whole) <= 3 or whole[0] == "0" or len(groups[-1]) != 3:
        return False
    return all(len(group) == 3 for group in groups) or (len(whole) < 3 and all(len(g) == 2 for g in groups[:-1]))


def _joined(match: re.Match[str]) -> str:
    return "".join(letter for letter in match.group() if letter.isdigit())


def _multiplied(match: re.Match[str]) -> str:
    value = Fraction(match[1]) * _WORTH[match[2]] + int(match[3] or 0)
    return str(value.numerator) if value.denominator == 1 else str(float(value))


@cache
def _digits() -> dict[int, str]:
    return {**{zero + value: str(value) for zero in _ZEROS for value in range(10)}, **_MARKS}
