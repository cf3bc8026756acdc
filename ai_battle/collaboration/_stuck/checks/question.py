"""What the question asks for, as far as it tells how hard it is, and whether the answer comes back to it."""

import math
import re

from ....signals.stems import share, stems
from ..case import Case

_COMPARES = (" than ", "as many", "as much", "twice", " times")
_PERCENT = ("%", "percent")
_SENTENCE_END = re.compile(r"[.!?]\s|\n")
_LONGEST = 600
_ENDING = 250


def length(case: Case) -> float:
    return math.log1p(len(case.prompt.split())) / 5


def numbers(case: Case) -> float:
    return min(len(case.facts), 12) / 12


def compares(case: Case) -> float:
    asked = case.question.lower()
    return float(any(words in asked for words in _COMPARES))


def percent(case: Case) -> float:
    asked = case.question.lower()
    return float(any(word in asked for word in _PERCENT))


def ends_off(case: Case) -> float:
    """The share of what is asked for that the end of the working does not name."""
    end = case.question.rfind("?")
    sentence = _SENTENCE_END.split(case.question[max(0, end - _LONGEST) : max(0, end)])[-1]
    wanted = stems(sentence)
    return 1 - share(wanted, stems(case.working[-_ENDING:])) if wanted else 0.0
