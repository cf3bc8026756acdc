"""Whether an option is picked, and whether the working leads to it."""

import math
import re
from collections.abc import Mapping

from ...signals.quantities import quantities
from ..case import Case

_NOT_LISTED = re.compile(
    r"\bnot (?:listed|among|in the options|one of|given)\b|\bclosest\b|\bnone of the (?:options|choices|answers)\b"
    r"|\bdoes(?:n't| not) match any\b|\bno (?:correct|matching) option\b",
)
_ARTICLE = 4
_DIGIT, _DIGITS = re.compile(r"\d"), re.compile(r"\d(?:[\d.,]*\d)?")
_FORMULA = re.compile(r"[=+*/^_]")
FEW, _SHORT, NEAR = 2, 25, 0.01
_FACTORS = (1.0, 100.0, 0.01, 1000.0, 0.001)


def check(case: Case) -> dict[str, float]:
    options = case.options
    picked = case.final.key if case.final else ""
    before = _before_answer(case.lowered)
    stem = case.prompt.partition("(A)")[0]
    return {
        "no_pick": float(picked not in options),
        "not_listed": float(_NOT_LISTED.search(before) is not None),
        "stem_length": math.log1p(len(stem.split())) / 5,
        "question_formulas": math.log1p(len(_FORMULA.findall(case.prompt))),
        "result_no_option": float(_result_is_no_option(case)),
        **(_about(picked, options, before) if picked in options else {}),
    }


def _about(picked: str, options: Mapping[str, str], before: str) -> dict[str, float]:
    text = options[picked]
    longest = float(len(text) == max(map(len, options.values())))
    if not _is_number(text):
        return {"pick_is_longest": longest}
    said = [*quantities(before)][-1:]
    missing = [digits for digits in _DIGITS.findall(text) if digits not in before]
    return {
        "pick_is_longest": longest,
        "pick_is_extreme": _is_extreme(text, options),
        "pick_number_absent": float(bool(missing)),
        "pick_not_last_number": float(not any(_near(said[0], value) for value in quantities(text)) if said else True),
    }


def _is_extreme(text: str, options: Mapping[str, str]) -> float:
    """It is the smallest or the largest of the numbers: these are made around the right one."""
    first = [next(quantities(other), 0.0) for other in options.values() if _is_number(other)]
    value = next(quantities(text), 0.0)
    return float(len(first) > FEW and value in (min(first), max(first)))


def _result_is_no_option(case: Case) -> bool:
    """The last sum gives a number, and all options are numbers, but none is this one."""
    if not case.claims or not all(map(_is_number, case.options.values())):
        return False
    result = case.claims[-1].value
    offered = [value for text in case.options.values() for value in quantities(text)]
    return not any(_near(result * factor, value) for value in offered for factor in _FACTORS)


def _near(result: float, value: float) -> bool:
    return abs(result - value) <= NEAR * max(abs(value), 1e-6)


def _before_answer(text: str) -> str:
    """What stands before the last announcement of an answer."""
    last = text.rfind("answer")
    return text[: max(0, last - _ARTICLE)] if last >= 0 else text


def _is_number(option: str) -> bool:
    return len(option) < _SHORT and _DIGIT.search(option) is not None
