"""`numeric`: the final answer is the number in the reference, however the two are written."""

import re
from collections import deque
from fractions import Fraction
from itertools import chain

from ...core.errors import ConfigError
from ...signals.final_answers import FinalAnswer, number_answers, same, stated_answer
from ...signals.numbers import spelled_number
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer

_NUMBER = r"\d{1,15}(?:[.,]\d{1,15}){0,5}"
_DIGIT = re.compile(r"\d")
_DENIED_NUMBER = re.compile(
    rf"(?:[,;(]|\s[-\u2013\u2014])\s?(?:and |und )?(?:not|nicht)\s(?:\w{{1,20}}\s)?\D{{0,3}}{_NUMBER}", re.IGNORECASE
)
_UNIT = r"(?:[^\W\d_]|[\u00b0%\u20ac$\u00a3/\u00b2\u00b3. ]){1,30}?"
_CONVERTED = re.compile(
    rf"(?P<one>{_NUMBER}\s?(?P<unit>{_UNIT}))(?:,| or| oder|,? (?:which|that) is|,? (?:das|was) sind)"
    rf"(?: or| about| oder| etwa)?\s{_NUMBER}\s?(?P<into>{_UNIT})[\s.!]{{0,9}}\Z"
)
_AT_END = 120
_POWERS_OF_UNITS = re.compile(r"\b((?:[kcdm]?m|ft|in|yd|mi|feet|miles|inches)\}?)\s?\^\s?\{?[23]\}?")
_MINUS = re.compile(r"(?<![\d)\]}%\u20ac$]\s)\b(?:minus|negative) (?=[$\u20ac\u00a3]?\d)", re.IGNORECASE)
_MINUS_WORDS = re.compile(r"\b(?:minus|negative) ([a-z]{3,9}(?:[- ][a-z]{3,9})?)", re.IGNORECASE)
_BELOW_ZERO = re.compile(rf"(?<![\d-])({_NUMBER}[^\d.,;\n]{{0,12}}?) (?:below zero|unter null)\b", re.IGNORECASE)
_CENTS = re.compile(
    r"(\d{1,15}) ?(?:dollars?|euros?|pounds?|francs?|franken)(?: and| und| et|,)? (\d\d?)"
    r" ?(?:cents?|pence|ct|rappen)\b",
    re.IGNORECASE,
)
_PARTS = {"half": Fraction(1, 2), "halves": Fraction(1, 2), "dozen": Fraction(12)} | {
    f"{part}{plural}": Fraction(1, below)
    for part, below in (("third", 3), ("quarter", 4), ("fifth", 5), ("sixth", 6), ("eighth", 8), ("tenth", 10))
    for plural in ("", "s")
}
_PART = re.compile(
    rf"(?:\b(?P<whole>[\w-]{{1,20}}) and )?\b(?:(?P<count>an?|[a-z]{{3,5}})[- ])?(?P<part>{'|'.join(_PARTS)})\b",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"(?:\A|[.!?)\u3002]\s|\n|\s\()[\s*_#>(-]{0,9}(?:(?:we can|you can|i'll|let me|let's|let us|to) (?:\w{1,8} )?)?"
    r"(?:(?:double|sanity|quick)[- ])?"
    r"(?:check(?:ing)?|verif(?:y|ying|ication)|proof|gegenprobe|probe|kontrolle|\u00fcberpr\u00fcfung|v\u00e9rification|preuve"
    r"|comprobaci\u00f3n|verificaci\u00f3n|prueba|verifica|controprova|prova|verifica\u00e7\u00e3o|controle|sprawdzenie)"
    r"(?: (?:it|this|that|(?:our|my|the) \w{4,8}))?[*_ ]{0,4}[:,\uff1a\n]",
    re.IGNORECASE,
)
_EQUATION = re.compile(
    r"[=\u2248\u2713\u2714\u00d7*<>]|\b(?:is|are|gives|makes|equals|ist|sind|ergibt|est|es|son|fait)\b"
)
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence|answer|result|total|but|wait|instead|also|daher|somit|aber|donc|ainsi|mais"
    r"|luego|entonces|pero|quindi|dunque)\b[^\n]*\d",
    re.IGNORECASE,
)


