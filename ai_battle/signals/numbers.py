"""Reads numbers in any locale as exact fractions or floats, and their units."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain
from unicodedata import normalize

LATIN = "_A-Za-z\u00c0-\u024f\u0370-\u03ff"
"""Letters that make a digit part of a name ("B2"). Chinese characters don't: they may touch a number."""
_SPACE = "\u00a0\u2007\u2009\u202f"
_SPACE_GROUPS = re.compile(
    rf"\d(?<![{LATIN}\d.,]\d)\d{{0,2}}(?:(?:[{_SPACE}]\d{{3}})+|(?: \d{{3}})+)(?![\d {_SPACE}]?\d)"
)
_MARK_GROUPS = re.compile(rf"\d(?<![{LATIN}\d.,]\d)\d{{0,2}}(?:['\u2019\u066c]\d{{3}})+(?!\d)")
_CHAIN = re.compile(r"\d(?<![.,]\d)\d*(?:[.,]\d+)+")
_TEN_THOUSANDS = re.compile(rf"(?<![{LATIN}\d.])(\d{{1,12}}(?:\.\d{{1,8}})?) ?([万萬億亿])(\d{{1,4}}(?![\d.]))?")
_CJK_UNITS = {"\u4e07": 10**4, "\u842c": 10**4, "\u5104": 10**8, "\u4ebf": 10**8}
_SEPARATED_NUMBER = re.compile(r"\d[\d.,]*\d")
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
_VULGAR_FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_WIDE_COMMA = re.compile(r"(?<=\d)\uff0c(?=\d{3})")


def decimal_commas(text: str, prompt: str = "") -> tuple[bool, ...]:
    """Returns whether commas are decimal in `text`. Returns both answers if neither the text nor its prompt tells."""
    written = _separated_numbers(text)
    for known in (written, [*_separated_numbers(prompt), *written]):
        commas = sum(map(bool, map(_COMMA_IS_DECIMAL.fullmatch, known)))
        points = sum(map(bool, map(_POINT_IS_DECIMAL.fullmatch, known)))
        if commas and points:
            return (commas > points, commas <= points)
        if commas or points:
            return (commas > 0,)
    return (False, True) if any(map(_UNCLEAR.fullmatch, written)) else (False,)


def _separated_numbers(text: str) -> list[str]:
    """Returns the numbers with a comma or a point between their digits."""
    return [number for number in _SEPARATED_NUMBER.findall(text) if "," in number or "." in number]


_FIXED_SPACE = re.compile(r"(?<!\d)[\u00a0\u2009\u202f]|[\u00a0\u2009\u202f](?!\d)")


def plain_digits(text: str) -> str:
    """Converts the digits of all scripts to 0 to 9, full-width signs to ASCII, fixed spaces to usual ones.

    Spaces between digits stay, as they group them.
    """
    if text.isascii():
        return text
    return _WIDE_COMMA.sub(",", _FIXED_SPACE.sub(" ", text)).translate(_digits())


def plain_numbers(text: str, *, decimal_comma: bool = False) -> str:
    """Rewrites numbers as 1234.5. Dates, versions and lists are kept."""
    if not text.isascii():
        text = _TEN_THOUSANDS.sub(_multiply, _MARK_GROUPS.sub(_join_groups, text))
    elif "'" in text:
        text = _MARK_GROUPS.sub(_join_groups, text)
    text = _SPACE_GROUPS.sub(_join_groups, text)
    if "," in text or "." in text:
        return _CHAIN.sub(lambda chain: _plain_chain(chain.group(), decimal_comma), text)
    return text


def readings(text: str) -> list[str]:
    """Returns the text with plain numbers, once for each possible meaning of its commas."""
    text = plain_digits(text)
    return [plain_numbers(text, decimal_comma=commas) for commas in decimal_commas(text)]


def _plain_chain(chain: str, decimal_comma: bool) -> str:
    """Removes separators. With two kinds, the last one is the decimal; several of one kind group digits."""
    first, *others = sorted((mark for mark in ",." if mark in chain), key=chain.rfind)
    if others:
        return _of_both(chain, *others)
    return _of_one(chain, first, is_decimal=decimal_comma == (first == ","))


