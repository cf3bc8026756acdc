"""Finds the sums that a text writes out, such as "16 eggs - 7 eggs = 9 eggs", and checks whether they hold."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .cleaning import without_emphasis
from .numbers import SCALE_WORDS, decimal_commas, plain_digits, plain_numbers, without_latex
from .sums import CURRENCY, SumToken, tokens, value_of

MAX_CHARACTERS = 20_000
MOST_CLAIMS = 200
_LONGEST_SIDE, _UNIT_LENGTH = 90, 30

_SIGNS = str.maketrans(
    {"\u00d7": "*", "\u22c5": "*", "\u00b7": "*", "\u2219": "*", "\u2217": "*", "\u00f7": "/", "\u2215": "/"}
    | {"\u2212": "-", "\u2013": "-", "\u2243": "\u2248", "\u2245": "\u2248", "\u2250": "\u2248"}
)
_POWERS = {"\u00b2": "^2", "\u00b3": "^3"}
_POWER = re.compile(r"(?<=[\d)])[\u00b2\u00b3]")
_LATEX = re.compile(r"\\(?:times|cdot|div|approx)\b|\\[()\[\]*]|\\\$")
_COMMANDS = {"\\times": "*", "\\cdot": "*", "\\div": "/", "\\approx": "\u2248", "\\*": "*"}
_ENDS = re.compile(r"[.!?:;,](?=\s|$)|[\n\"|]|<<|>>|=>|->|where ")
_EQUAL = re.compile(r"(=(?:==?)?|~|\u2248)")
_EQUALS = re.compile(r"equals(?<=\bequals)\b")
_EXACTLY = ("=", "==", "===")
# "25% of 40 is 10" and "6 times 7 is 42" state a result; "5 times 3 is 3 more than 12" does not.
_IS_RESULT = re.compile(
    r"(?<![\d.,])(?<!remainder of )(?P<sum>\d[\d.,]* ?(?:% (?:of|von|de|di|van)|times|plus|minus|divided by)"
    rf" [{CURRENCY}]?\d[\d.,]*(?<=\d))"
    rf"(?P<unit>(?: [^\W\d_]{{2,12}}){{0,2}}) (?:is|sind|ist|est|font|es|son|sono)"
    rf"(?= (?:[^\W\d_]{{2,13}} )?[{CURRENCY}]?\d[\d.,]*+(?! ?(?:more|less|fewer|greater|times)))",
)
_PERCENT_OF = re.compile(r"% (?:von|de|di|van)\b")
_SIGN = re.compile(r"[-+*/^xX]|plus|minus|times|of")
_PART_OF = re.compile(r"\bof\b[^\d()]*\Z")
_DIGIT = re.compile(r"\d")
_RESULT = re.compile(rf"[\s{CURRENCY}(-]*(?:[^\W\d_]{{1,20}}\.?[\s{CURRENCY}-]+){{0,2}}\.?\d")
_APPROXIMATELY = re.compile(
    r"\s*(?:about|approx|around|roughly|nearly|some|etwa|ungef\u00e4hr|circa|ca\b|rund|environ|unos"
    r"|\u00e0 peu pr\u00e8s|cerca de|oko\u0142o|ongeveer|yakla\u015f\u0131k|\u043e\u043a\u043e\u043b\u043e"
    r"|\u043f\u0440\u0438\u043c\u0435\u0440\u043d\u043e|\u5927?\u7ea6|\u7d04|\u0932\u0917\u092d\u0917|\u062d\u0648\u0627\u0644\u064a)",
    re.IGNORECASE,
)
# "1.116 € : 6 =" divides; "Step 2 : 5 + 3 =" does not.
_DIVIDES = re.compile(rf"(?<=[\d{CURRENCY}\w]) ?: ?(?=[{CURRENCY}]?\d[\d.]*\s?[^\W\d_]{{0,12}}\s{{0,3}}[=\u2248~])")
_CODE_OF_CURRENCY = re.compile(r"([=\u2248*/+(-] ?)[A-Z]{2,3}\s?(?=\d)")
# "20 (from case 1) + 9" adds to 20; "36 \\equiv 3 \\pmod{11}" is not about ordinary values.
_REMARK = re.compile(r"(?<=[\d%]) \((?=[^()\n]{0,60}[^\W\d_]{3})[^()\n]{1,80}\)")
_OTHER_EQUATIONS = re.compile(r"\\equiv|\u2261|\bp?mod\b|\bbase \d")
# An equation that is asked, quoted or called wrong is not a claim.
_WRONG = (
    r"wrong|incorrect|not (?:right|correct|true)|false|mistake|falsch|nicht richtig|faux|sbagliat|errad[oa]|fout"
    r"|b\u0142\u0119dn|yanl\u0131\u015f|\u043d\u0435\u0432\u0435\u0440\u043d|\u043e\u0448\u0438\u0431|[\u9519\u932f]|\u9593\u9055"
    r"|\u0917\u0932\u0924|\u062e\u0637\u0623|[\u274c\u2717\u2718]"
)
_WRONG_HINTS = (
    *("?", "wrong", "orrect", "not ", "false", "mistake", "falsch", "nicht", "faux", "sbagliat", "errad", "fout"),
    *("b\u0142\u0119dn", "yanl\u0131\u015f", "\u043d\u0435\u0432\u0435\u0440\u043d", "\u043e\u0448\u0438\u0431"),
    *("\u9519", "\u932f", "\u9593\u9055", "\u0917\u0932\u0924", "\u062e\u0637\u0623", "\u274c", "\u2717", "\u2718"),
)
_SAID = rf"=(?=\s{{0,3}}[{CURRENCY}]?\d[\d.]{{0,20}}"
_UNCLAIMED = re.compile(rf"{_SAID}[^\n=]{{0,3}}\?)|{_SAID}[^\n=\d]{{0,25}}(?:{_WRONG}))", re.IGNORECASE)
_QUOTES = ("\u201c", "\u201d", "\u201e", "\u00ab", "\u300c", '"', "~~")
_QUOTED = re.compile(
    r"[\u201c\u201e\u00ab\u300c][^\u201c\u201d\u00bb\u300d\n]{1,80}[\u201c\u201d\u00bb\u300d]|~~[^~\n]{1,80}~~"
    r"|(?<!\w)\"[^\"\n=:]{1,60}=[^\"\n=:]{1,20}\"(?![\]}:,])"
)
_GOES_ON = re.compile(rf",(?= (?:plus|minus|times) [{CURRENCY}]?\d[^=,;?!\n]{{0,30}}=)")
# Further replacements, in order. Every match has one of the hints, and looking for these takes a tenth of the time.
_REPLACED = (
    ((" : ",), _DIVIDES, " / "),
    ((" (",), _REMARK, " "),
    ((", plus ", ", minus ", ", times "), _GOES_ON, ""),
    (_QUOTES, _QUOTED, " "),
    (_WRONG_HINTS, _UNCLAIMED, " "),
)
_MAX_UNIT_WORDS = 3
_UNIT = re.compile(r"\d ?([^\W\d_]{1,9})(?![^\W_])")
_ADDED = re.compile(r"(?<=[^\s(*/]) ?[-+]")
_RATE = re.compile(r"\d ?\w+ ?/ ?[^\W\d]")
_ADDS_MONEY = re.compile(rf"[{CURRENCY}] ?\d[\d.,]* ?[-+]|[-+] ?[{CURRENCY}]|\d ?[{CURRENCY}] ?[-+]")
_RATIOS = (
    *(3.0, 7.0, 12.0, 16.0, 24.0, 36.0, 60.0, 1_440.0, 3_600.0, 86_400.0, *(10.0**power for power in range(1, 10))),
    *(0.3048, 0.9144, 1.609344, 2.54, 0.45359237, 28.349523, 3.785412),
)
UNIT_SCALES = (*_RATIOS, *(1 / ratio for ratio in _RATIOS))
"""What a value may be multiplied by to be in another unit."""
_VALUES = ("number", "percent")
_MORE, _PERCENT = SumToken("other", ""), SumToken("percent", "%")
_OPEN, _CLOSE, _TIMES = SumToken("bracket", "("), SumToken("bracket", ")"), SumToken("operator", "*")
SHOWN, ROUNDED, EXACT = 0.9999, 0.005, 1e-9
"""How far a result may be off: one unit of its last digit, since people round or truncate; half a percent after a
rounded operand; nothing but floating-point error."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sum that a text states: its `operands` on the left, the stated `value` and the `true` one.

    `unit` is the worth of the value's last digit. `loose` allows a factor of 100 where percentages are involved.
    `inexact` marks an operand that was rounded before.
    """

    operands: tuple[float, ...]
    value: float
    true: float
    unit: float = 1.0
    loose: bool = False
    inexact: bool = False

    @property
    def holds(self) -> bool:
        """Whether the value is right; one that the digits shown can express must be exact."""
        if self.is_near(self.true):
            return True
        return self.loose and (self.is_near(self.true * 100.0) or self.is_near(self.true * 0.01))

    @property
    def is_rounded(self) -> bool:
        return abs(self.true - self.value) > EXACT * max(1.0, abs(self.true))

    def is_near(self, true: float) -> bool:
        """Checks whether the stated value is `true` to the digits shown."""
        off = abs(true - self.value)
        return off <= SHOWN * self.unit - EXACT or off <= abs(true) * (ROUNDED if self.inexact else EXACT)


@dataclass(frozen=True, slots=True)
class Calculation:
    """A text with plain numbers, and its sums in order."""

    text: str
    claims: tuple[Claim, ...] = ()


def calculation(text: str, prompt: str = "") -> Calculation:
    """Reads the numbers of a text, with commas decimal or not, in the reading in which most sums hold."""
    text = without_emphasis(without_latex(plain_digits(text)))
    ways = [plain_numbers(text, decimal_comma=commas) for commas in decimal_commas(text, prompt)]
    found = [Calculation(way, claims(way)) for way in ways]
    # "1.234" has two readings; it is no coincidence if all sums hold in one of them.
    return min(found, key=lambda each: sum(not claim.holds for claim in each.claims))


def claims(text: str) -> tuple[Claim, ...]:
    """Returns the numeric sums in order. A sum with variables can't be checked, so it claims nothing."""
    if not (_EQUAL.search(text) or _EQUALS.search(text) or "\\approx" in text or _IS_RESULT.search(text)):
        return ()
    found: list[Claim] = []
    for line in _ENDS.split(_ascii_sums(text)):
        if _EQUAL.search(line) and not _OTHER_EQUATIONS.search(line):
            found.extend(_claims_of_line(line))
            if len(found) >= MOST_CLAIMS:
                break
    return tuple(_without_corrected(_with_roundings(found)))