class Numeric:
    """Compares numbers. `tolerance` is relative: 0.01 is one percent."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = Fraction(tolerance)

    def lacks(self, task: Task) -> str:
        if not task.reference.strip():
            return "a reference"
        is_number = all(any(number_answers(each)) for each in task.right_answers)
        return "" if is_number else f"a number as its reference, which is {task.reference[:40]!r}"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        text = with_plain_quantities(without_check(answer.text), task.prompt)
        right = [*chain.from_iterable(map(number_answers, task.right_answers))]
        found = [*number_answers(text, task.prompt), *number_answers(until_conversion(text), task.prompt)]
        if not found or not right:
            return AnswerScore(None, "no number in the answer")
        is_right = any(self._equals(each, wanted) for each in found for wanted in right)
        return AnswerScore(float(is_right), f"finds {found[0].text[:80]}")

    def _equals(self, found: FinalAnswer, right: FinalAnswer) -> bool:
        if found.amount is None or right.amount is None:
            return same(found, right)
        return found.amount.equals(right.amount, self._tolerance)


def without_check(text: str) -> str:
    """Returns the text without the check that it ends with: "x = 7. Check: 3 * 7 + 2 = 23" ends with x = 7.

    A check that leads to another number, as in "Check: 6 + 6 = 12. So it is 12", is part of the answer.
    """
    found = next(iter(deque(_CHECK.finditer(text), maxlen=1)), None)
    if not found or stated_answer(text) is not None:
        return text
    before, check = text[: found.start() + 1], text[found.end() :]
    last = next((line for line in reversed(check.splitlines()) if _DIGIT.search(line)), "")
    has_answer = _DIGIT.search(before) or spelled_number(before) is not None
    return before if has_answer and _EQUATION.search(last) and not _CONCLUSION.search(check) else text


def with_plain_quantities(text: str, prompt: str = "") -> str:
    """Returns the text with fractions, minus signs and cents as digits, and without what is no number of its own.

    These are powers of units and numbers that it denies. A part that the prompt counts, such as quarters, is none.
    """
    text = _POWERS_OF_UNITS.sub(r"\1", text)
    text = _CENTS.sub(lambda found: f"{found[1]}.{int(found[2]):02}", text)
    text = _with_parts_in_digits(text, prompt)
    text = _BELOW_ZERO.sub(r"-\1", _MINUS.sub("-", _with_minus_in_words(text)))
    rest = _DENIED_NUMBER.sub("", text)
    return rest if _DIGIT.search(rest) else text


def _with_parts_in_digits(text: str, prompt: str) -> str:
    """Returns the text with its last number as 5/2 if that is written as "two and a half" or "2 and a half"."""
    found = next(iter(deque(_PART.finditer(text), maxlen=1)), None)
    if not found or found["part"].casefold().rstrip("s") in prompt.casefold():
        return text
    whole = _whole_number(found, text)
    if not _is_only_number(found, whole, text):
        return text
    value = (whole or 0) + (_count(found) or 1) * _PARTS[found["part"].casefold()]
    start = found.start() if whole is not None or not found["whole"] else found.end("whole") + len(" and ")
    return f"{text[:start]}{value}{text[found.end() :]}"


def _is_only_number(found: re.Match[str], whole: Fraction | None, text: str) -> bool:
    """Checks whether it is the last number, the only one in digits or words, and not a part of something else."""
    is_alone = whole is None and _count(found) is None and not _stands_at_an_end(found, text)
    has_digits = _DIGIT.search(text) is not None and not (found["whole"] or "").isdigit()
    return not is_alone and not has_digits and spelled_number(text[found.end() :]) is None


def _whole_number(found: re.Match[str], text: str) -> Fraction | None:
    """Returns the number before "and a half", which may have several words: "one hundred and five and a half"."""
    word = found["whole"] or ""
    if word.isdigit():
        return Fraction(word)
    number = spelled_number(word)
    return number if number is None else spelled_number(text[: found.end("whole")]) or number


def _count(found: re.Match[str]) -> Fraction | None:
    count = (found["count"] or "").casefold()
    return Fraction(1) if count in ("a", "an") else spelled_number(count)


def _stands_at_an_end(found: re.Match[str], text: str) -> bool:
    """Checks for "half" as the whole answer, its beginning or its end; elsewhere it may be half of something."""
    is_half = found["part"].casefold() == "half" and not found["count"]
    return is_half and not (text[: found.start()].strip(" *_") and text[found.end() :].strip(" .!*_"))


def _with_minus_in_words(text: str) -> str:
    """Returns "minus seven" as -7; between two numbers it is no sign."""
    found = _MINUS_WORDS.search(text)
    if not found or _DIGIT.search(text) or spelled_number(text[: found.start()]) is not None:
        return text
    value = spelled_number(found[1])
    return text if value is None else f"{text[: found.start()]}-{value}{text[found.end() :]}"


def until_conversion(text: str) -> str:
    """Returns the text up to a quantity that it ends with in another unit as well, or "": "100 °C, or 212 °F"."""
    found = _CONVERTED.search(text, max(0, len(text) - _AT_END))
    units = {found[name].strip(" .").casefold() for name in ("unit", "into")} if found else {""}
    return text[: found.end("one")] if found and len(units - {""}) > 1 else ""


def create(tolerance: float = 0.0) -> Numeric:
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise ConfigError(f"numeric: tolerance is a share from 0 to 1, not {tolerance!r}")
    return Numeric(tolerance)
