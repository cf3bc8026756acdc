"""Whether there is a final answer, and whether it is said to be one."""

from fractions import Fraction

from ....signals.numbers import numbers
from ..case import Case

_MARKS = ("####", "\\boxed", 'answer":', 'answer" :')


def missing(case: Case) -> float:
    return float(case.final is None)


def unstated(case: Case) -> float | None:
    return None if not case.has_working else float(case.final is None or not case.final.stated)


def unmarked(case: Case) -> float | None:
    return None if not case.has_working else float(not any(mark in case.lowered for mark in _MARKS))


def fractional(case: Case) -> float | None:
    value = final_value(case)
    return None if value is None else float(value.denominator != 1)


def final_value(case: Case) -> Fraction | None:
    """The final answer as a number, where it is one."""
    return next(numbers(case.final.key), None) if case.final and case.final.kind == "number" else None