def _ascii_sums(text: str) -> str:
    """Rewrites sums in ASCII signs, without equations that are only asked, quoted or called wrong."""
    text = _IS_RESULT.sub(_as_equation, text[-MAX_CHARACTERS:])
    text = text.replace("divided by", "/").replace("R$", "$").replace("Rs.", "$")
    plain = _LATEX.sub(lambda m: _COMMANDS.get(m.group(), " "), text) if "\\" in text else text
    plain = _EQUALS.sub("=", plain)
    if not plain.isascii():
        plain = _POWER.sub(lambda m: _POWERS[m.group()], plain.translate(_SIGNS))
    plain, lowered = _CODE_OF_CURRENCY.sub(r"\1$", plain), plain.lower()
    for hints, pattern, written in _REPLACED:
        if any(map(lowered.count, hints)):
            plain = pattern.sub(written, plain)
    return plain


def _as_equation(match: re.Match[str]) -> str:
    return f"{_PERCENT_OF.sub('% of', match['sum'])}{match['unit']} ="


def _with_roundings(found: Sequence[Claim]) -> Iterator[Claim]:
    """Marks claims that continue with a rounded number, as they may be off by as much."""
    rounded: set[float] = set()
    for claim in found:
        inexact = not rounded.isdisjoint(claim.operands)
        claim = replace(claim, inexact=True) if inexact else claim
        if claim.is_rounded or inexact:
            rounded.add(claim.value)
        yield claim


