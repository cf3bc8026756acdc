"""Whether the final answer follows from the working."""

from functools import partial

from ..case import Case
from .final import final_value

NEAR = 0.005


def check(case: Case) -> dict[str, float]:
    if case.is_bare:
        return {}
    claims = case.claims
    found = {
        "last_sum_uses_nothing": float(len(claims) > 1 and not _uses_earlier(case)),
        "fractional_results": float(any(abs(claim.value - round(claim.value)) > 1e-9 for claim in claims)),
    }
    if (value := final_value(case)) is not None:
        result = float(value)
        found["final_not_in_working"] = float(not is_in(result, case.numbers if case.is_split else case.numbers[:-1]))
        found["final_not_last_sum"] = float(bool(claims) and not near(claims[-1].value, result))
    return found


def _uses_earlier(case: Case) -> bool:
    *earlier, last = case.claims
    results = [claim.value for claim in earlier]
    return any(is_in(operand, results) for operand in last.operands)


def is_in(value: float, among: list[float]) -> bool:
    return value in among or any(map(partial(near, value), among))


def near(a: float, b: float) -> bool:
    """Half a percent; percentages, cents and signs are read both ways."""
    width = NEAR * max(1.0, abs(b))
    return abs(a - b) <= width or abs(a * 100.0 - b) <= width or abs(a * 0.01 - b) <= width or abs(a + b) <= width
