"""Whether the final answer follows from the working."""

import re
from functools import partial
from itertools import combinations

from ....signals.quantities import is_shown, shown
from ..case import Case
from .final import final_value

NEAR = 0.005
FACTORS = (1.0, 100.0, 0.01)
MOST = 16
_EQUAL = ("=", "\u2248", "equals", "~")
_RESULT = re.compile(r"[=\u2248~s][^\d\n]{0,20}\d+(?:\.\d+)?")


def last_sum_uses_nothing(case: Case) -> float | None:
    """Of several sums the last takes up no earlier result."""
    if not case.has_working:
        return None
    if len(case.claims) < 2:
        return 0.0
    *earlier, last = case.claims
    results = [claim.value for claim in earlier]
    return float(not any(is_in(operand, results) for operand in last.operands))


def results_unused(case: Case) -> float | None:
    """The share of results that neither a later sum nor the final answer takes up."""
    if not case.has_working or len(case.claims) < 2:
        return None
    value = final_value(case)
    later = [float(value)] if value is not None else []
    idle = 0
    for claim in reversed(case.claims):
        idle += not is_in(claim.value, later)
        later += claim.operands
    return idle / len(case.claims)


def final_not_in_working(case: Case) -> float | None:
    if not case.has_working or case.is_program or (value := final_value(case)) is None:
        return None
    return float(not is_in(float(value), case.numbers if case.is_split else case.numbers[:-1]))


def final_not_last_sum(case: Case) -> float | None:
    if not case.has_working or case.is_program or (value := final_value(case)) is None:
        return None
    return float(bool(case.claims) and not near(case.claims[-1].value, float(value)))


def final_off_sums(case: Case) -> float | None:
    """The final answer is no result, no operand, no other number before it or in the prompt, and one step from none."""
    if not case.claims or (value := final_value(case)) is None:
        return None
    final, before = abs(float(value)), _up_to_result(case)
    behind = {number for number, _ in shown(case.calculation.text[len(before) :])}
    if not (case.is_split or (case.final and case.final.stated) or behind == {final}):
        return None
    unit = min((unit for number, unit in case.shown if number == final), default=1.0)
    others = {number for number, _ in shown(before)}.union(case.facts)
    others.update(number for claim in case.claims for number in (claim.value, claim.true, *claim.operands))
    written = [(final, unit)]
    leads = any(is_shown(number * factor, written) for number in others for factor in FACTORS)
    return float(not leads and not _is_one_step_from(sorted(others)[-MOST:], final, unit))


def _is_one_step_from(known: list[float], final: float, unit: float) -> bool:
    """A last sum may be left to the reader."""
    least, most = final - unit, final + unit
    return any(
        least < value < most
        for a, b in combinations(known, 2)
        for value in (a + b, b - a, a * b, b / a if a else 0.0, a / b if b else 0.0)
    )


def _up_to_result(case: Case) -> str:
    """The working up to what comes out last; all of it where the final answer stands apart."""
    text = case.calculation.text
    last = _RESULT.search(text, max(map(text.rfind, _EQUAL)))
    return text if case.is_split or not last else text[: last.end()]


def is_in(value: float, among: list[float]) -> bool:
    return value in among or any(map(partial(near, value), among))


def near(a: float, b: float) -> bool:
    """Half a percent; percentages, cents and signs are read both ways."""
    width = NEAR * max(1.0, abs(b))
    return abs(a - b) <= width or abs(a * 100.0 - b) <= width or abs(a * 0.01 - b) <= width or abs(a + b) <= width