def _without_corrected(found: Iterator[Claim]) -> list[Claim]:
    """Drops a wrong sum if the text repeats it correctly later."""
    kept = list(found)
    last = {(claim.operands, claim.true): claim for claim in kept}
    return [claim for claim in kept if claim.holds or not last[claim.operands, claim.true].holds]


def _claims_of_line(line: str) -> Iterator[Claim]:
    """Yields the claims of a line; "a = b = c" makes two."""
    parts = _EQUAL.split(line)
    for place in range(0, len(parts) - 2, 2):
        left, sign, right = parts[place : place + 3]
        near = left[-_LONGEST_SIDE:]
        claim = _claim(left, right, _is_loose(near, right)) if _may_be_sum(near, right) else None
        if not claim:
            continue
        if sign not in _EXACTLY or _APPROXIMATELY.match(right):
            claim = _approximate(claim)
        yield from [claim] if claim.holds else _in_unit_of_result(claim, near, right[:_UNIT_LENGTH])


def _in_unit_of_result(claim: Claim, left: str, right: str) -> list[Claim]:
    """Returns the claim in the unit of its result ("6 * 250 ml = 1.5 l"), or no claim if it adds different units."""
    before, behind = _UNIT.findall(left), _UNIT.findall(right)[:1]
    if _adds_units(left, before, behind) or (before and _ADDS_MONEY.search(left)):
        return []
    fitting = (scale for scale in _scales(left, before, behind) if claim.is_near(claim.true * scale))
    return [replace(claim, true=claim.true * next(fitting, 1.0))]


