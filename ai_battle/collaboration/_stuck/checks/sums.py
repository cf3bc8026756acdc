"""Whether the sums of an answer hold, and where their numbers come from."""

from ....signals.quantities import rounded, stands_among
from ..case import Case

CONSTANTS = {0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 10.0, 12.0, 24.0, 30.0, 52.0, 60.0, 100.0, 360.0, 365.0, 1000.0, 0.5, 5280.0}


def check(case: Case) -> dict[str, float]:
    if case.is_bare:
        return {}
    return {
        **wrong(case),
        "no_sums": float(not case.claims),
        "numbers_from_nowhere": min(_from_nowhere(case), 3) / 3,
    }


def wrong(case: Case) -> dict[str, float]:
    """The one that counts wherever somebody reckons."""
    return {"wrong_sums": float(any(not claim.holds for claim in case.claims))}


def _from_nowhere(case: Case) -> int:
    """Operands that neither the question nor an earlier sum gave."""
    known = rounded(case.facts) | CONSTANTS
    strange = 0
    for claim in case.claims:
        strange += sum([not stands_among(operand, known) for operand in claim.operands])
        known.update([round(number, 4) for number in (claim.value, *claim.operands)])
    return strange
