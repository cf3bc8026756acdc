"""Checks the working of an answer: whether it computes, whether its sums hold, and whether its result follows."""

import math
import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from operator import itemgetter

from ..signals.arithmetic import Claim
from ..signals.comparisons import orders_wrongly
from ..signals.final_answers import final_answer
from ..signals.languages import closed_words, language_of, plain_words
from ..signals.numbers import (
    amounts,
    displayed_numbers,
    is_shown,
    plain,
    quantities,
    rounded_values,
    stands_among,
)
from ..signals.sums import asked_values
from .case import Case

_NOT_LISTED = re.compile(
    r"\bnot (?:listed|among|in the options|one of|given)\b|\bclosest\b|\bnone of the (?:options|choices|answers)\b"
    r"|\bdoes(?:n't| not) match any\b|\bno (?:correct|matching) option\b",
)
_ARTICLE_CHARACTERS = 4
_DIGIT, _DIGITS = re.compile(r"\d"), re.compile(r"\d(?:[\d.,]*\d)?")
_FORMULA = re.compile(r"[=+*/^_]")
FEW_NUMBERS, _SHORT, NEAR_OPTION = 2, 25, 0.01
UNIT_FACTORS = (1.0, 100.0, 0.01, 1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9)
TIME_FACTORS = (60.0, 1 / 60.0, 3600.0, 1 / 3600.0, 24.0, 1 / 24.0, 7.0, 1 / 7.0)
"""What a number may be multiplied by to be the same in percent or cents, and in another unit."""


def choice_measures(case: Case) -> dict[str, float]:
    options = case.options
    picked = case.final.key if case.final else ""
    before = _before_answer(case.lower_text)
    stem = case.prompt.partition("(A)")[0]
    return {
        "no_pick": float(picked not in options),
        "not_listed": float(_NOT_LISTED.search(before) is not None),
        "stem_length": math.log1p(len(stem.split())) / 5,
        "question_formulas": math.log1p(len(_FORMULA.findall(case.prompt))),
        "result_no_option": float(_result_is_no_option(case)),
        **(_option_figures(picked, options, before) if picked in options else {}),
    }


def _option_figures(picked: str, options: Mapping[str, str], before: str) -> dict[str, float]:
    text = options[picked]
    longest = float(len(text) == max(map(len, options.values())))
    if not _is_number(text):
        return {"pick_is_longest": longest}
    last = [*quantities(before)][-1:]
    missing = [digits for digits in _DIGITS.findall(text) if digits not in before]
    return {
        "pick_is_longest": longest,
        "pick_is_extreme": _is_extreme(text, options),
        "pick_number_absent": float(bool(missing)),
        "pick_not_last_number": float(
            not any(_is_near_option(last[0], value) for value in quantities(text)) if last else True
        ),
    }


def _is_extreme(text: str, options: Mapping[str, str]) -> float:
    """Returns 1 for the smallest or largest number. Wrong options are made around the right one."""
    first = [next(quantities(other), 0.0) for other in options.values() if _is_number(other)]
    value = next(quantities(text), 0.0)
    return float(len(first) > FEW_NUMBERS and value in (min(first), max(first)))


def _result_is_no_option(case: Case) -> bool:
    """Checks whether the last sum gives a number that is none of the all-numeric options."""
    if not case.claims or not all(map(_is_number, case.options.values())):
        return False
    result = case.claims[-1].value
    offered = [value for text in case.options.values() for value in quantities(text)]
    return not any(_is_near_option(result * factor, value) for value in offered for factor in UNIT_FACTORS)


def _is_near_option(result: float, value: float) -> bool:
    return abs(result - value) <= NEAR_OPTION * max(abs(value), 1e-6)


def _before_answer(text: str) -> str:
    """Returns the text before the last announcement of an answer."""
    last = text.rfind("answer")
    return text[: max(0, last - _ARTICLE_CHARACTERS)] if last >= 0 else text


def _is_number(option: str) -> bool:
    return len(option) < _SHORT and _DIGIT.search(option) is not None


# Numbers that a solution may bring in without being given them: percent, days, hours, degrees, feet in a mile.
CONSTANTS = {0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 10.0, 12.0, 24.0, 30.0, 52.0, 60.0, 100.0, 360.0, 365.0, 1000.0, 0.5, 5280.0}
FEW, SHORT = 3, 40
NEAR, ROUNDING, SHOWN, CENT = 0.005, 1e-9, 0.9999, 0.01
# All pairs of known numbers are combined, so their number is bounded.
MAX_NUMBERS = 16
_COMPARES = (" than ", "as many", "as much", "twice", " times")
_MARKS = ("####", "\\boxed", 'answer":', 'answer" :')
_EQUAL = ("=", "\u2248", "equals", "~")
_RESULT = re.compile(r"[=\u2248~s][^\d\n]{0,20}\d+(?:\.\d+)?")