def _scales(left: str, before: list[str], behind: list[str]) -> Sequence[float]:
    """Returns what the result may be multiplied by: nothing is converted in "8 people * 3 slices = 24 slices"."""
    units = {*before, *behind}
    if not before or ({*before} & {*behind} and not _RATE.search(left)):
        return ()
    return UNIT_SCALES if len(units) > 1 or not units.isdisjoint(SCALE_WORDS) else ()


def _adds_units(left: str, before: list[str], behind: list[str]) -> bool:
    """Checks whether the terms of a sum have different units, or not all of them one that the result lacks."""
    terms = len(_ADDED.findall(left)) + 1
    if terms == 1 or len({*before}) > 1:
        return terms > 1
    return bool(before and _differ(before, behind)) and len(before) < terms


def _differ(before: list[str], behind: list[str]) -> bool:
    """Checks whether two sides can't be compared: "3m + 2 = 8" has a variable, "1 thousand + 200 = 1200" a scale."""
    odd = (unit in SCALE_WORDS or (len(unit) == 1 and unit not in behind) for unit in before)
    return bool({*behind} - {*before}) or any(odd)


def _may_be_sum(left: str, right: str) -> bool:
    """Excludes most equations cheaply, and fractions of something ("1/4 of all")."""
    has_both = _RESULT.match(right) and _SIGN.search(left) and _DIGIT.search(left[-_UNIT_LENGTH:])
    return bool(has_both) and not _PART_OF.search(left)


def _approximate(claim: Claim) -> Claim:
    """Returns an approximate claim, in which trailing zeros are not exact digits."""
    if claim.unit != 1.0 or not claim.value:
        return claim
    written = f"{claim.value:.0f}"
    return replace(claim, unit=10.0 ** (len(written) - len(written.rstrip("0"))))


def _window_before(side: str) -> Sequence[SumToken]:
    """Returns the last tokens of a side, after a mark if there are more."""
    if len(side) <= _LONGEST_SIDE:
        return tokens(side)
    return (_MORE, *tokens(side[-_LONGEST_SIDE:].partition(" ")[2]))


def _window_after(side: str) -> Sequence[SumToken]:
    """Returns the first tokens of a side, before a mark if there are more."""
    if len(side) <= _LONGEST_SIDE:
        return tokens(side)
    return (*tokens(side[:_LONGEST_SIDE].rpartition(" ")[0]), _MORE)


def _is_loose(left: str, right: str) -> bool:
    """Checks for percentages and cents, which may be read in either scale."""
    both = f"{left}\n{right[:_LONGEST_SIDE]}"
    return "%" in both or "cent" in both


def _claim(before: str, behind: str, loose: bool) -> Claim | None:
    """Returns the claim that the sum before an equals sign has the value after it."""
    left = _last_sum(_window_before(before))
    if "operator" not in [token.kind for token in left[1:]]:
        return None
    right = _first_sum(_window_after(behind))
    claim = _claim_of_sides(left, right, loose)
    if claim and left[0].text == "-" and not claim.holds:  # a dash of a list
        return _claim_of_sides(left[1:], right, loose)
    return claim


