"""Numbers that the question gives and the answer never uses."""

from ....signals.quantities import rounded, stands_among
from ..case import Case


def unused(case: Case) -> float | None:
    if not case.facts or not case.has_working:
        return None
    used = rounded(case.numbers)
    return min(sum(not stands_among(fact, used) for fact in case.facts), 3) / 3
