"""Sums that a text writes out, such as "16 eggs - 7 eggs = 9 eggs", and whether they hold."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ._sums import Token, value_of
from .numbers import without_latex

LONGEST = 20_000
MOST_CLAIMS = 200
_LONGEST_SIDE, _UNIT_LENGTH = 90, 30

_SIGNS = str.maketrans({"\u00d7": "*", "\u22c5": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-"})
_LATEX = re.compile(r"\\(?:times|cdot|div|approx)\b|\\[()\[\]*]|\\\$")
_COMMANDS = {"\\times": "*", "\\cdot": "*", "\\div": "/", "\\approx": "\u2248", "\\*": "*"}
_ENDS = re.compile(r"[.!?:;,](?=\s|$)|[\n\"|]|<<|>>|=>|->|where ")
_EQUAL = re.compile(r"=(?:==?)?|~|\u2248")
_EQUALS = re.compile(r"equals(?<=\bequals)\b")
_SIGN = re.compile(r"[-+*/^xX]|plus|minus|times|of")
_DIGIT = re.compile(r"\d")
_RESULT = re.compile(r"[\s$(\u20ac\u00a3-]*(?:approximately |about )?[$\u20ac\u00a3]?\.?\d")
_TOKEN = re.compile(
    r"[\s$\u20ac\u00a3,]*+(?:"
    r"(?P<word>[^\W\d_]{2,}+(?![\w(])(?: (?!(?:of|times|plus|minus)\b)[^\W\d_]{2,}+(?![\w(]))*+|[aA](?= [^\W\d_]))"
    r"|(?P<number>(?<![\w.])(?:\d{1,3}(?:,\d{3}){1,5}(?!\d)|\d{1,18}|(?=\.\d))(?:\.\d{1,15})?(?![\d.,]\d))"
    r"(?P<glued>[a-zA-Z_]?)"
    r"|(?P<operator>\*\*|[-+*/^]|\b[xX]\b)"
    r"|(?P<bracket>[()])"
    r"|(?P<percent>%)"
    r"|(?P<other>[^\W\d_]{1,40}\(|[\\{}\[\]_!&#@<>\u221a\u2206\u03c0]|[\d.]+|\w+))"
)
_OPERATORS = {"x": "*", "X": "*", "**": "^"}
_WORDS = {"plus": "+", "minus": "-", "times": "*", "of": "*"}
_UNITS = 3
_VALUES = ("number", "percent")
_MORE, _PERCENT = Token("other", ""), Token("percent", "%")
_SIGNED = {sign: Token("operator", sign) for sign in "-+*/^"}


@dataclass(frozen=True, slots=True)
class Claim:
    """`operands` as they stand on the left; `value` is what the text says comes out, `true` what does.

    `decimals` are those of the value as it is written; `loose` allows a factor of 100, where percent are in play.
    """

    operands: tuple[float, ...]
    value: float
    true: float
    decimals: int = 0
    loose: bool = False

    @property
    def holds(self) -> bool:
        """To the decimals that are written, or half a percent."""
        if self._is_near(self.true):
            return True
        return self.loose and (self._is_near(self.true * 100.0) or self._is_near(self.true * 0.01))

    def _is_near(self, true: float) -> bool:
        return abs(true - self.value) <= 0.5001 * 10.0**-self.decimals + abs(true) * 0.005


def claims(text: str) -> tuple[Claim, ...]:
    """The sums of numbers alone, in order; what has a letter for a number claims nothing that could be checked."""
    if not (_EQUAL.search(text) or _EQUALS.search(text)):
        return ()
    text = text.replace("divided by", "/") if "divided by" in text else text
    plain = _LATEX.sub(lambda m: _COMMANDS.get(m.group(), " "), without_latex(text[-LONGEST:])).translate(_SIGNS)
    plain = _EQUALS.sub("\u2248", plain)
    found: list[Claim] = []
    for line in _ENDS.split(plain):
        if _EQUAL.search(line):
            found.extend(_chained(line))
            if len(found) >= MOST_CLAIMS:
                break
    return tuple(found)


def _chained(line: str) -> Iterator[Claim]:
    """a = b = c is two claims."""
    for left, right in pairwise(_EQUAL.split(line)):
        near = left[-_LONGEST_SIDE:]
        if _RESULT.match(right) and _SIGN.search(near) and _DIGIT.search(near[-_UNIT_LENGTH:]):
            left_sum = _last_sum(_window_before(left))
            claim = _claim(left_sum, _first_sum(_window_after(right)), _is_loose(near, right)) if left_sum else None
            if claim:
                yield claim


def _window_before(side: str) -> Sequence[Token]:
    """The tokens at the end of a side, behind a mark that there are more."""
    if len(side) <= _LONGEST_SIDE:
        return _tokens(side)
    return (_MORE, *_tokens(side[-_LONGEST_SIDE:].partition(" ")[2]))


def _window_after(side: str) -> Sequence[Token]:
    """The tokens at the beginning of a side, and a mark where there are more."""
    if len(side) <= _LONGEST_SIDE:
        return _tokens(side)
    return (*_tokens(side[:_LONGEST_SIDE].rpartition(" ")[0]), _MORE)


def _is_loose(left: str, right: str) -> bool:
    """Percent and cents are read both ways."""
    both = f"{left}\n{right[:_LONGEST_SIDE]}"
    return "%" in both or "cent" in both


@lru_cache(maxsize=8)
def _tokens(side: str) -> tuple[Token, ...]:
    """What ends one sum often begins the next."""
    return tuple([_token(match, kind) for match in _TOKEN.finditer(side) if (kind := match.lastgroup)])


def _token(match: re.Match[str], kind: str) -> Token:
    if kind == "glued":
        return _number(match)
    written = match[kind]
    if kind == "operator":
        return _SIGNED.get(written) or _operator(match, kind, _OPERATORS)
    return _operator(match, kind, _WORDS) if written in _WORDS else Token(kind, written)


def _operator(match: re.Match[str], kind: str, signs: Mapping[str, str]) -> Token:
    """A letter x is a sign between numbers alone, and so is "of" behind a percentage."""
    written = match[kind]
    if written in ("x", "X", "of") and not _stands_between_numbers(written, match.string, match.span(kind)):
        return Token("word" if written == "of" else "other", written)
    return Token("operator", signs.get(written, written))


def _number(match: re.Match[str]) -> Token:
    written, glued = match.group("number", "glued")
    if glued and not (glued in "xX" and match.string[match.end() : match.end() + 1].isdigit()):
        return Token("other", written + glued)
    if written.isdigit():
        return Token("number", written, float(written))
    digits = written.replace(",", "")
    return Token("number", written, float(digits), len(digits.partition(".")[2]))


def _stands_between_numbers(written: str, line: str, span: tuple[int, int]) -> bool:
    start, end = span
    before = line[max(0, start - 3) : start].rstrip()[-1:]
    after = line[end : end + 4].lstrip(" $(")[:1]
    counted = before == "%" or (written != "of" and (before.isdigit() or before == ")"))
    return counted and after.isdigit()


def _claim(left: list[Token], right: list[Token], loose: bool) -> Claim | None:
    if not right or "operator" not in [token.kind for token in left[1:]]:
        return None
    claim = _stated(left, right, loose)
    if claim and left[0].text == "-" and not claim.holds:  # a dash of a list
        return _stated(left[1:], right, loose)
    return claim


def _stated(left: list[Token], right: list[Token], loose: bool) -> Claim | None:
    true, value = value_of(left), value_of(right)
    if true is None or value is None:
        return None
    operands = tuple([token.value for token in _numbers(left)])
    result, *others = _numbers(right)
    if not others:
        return Claim(operands, value, true, result.decimals + 2 * (_PERCENT in right), loose)
    # "8 * 12 = 96 + 4 = 100" goes on with its result.
    first = Claim(operands, result.value, true, result.decimals, loose)
    return first if first.holds and right[0] is result else Claim(operands, value, true, 2, loose)


def _numbers(side: Sequence[Token]) -> list[Token]:
    return [token for token in side if token.kind == "number"]


def _first_sum(side: Sequence[Token]) -> list[Token]:
    """Up to where the words begin again; nothing where it can't be told: "6 feet 2 inches", "17 remainder 2"."""
    kept: list[Token] = []
    words = 0
    for token in side:
        if token.kind == "word":
            words += token.text.count(" ") + 1
            continue
        if _begins_anew(token, kept):
            return _without_open_end(kept) if words > 1 else []
        if words and kept and kept[-1].is_open:
            break
        kept.append(token)
        words = 0
    return _without_open_end(kept)