def _claim_of_sides(left: list[SumToken], right: list[SumToken], loose: bool) -> Claim | None:
    value = value_of(right)
    true = None if value is None else _nearest_value(left, value)
    if true is None or value is None:
        return None
    operands = tuple([token.value for token in _numbers(left)])
    result, *others = _numbers(right)
    if not others:
        return Claim(operands, value, true, 10.0 ** -(result.decimals + 2 * (_PERCENT in right)), loose)
    # "8 * 12 = 96 + 4 = 100" goes on with its result.
    first = Claim(operands, result.value, true, 10.0**-result.decimals, loose)
    return first if first.holds and right[0] is result else Claim(operands, value, true, 0.01, loose)


def _nearest_value(side: list[SumToken], stated: float) -> float | None:
    """Returns the value of a sum, of two readings of its percentages the one that is nearer to the stated value."""
    value = value_of(side)
    other = value_of(_with_shares_of_left(side)) if value is not None and _PERCENT in side else None
    return value if value is None or other is None else min(value, other, key=lambda each: abs(each - stated))


def _with_shares_of_left(side: Sequence[SumToken]) -> list[SumToken]:
    """Reads "80 - 25%" as pocket calculators do: a share of what stands before it is taken off."""
    kept: list[SumToken] = []
    for token in side:
        kept.append(token)
        if token == _PERCENT and len(kept) > 3 and kept[-3].text in ("+", "-"):
            kept = [_OPEN, *kept[:-3], _CLOSE, _TIMES, _OPEN, SumToken("number", "1", 1.0), *kept[-3:], _CLOSE]
    return kept


def _numbers(side: Sequence[SumToken]) -> list[SumToken]:
    return [token for token in side if token.kind == "number"]


def _first_sum(side: Sequence[SumToken]) -> list[SumToken]:
    """Returns the tokens up to the next words, or up to another sum with this result ("= 48 and 48 + 3").

    Returns nothing if the value is ambiguous: "6 feet 2 inches", "17 remainder 2".
    """
    kept: list[SumToken] = []
    words = 0
    for token in side:
        if token.kind == "word":
            words += token.text.count(" ") + 1
            continue
        if _encloses(token, kept, ")"):
            break
        if _starts_another(token, kept):
            return _without_open_end(kept) if words > 1 or [token] == kept else []
        if _breaks_off(kept, words):
            break
        kept.append(token)
        words = 0
    return _without_open_end(kept)


def _encloses(token: SumToken, kept: Sequence[SumToken], bracket: str) -> bool:
    """Checks whether a token is this bracket and has no counterpart in the sum, so that it is around the sum itself."""
    brackets = [each.text for each in kept if each.kind == "bracket"]
    return token.text == bracket and brackets.count("(") == brackets.count(")")


def _breaks_off(kept: Sequence[SumToken], words: int) -> bool:
    """Checks whether words follow an operator, which has no operand then."""
    return words > 0 and bool(kept) and kept[-1].is_open


def _starts_another(token: SumToken, kept: Sequence[SumToken]) -> bool:
    """Checks whether a token can't continue the sum."""
    return token.kind == "other" or (token.kind == "number" and bool(kept) and kept[-1].kind in _VALUES)


def _without_open_end(kept: list[SumToken]) -> list[SumToken]:
    while kept and kept[-1].is_open:
        kept.pop()
    return kept


def _last_sum(side: Sequence[SumToken]) -> list[SumToken]:
    """Returns the tokens back to two adjacent numbers without an operator. Words after a number are its unit."""
    kept: list[SumToken] = []
    words = 0
    for token in reversed(side):
        if token.kind == "word":
            words += token.text.count(" ") + 1
            continue
        if _encloses(token, kept, "("):
            break
        if _is_apart(token, kept, words):
            return _whole_expression(kept) if words > (token.kind == "other") else []
        kept.append(token)
        words = 0
    hanging = words and kept and kept[-1].kind == "operator"
    return [] if hanging else _whole_expression(kept)


def _is_apart(token: SumToken, kept: Sequence[SumToken], words: int) -> bool:
    """Checks whether a token is not part of the sum in `kept`, given the number of words between them."""
    if token.kind == "other" or not kept:
        return token.kind == "other"
    if words > _MAX_UNIT_WORDS or (token.kind in _VALUES and kept[-1].kind == "number"):
        return True
    return words > 0 and (token.kind == "operator" or kept[-1].text == "(" or token.text == ")")


def _whole_expression(kept: list[SumToken]) -> list[SumToken]:
    kept.reverse()
    return kept if kept and (kept[0].kind != "operator" or kept[0].text == "-") else []