def question_length(case: Case) -> float:
    """Returns the log of the length of the question."""
    return math.log1p(len(case.prompt.split())) / 5


def question_compares(case: Case) -> float:
    lowered = case.question.lower()
    return float(any(words in lowered for words in _COMPARES))


def question_percent(case: Case) -> float:
    return float("%" in case.question or "percent" in case.question.lower())


def wrong_sums(case: Case) -> float:
    """Returns 1 if a written sum does not hold."""
    return float(any(not claim.holds for claim in case.claims))


def orders_numbers_wrongly(case: Case) -> float:
    return float(orders_wrongly(case.text, case.prompt))


def no_sums(case: Case) -> float | None:
    return None if case.is_program or not case.has_working else float(not case.claims)


def equations(case: Case) -> float | None:
    """Returns the log of the number of equations: answers that compute more are right more often."""
    return math.log1p(case.working.count("=")) if case.has_working else None


def arguments(case: Case) -> float | None:
    """Returns the log of the number of words such as "but", "if" and "because", which replace calculation."""
    if not case.has_working:
        return None
    words = closed_words(language_of(case.working) or "en", "clause", "contrast")[0]
    return math.log1p(sum(word in words for word in plain_words(case.working)))


def number_misread(case: Case) -> float | None:
    """Returns 1 if a short question's number is unused while the answer computes with an unknown one.

    With few given numbers, even constants (24 hours a day) don't excuse leaving one out. A number that the answer
    states outside of its sums was worked out in words.
    """
    if not case.claims or not case.facts or len(case.question.split()) > SHORT:
        return None
    given, used = rounded_values(case.facts), rounded_values(case.numbers)
    if all(number <= FEW or stands_among(number, used) for number in given):
        return 0.0
    return float(any(_unknown_operands(case, _known_numbers(case, given), sorted(given)[-MAX_NUMBERS:])))


def _known_numbers(case: Case, given: set[float]) -> set[float]:
    """Returns the numbers that need no explanation: of the question, of everyday life, or worked out in words."""
    asked = rounded_values(float(each.value) for each in amounts(case.question))
    tenth = {10.0} if question_percent(case) else set[float]()  # people often compute a tenth first
    constants = CONSTANTS if len(given) > FEW else frozenset[float]()
    return given | {0.0, 1.0, 2.0, 100.0} | asked | tenth | constants | _numbers_outside_sums(case)


def _numbers_outside_sums(case: Case) -> set[float]:
    """Returns the numbers that the answer has more often than its sums."""
    in_sums = (number for claim in case.claims for number in (*claim.operands, claim.value))
    return {*(Counter(round(number, 4) for number in case.numbers) - Counter(round(abs(n), 4) for n in in_sums))}


def _unknown_operands(case: Case, known: set[float], given: list[float]) -> Iterator[bool]:
    """Yields for each operand whether it is neither known, nor in an earlier sum, nor a step of mental arithmetic."""
    for claim in case.claims:
        yield from [not stands_among(each, known) and not _is_worked_out(each, given) for each in claim.operands]
        known.update([round(number, 4) for number in (claim.value, *claim.operands)])


def _is_worked_out(number: float, given: list[float]) -> bool:
    """Checks whether a number is a step from two given ones, or one as a percentage or in another unit of time."""
    if any(abs(number * factor - each) <= NEAR * each for factor, each in product(TIME_FACTORS, given)):
        return True
    return any(_is_one_step_from(given, number * scale, CENT * scale) for scale in (1.0, 100.0))


def asked_sum_missed(case: Case) -> float | None:
    """Returns 1 if the prompt asks for one sum and no number of the answer is its value, nor a final fraction."""
    values = asked_values(case.prompt)
    if not values or not case.displayed_numbers:
        return None
    final = final_answer(case.text, case.prompt, "number")
    exact = [(float(final.amount.value), 0.0)] if final and final.amount else []
    return float(not any(is_shown(value, [*case.displayed_numbers, *exact]) for value in values))


def facts_unused(case: Case) -> float | None:
    """Returns the share of the question's numbers that the answer never uses; three count as all."""
    if not case.facts or not case.has_working:
        return None
    return _share_missing(case, rounded_values(case.numbers))


def facts_not_reached(case: Case) -> float | None:
    """Returns the share of the question's numbers on which the final sum does not rest."""
    if not case.facts or not case.claims:
        return None
    claims = _claims_to_final(case)
    wanted, reached = {round(claims[-1].value, 4)}, set()
    for claim in reversed(claims):
        if round(claim.value, 4) in wanted:
            operands = rounded_values(claim.operands)
            wanted |= operands
            reached |= operands
    return _share_missing(case, reached)


def _claims_to_final(case: Case) -> Sequence[Claim]:
    """Returns the sums up to the last one that gives the final answer, or all of them."""
    value = final_value(case)
    if value is None:
        return case.claims
    ends = [end for end, claim in enumerate(case.claims, 1) if _is_near(claim.value, float(value))]
    return case.claims[: ends[-1]] if ends else case.claims


