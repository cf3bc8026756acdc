"""Whether the final answer follows from the working."""

from functools import partial

from ..case import Case
from .final import final_value

NEAR = 0.005


def last_sum_uses_nothing(case: Case) -> float | None:
    """Of several sums the last takes up no earlier result."""
    if case.is_bare:
        return None
    if len(case.claims) < 2:
        return 0.0
    *earlier, last = case.claims
    results = [claim.value for claim in earlier]
    return float(not any(is_in(operand, results) for operand in last.operands))


def final_not_in_working(case: Case) -> float | None:
    if case.is_bare or (value := final_value(case)) is None:
        return None
    return float(not is_in(float(value), case.numbers if case.is_split else case.numbers[:-1]))


def final_not_last_sum(case: Case) -> float | None:
    if case.is_bare or (value := final_value(case)) is None:
        return None
    return float(bool(case.claims) and not near(case.claims[-1].value, float(value)))


def is_in(value: float, among: list[float]) -> bool:
    return value in among or any(map(partial(near, value), among))


def near(a: float, b: float) -> bool:
    """Half a percent; percentages, cents and signs are read both ways."""
    width = NEAR * max(1.0, abs(b))
    return abs(a - b) <= width or abs(a * 100.0 - b) <= width or abs(a * 0.01 - b) <= width or abs(a + b) <= width
