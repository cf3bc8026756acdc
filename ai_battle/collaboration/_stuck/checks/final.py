"""Whether there is a final answer, how it is given, and what kind of number it is."""

from fractions import Fraction

from ....signals.numbers import numbers
from ..case import Case

_MARKS = ("####", "\\boxed", 'answer":', 'answer" :')


def check(case: Case) -> dict[str, float]:
    final = case.final
    value = final_value(case)
    found = {
        "no_final": float(final is None),
        "final_fractional": float(value is not None and value.denominator != 1),
    }
    if case.is_bare:
        return found
    return {
        **found,
        "final_unstated": float(final is None or not final.stated),
        "final_unmarked": float(not any(mark in case.lowered for mark in _MARKS)),
    }


def final_value(case: Case) -> Fraction | None:
    """The final answer as a number, where it is one."""
    return next(numbers(case.final.key), None) if case.final and case.final.kind == "number" else None