def _of_one(chain: str, mark: str, *, is_decimal: bool) -> str:
    whole, *groups = chain.split(mark)
    if _are_groups(whole, groups) and (len(groups) > 1 or not is_decimal):
        return chain.replace(mark, "")
    if len(groups) > 1 or (mark == "," and not is_decimal and whole != "0"):
        return chain
    return f"{whole}.{groups[0]}"


def _of_both(chain: str, decimal: str) -> str:
    whole, _, decimals = chain.rpartition(decimal)
    mark = "." if decimal == "," else ","
    first, *groups = whole.split(mark)
    return f"{first}{''.join(groups)}.{decimals}" if decimal not in whole and _are_groups(first, groups) else chain


def _are_groups(whole: str, groups: list[str]) -> bool:
    """Checks for groups of three digits, or of two before the last group as in India. A leading 0 has no groups."""
    if not 1 <= len(whole) <= 3 or whole[0] == "0" or len(groups[-1]) != 3:
        return False
    return all(len(group) == 3 for group in groups) or (len(whole) < 3 and all(len(g) == 2 for g in groups[:-1]))


def _join_groups(match: re.Match[str]) -> str:
    return "".join(letter for letter in match.group() if letter.isdigit())


def _multiply(match: re.Match[str]) -> str:
    value = Fraction(match[1]) * _CJK_UNITS[match[2]] + int(match[3] or 0)
    return str(value.numerator) if value.denominator == 1 else str(float(value))


@cache
def _digits() -> dict[int, str]:
    digits = {zero + value: str(value) for zero in _ZEROS for value in range(10)}
    fractions = {ord(each): f" {normalize('NFKC', each)}".replace("\u2044", "/") for each in _VULGAR_FRACTIONS}
    return {**digits, **fractions, **_MARKS}