def _share_missing(case: Case, among: set[float]) -> float:
    return min(sum(not stands_among(fact, among) for fact in case.facts), FEW) / FEW


def results_unused(case: Case) -> float | None:
    """Returns the share of results that neither a later sum nor the final answer uses."""
    if not case.has_working or len(case.claims) < 2:
        return None
    value = final_value(case)
    later = [abs(float(value))] if value is not None else []
    idle = 0
    for claim in reversed(case.claims):
        idle += not _is_in(claim.value, later)
        for operand in claim.operands:
            insort(later, abs(operand))
    return idle / len(case.claims)


def final_missing(case: Case) -> float:
    return float(case.final is None)


def final_unmarked(case: Case) -> float | None:
    return None if not case.has_working else float(not any(mark in case.lower_text for mark in _MARKS))


def final_fractional(case: Case) -> float | None:
    value = final_value(case)
    return None if value is None else float(value.denominator != 1)


def final_value(case: Case) -> Fraction | None:
    """Returns the final answer as a number, or None."""
    if case.final is None or case.final.kind != "number":
        return None
    return next((each.value for each in amounts(case.final.key)), None)


def final_not_in_working(case: Case) -> float | None:
    if not case.has_working or case.is_program or (value := final_value(case)) is None:
        return None
    before = case.numbers if case.is_split else case.numbers[:-1]
    return float(not _is_in(float(value), sorted(map(abs, before))))


def final_off_sums(case: Case) -> float | None:
    """Returns 1 if the final answer is not a number of the working or the prompt, nor one step from any."""
    final = _final_number(case) if case.claims else None
    if final is None:
        return None
    behind = list(displayed_numbers(case.calculation.text[_end_of_result(case) :]))
    if not _is_named(case, final, behind):
        return None
    before = case.displayed_numbers[: len(case.displayed_numbers) - len(behind)]
    unit = min((unit for number, unit in case.displayed_numbers if number == final), default=1.0)
    others = {*map(itemgetter(0), before), *case.facts}
    others = others.union(*((claim.value, claim.true, *claim.operands) for claim in case.claims))
    within = max(unit * SHOWN, _rounding_unit(final) / 2)
    is_known = any(abs(abs(n * factor) - final) <= within for n, factor in product(others, UNIT_FACTORS))
    return float(not is_known and not _is_one_step_from(sorted(others)[-MAX_NUMBERS:], final, unit))


def _final_number(case: Case) -> float | None:
    """Returns the absolute value of the final answer with all digits shown."""
    value = final_value(case)
    if value is None:
        return None
    shown = (number for number, _ in reversed(case.displayed_numbers) if plain(Fraction(number)) == plain(abs(value)))
    return next(shown, abs(float(value)))


def _rounding_unit(final: float) -> float:
    """Returns the unit to which a number may have been rounded: hundreds for 15600, 0 without a trailing zero."""
    written = f"{final:.0f}"
    zeros = len(written) - len(written.rstrip("0"))
    return 10.0**zeros if zeros and final == float(written) else 0.0


def _is_named(case: Case, final: float, behind: Sequence[tuple[float, float]]) -> bool:
    """Checks whether the number is stated as the answer, or is the only one after the last result."""
    stated = case.final is not None and case.final.stated
    return case.is_split or stated or set(map(itemgetter(0), behind)) == {final}


def _is_one_step_from(known: list[float], final: float, unit: float) -> bool:
    """Checks whether the number is one operation away: a last sum may be left to the reader."""
    least, most = final - unit + ROUNDING, final + unit - ROUNDING
    return any(
        least < value < most
        for a, b in combinations(known, 2)
        for value in (a + b, b - a, a * b, b / a if a else 0.0, a / b if b else 0.0)
    )


def _end_of_result(case: Case) -> int:
    """Returns the end of the last result in the working, or of all if the final answer is separate."""
    text = case.calculation.text
    last = _RESULT.search(text, max(map(text.rfind, _EQUAL)))
    return len(text) if case.is_split or not last else last.end()


def _is_in(value: float, ordered: list[float]) -> bool:
    """Checks whether a sorted list has a number near this one, ignoring signs."""
    ways = (abs(value) * factor for factor in UNIT_FACTORS)
    places = ((bisect_left(ordered, way - NEAR * max(1.0, way)), way) for way in ways)
    return any(place < len(ordered) and _is_near(way, ordered[place]) for place, way in places)


def _is_near(a: float, b: float) -> bool:
    """Checks whether two numbers differ by half a percent at most; percentages, cents and signs are read both ways."""
    width = NEAR * max(1.0, abs(b))
    return abs(a - b) <= width or abs(a * 100.0 - b) <= width or abs(a * 0.01 - b) <= width or abs(a + b) <= width
