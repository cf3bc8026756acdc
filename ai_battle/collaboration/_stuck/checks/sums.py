"""Whether the sums of an answer hold, and where their numbers come from."""

from ....signals.asked_sums import asked_values
from ....signals.quantities import is_shown, rounded, stands_among
from ..case import Case

CONSTANTS = {0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 10.0, 12.0, 24.0, 30.0, 52.0, 60.0, 100.0, 360.0, 365.0, 1000.0, 0.5, 5280.0}

FEW, SHORT = 3, 40


def wrong(case: Case) -> float:
    """A sum that is written out does not hold."""
    return float(any(not claim.holds for claim in case.claims))


def none(case: Case) -> float | None:
    return None if case.is_program or not case.has_working else float(not case.claims)


def from_nowhere(case: Case) -> float | None:
    """Operands that neither the question nor an earlier sum gave; three are as bad as more."""
    if not case.has_working:
        return None
    known = rounded(case.facts) | CONSTANTS
    strange = 0
    for claim in case.claims:
        strange += sum([not stands_among(operand, known) for operand in claim.operands])
        known.update([round(number, 4) for number in (claim.value, *claim.operands)])
    return min(strange, 3) / 3


def missed(case: Case) -> float | None:
    """The prompt asks for one sum, and no number of the answer is what comes out."""
    values = asked_values(case.prompt)
    if not values or not case.shown:
        return None
    return float(not any(is_shown(value, case.shown) for value in values))


def misread(case: Case) -> float | None:
    """It calculates with a number that nobody gave, and leaves one aside that was given, of a short question.

    Where few numbers were given, that a day has 24 hours is no reason to leave one of them aside.
    """
    if not case.claims or not case.facts or len(case.question.split()) > SHORT:
        return None
    given, used = rounded(case.facts), rounded(case.numbers)
    if all(number <= FEW or stands_among(number, used) for number in given):
        return 0.0
    known = given if len(given) <= FEW else given | CONSTANTS
    known = known | {0.0, 1.0, 2.0, 100.0}
    for claim in case.claims:
        if any(not stands_among(operand, known) for operand in claim.operands):
            return 1.0
        known.update(round(number, 4) for number in (claim.value, *claim.operands))
    return 0.0