_GROUPED = r"(?:\d{1,3}(?:,\d{3}){1,9}(?!\d)|\d{1,30}(?!\d))"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.)\]}}])[-\u2212\u2013])?[$\u20ac\u00a3\u00a5]?(?<![{LATIN}\d.])"
    rf"(?:(?P<whole>{_GROUPED})?(?P<decimals>\.\d{{1,30}})?(?<=\d)(?P<exponent>[eE][+-]?\d{{1,2}}(?!\w))?)"
    rf"(?:(?P<mixed> \d{{1,9}})?(?P<over>(?<=\d) ?/ ?\d{{1,30}}(?![\d.]))|(?P<thousand>[kK](?!\w)))?"
)
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?(?:\{(-?[^{}\\]{1,40})\}\s?\{([^{}\\]{1,40})\}|(\d)(\d))")
_LATEX_FILL = re.compile(r"\\[!,;: ]|\\(?=[$%#_&])|\\(?:left|right|displaystyle)\b|\^?\{?\\circ\}?")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox|operatorname)\s?\{([^{}]{0,200})\}")
_SIGNED = re.compile(r"[^\s]\s?[-+*/]|\\[a-z]")
_THOUSAND = 1000
_THOUSANDS = "thousand Tausend mille mil milhares tys bin тыс"
_MILLIONS = "M million millions Mio Million Millionen millones milhões milioni miljoen mln milyon млн"
_BILLIONS = "bn billion billions Mrd Milliarde Milliarden milliard milliards miliardi miljard mld milyar млрд"
_SCALES = {
    10**3: _THOUSANDS, 10**5: "lakh", 10**6: _MILLIONS, 10**7: "crore", 10**9: _BILLIONS, 10**12: "trillion"
}  # fmt: skip
SCALE_WORDS = {word: Fraction(worth) for worth, words in _SCALES.items() for word in words.split()}
_PERCENT = Fraction(1, 100)
_UNIT_WORD = re.compile(
    r" ?(?:%|per ?cent|Prozent|procent|pour cent|por ciento|por cento"
    rf"|({'|'.join(sorted(SCALE_WORDS, key=len, reverse=True))}))(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number and the `unit` that a percent sign or a word such as "million" multiplies it by."""

    value: Fraction
    unit: Fraction = Fraction(1)

    def equals(self, other: "Amount", tolerance: Fraction = Fraction(0)) -> bool:
        """Checks whether two amounts are the same. If only one has a unit, the other may have left it out."""
        pairs = [(self.value * self.unit, other.value * other.unit)]
        if 1 in (self.unit, other.unit):
            pairs.append((self.value, other.value))
        return any(plain(a) == plain(b) or abs(a - b) <= tolerance * abs(b) for a, b in pairs)


def amounts(text: str) -> Iterator[Amount]:
    """Yields the numbers of `text` with what they are counted in.

    A minus counts as a sign only if nothing before it could be subtracted from.
    """
    text = without_latex(text)
    for match in _NUMBER.finditer(text):
        if (value := _value(match)) is not None:
            counted = _UNIT_WORD.match(text, match.end())
            yield Amount(value, SCALE_WORDS.get(counted[1], _PERCENT) if counted else Fraction(1))


_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SPELLED = {word: place for place, word in enumerate(_SMALL)} | {word: 10 * tens for tens, word in enumerate(_TENS, 2)}
_MULTIPLIERS = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_WORD_OF_NUMBER = "|".join(sorted((*_SPELLED, *_MULTIPLIERS), key=len, reverse=True))
_IN_WORDS = re.compile(rf"\b(?:{_WORD_OF_NUMBER})(?:(?:-| and | )(?:{_WORD_OF_NUMBER}))*\b", re.IGNORECASE)


def spelled_number(text: str) -> Fraction | None:
    """Returns the number that `text` names last in English words; a "one" among other words may be a pronoun."""
    found = _IN_WORDS.findall(text)
    if not found or (found[-1].casefold() == "one" and text.strip(" .!*_").casefold() != "one"):
        return None
    return _value_of_words(re.split(r"-| and | ", found[-1].casefold()))


def _value_of_words(words: Iterable[str]) -> Fraction:
    whole = below = 0
    for word in words:
        if (times := _MULTIPLIERS.get(word, 0)) > _THOUSAND // 10:
            whole, below = whole + (below or 1) * times, 0
        else:
            below = (below or 1) * times if times else below + _SPELLED[word]
    return Fraction(whole + below)


def without_powers_of_ten(text: str) -> str:
    """Returns the text with 3 \u00d7 10^8 written as 3e8."""
    return _POWER_OF_TEN.sub(_exponent, text) if "10" in text else text


_POWER_OF_TEN = re.compile(
    r"(?:(?<=\d) ?(?:[\u00d7*\u00b7x]|\\times|\\cdot) ?|(?<![\w.,]))10"
    r"(?:\^\{?([-+\u2212]?\d{1,3})\}?|([\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,4}))(?![\w.])"
)


def _exponent(match: re.Match[str]) -> str:
    digits = (match[1] or normalize("NFKC", match[2])).replace("\u2212", "-")
    return f"{'' if match.group()[0] != '1' else '1'}e{digits}"


_MATH_NUMBER = re.compile(r"\$(\d[\d.,]{0,20})\$(?!\d)")


def without_latex(text: str) -> str:
    """Removes LaTeX markup and writes its fractions with a slash."""
    if text.count("$") > 1:
        text = _MATH_NUMBER.sub(r"\1", text)
    if "\\" not in text and "{" not in text:
        return text
    text = text.replace("{,}", ",")
    spaced = _LATEX_FILL.sub("", _LATEX_TEXT.sub(r" \1 ", text))
    return _LATEX_FRACTION.sub(lambda m: f"{_term(m[1] or m[3])}/{_term(m[2] or m[4])}", spaced)


def _term(part: str) -> str:
    """Returns a term, in brackets if it is more than one number or name."""
    return f"({part})" if _SIGNED.search(part) else part


def plain(value: Fraction) -> str:
    """Returns a key that is equal for numbers that people take as equal: two decimals, or three digits below 1."""
    if value.denominator == 1:
        return str(value.numerator)
    rounded_values = round(value, 2) if abs(value) >= 1 else Fraction(f"{float(value):.3g}")
    return str(rounded_values.numerator) if rounded_values.denominator == 1 else str(float(rounded_values))


def _value(match: re.Match[str]) -> Fraction | None:
    value = _fraction(match)
    if match["over"]:
        below = int(match["over"].strip(" /"))
        if not below:
            return None
        value = value + Fraction(int(match["mixed"]), below) if match["mixed"] else value / below
    if match["thousand"]:
        value *= _THOUSAND
    return -value if match["sign"] else value


def _fraction(match: re.Match[str]) -> Fraction:
    """Returns the number without its sign, its denominator and its suffix."""
    whole = (match["whole"] or "0").replace(",", "")
    return Fraction(f"{whole}{match['decimals'] or ''}{match['exponent'] or ''}")


MAX_CHARACTERS = 20_000
_PLAIN_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_SHOWN = re.compile(r"(\d+)(?:\.(\d+))?")
_LETTERS = re.compile(r"[a-z]+")
_LONGEST_NUMBER = 30
_NUMBER_WORDS = {
    "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0, "nine": 9.0,
    "ten": 10.0, "eleven": 11.0, "twelve": 12.0, "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0, "forty": 40.0,
    "fifty": 50.0, "sixty": 60.0, "hundred": 100.0, "thousand": 1000.0, "dozen": 12.0, "half": 2.0, "third": 3.0,
    "quarter": 4.0, "twice": 2.0, "double": 2.0, "triple": 3.0, "thrice": 3.0,
}  # fmt: skip
_QUOTED_CODE = re.compile(r"```[\s\S]*?(?:```|\Z)|`[^`\n]{0,400}`")


def quantities(text: str) -> Iterator[float]:
    """Yields the numbers in digits, then those in words. "25%" gives 25; "half" gives 2, as people divide by it."""
    text = text[-MAX_CHARACTERS:]
    for digits in _PLAIN_NUMBER.findall(text):
        if len(digits) <= _LONGEST_NUMBER:
            yield float(digits.replace(",", ""))
    yield from [_NUMBER_WORDS[word] for word in _LETTERS.findall(text.lower()) if word in _NUMBER_WORDS]


def displayed_numbers(text: str) -> Iterator[tuple[float, float]]:
    """Yields each number in digits with the value of one unit in its last digit."""
    for whole, decimals in _SHOWN.findall(text[-MAX_CHARACTERS:]):
        if len(whole) <= _LONGEST_NUMBER:
            yield (float(f"{whole}.{decimals}"), 10.0 ** -len(decimals)) if decimals else (float(whole), 1.0)


def is_shown(value: float, among: Iterable[tuple[float, float]]) -> bool:
    """Checks whether a number is displayed to the digits shown, rounded or truncated. Signs are ignored."""
    value = abs(value)
    return any(abs(value - number) <= max(unit * 0.9999 - 1e-9, value * 1e-9) for number, unit in among)


def without_samples(prompt: str) -> str:
    """Returns the prompt without code, which may only show the form of the answer."""
    prompt = prompt[-MAX_CHARACTERS:]
    return _QUOTED_CODE.sub(" ", prompt) if "`" in prompt else prompt


_WORTHS = (1e3, 1e6, 1e9)


def stands_among(value: float, known: set[float]) -> bool:
    """Checks whether a number is known as it is, as a percentage, as its complement to 100 or 1, or in millions."""
    if round(value, 4) in known:
        return True
    share = value / 100
    ways = (share, value * 100, 100 - value, 1 - share, 1 + share, (value - 1) * 100, (1 - value) * 100)
    # "3.5 million" gives 3.5. A smaller number than a million is not divided by it, since 0 is always known.
    scaled = chain((value * scale for scale in _WORTHS), (value / scale for scale in _WORTHS if value >= scale))
    return any(round(way, 4) in known for way in chain(ways, scaled))


def rounded_values(values: Iterable[float]) -> set[float]:
    return {round(value, 4) for value in values}


_TIME = re.compile(
    r"\b\d{1,3}(?::\d{2}(?![\d:])|\s?(?:h|hrs?|hours?|Std\.?|Stunden?|heures?|horas?|ore|uur|godz\.?|saat)\s?"
    r"(?:(?:and|und|et|y|e|en|i|ve)\s)?\d{1,2}(?:\s?[mM]in\w*\.?)?)(?!\w)"
)


def without_times(text: str) -> str:
    """Leaves out times of two numbers, such as 8:45 or 8 h 45 min, as an answer may calculate with 8.75 or 525."""
    return _TIME.sub(" ", text)