def _begins_anew(token: Token, kept: Sequence[Token]) -> bool:
    """Whether a token can't go on with the sum before it."""
    return token.kind == "other" or (token.kind == "number" and bool(kept) and kept[-1].kind in _VALUES)


def _without_open_end(kept: list[Token]) -> list[Token]:
    while kept and kept[-1].is_open:
        kept.pop()
    return kept


def _last_sum(side: Sequence[Token]) -> list[Token]:
    """Back to where two numbers stand without a sign between them; words behind a number are its unit."""
    kept: list[Token] = []
    words = 0
    for token in reversed(side):
        if token.kind == "word":
            words += token.text.count(" ") + 1
            continue
        if _is_apart(token, kept, words):
            return _whole(kept) if words > (token.kind == "other") else []
        kept.append(token)
        words = 0
    hanging = words and kept and kept[-1].kind == "operator"
    return [] if hanging else _whole(kept)


def _is_apart(token: Token, kept: Sequence[Token], words: int) -> bool:
    """Whether a token is no part of the sum that was kept, of which so many words keep it apart."""
    if token.kind == "other" or not kept:
        return token.kind == "other"
    if words > _UNITS or (token.kind in _VALUES and kept[-1].kind == "number"):
        return True
    return words > 0 and (token.kind == "operator" or kept[-1].text == "(" or token.text == ")")


def _whole(kept: list[Token]) -> list[Token]:
    kept.reverse()
    return kept if kept and (kept[0].kind != "operator" or kept[0].text == "-") else []
