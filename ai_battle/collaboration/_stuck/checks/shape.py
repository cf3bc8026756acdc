"""How long an answer is, how often it says the same, and whether it just stops."""

import math

from ....signals.truncation import stops_short as ends_within_sentence
from ..case import Case


def length(case: Case) -> float:
    """In logarithms: a second page says less than a second line."""
    return math.log1p(len(case.working.split())) / 5


def repeated_words(case: Case) -> float:
    return case.repeated_words


def stops_short(case: Case) -> float:
    return float(ends_within_sentence(case.text))


def ends_openly(case: Case) -> float:
    return float(case.text[-1:].isalnum())
