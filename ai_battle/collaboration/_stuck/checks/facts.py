"""Numbers that the question gives and the answer never uses."""

from ....signals.quantities import rounded, stands_among
from ..case import Case


def check(case: Case) -> dict[str, float]:
    if not case.facts or case.is_bare:
        return {}
    used = rounded(case.numbers)
    unused = sum(not stands_among(fact, used) for fact in case.facts)
    return {"facts_unused": min(unused, 3) / 3}
