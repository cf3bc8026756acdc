"""How long an answer is, how often it says the same, and whether it just stops."""

import math

from ....signals.truncation import breaks_off
from ....signals.truncation import stops_short as lacks_last_stop
from ..case import Case

NO_STOP = 0.25
"""What a missing stop is worth where nothing else shows that more was to come: many right answers lack it."""


def length(case: Case) -> float:
    """In logarithms: a second page says less than a second line."""
    return math.log1p(len(case.working.split())) / 5


def repeated_words(case: Case) -> float:
    return case.repeated_words


def stops_short(case: Case) -> float:
    if not lacks_last_stop(case.text):
        return 0.0
    return 1.0 if breaks_off(case.text, case.prompt) else NO_STOP


def ends_openly(case: Case) -> float:
    return float(case.text[-1:].isalnum())
