"""How long an answer is, how often it says the same, and whether it just stops."""

import math

from ....signals.looping import four_word_repetition
from ....signals.truncation import cut_off
from ..case import Case


def check(case: Case) -> dict[str, float]:
    """Length is in logarithms: a second page says less than a second line."""
    return {
        "length": math.log1p(len(case.working.split())) / 5,
        "repeated_words": four_word_repetition(case.working),
        "stops_short": float(cut_off(case.text) or case.context.stop == "length"),
        "ends_openly": float(case.text.rstrip()[-1:].isalnum()),
    }
