"""Whether there is a final answer, and whether it is said to be one."""

from fractions import Fraction

from ....signals.numbers import numbers
from ..case import Case


def missing(case: Case) -> float:
    return float(case.final is None)


def unstated(case: Case) -> float | None:
    return None if case.is_bare else float(case.final is None or not case.final.stated)


def final_value(case: Case) -> Fraction | None:
    """The final answer as a number, where it is one."""
    return next(numbers(case.final.key), None) if case.final and case.final.kind == "number" else None
