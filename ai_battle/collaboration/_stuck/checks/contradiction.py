"""Whether an answer says two things that can't both be so."""

import re

from ....signals.denial import denies_itself
from ....signals.numbers import numbers
from ..case import Case

_FINAL = re.compile(
    r"\b(?:final|correct) answer (?:is|=|:)[ *$\"(]{0,6}([^\s.,;)*$\"]{1,40})|\bthe answer is["
    r" *$\"(]{0,6}([^\s.,;)*$\"]{1,40})",
)


def two_finals(case: Case) -> float:
    """Different values are called the answer."""
    if case.lowered.count("answer") < 2:
        return 0.0
    said = [a or b for a, b in _FINAL.findall(case.lowered)]
    values = [next(iter(map(str, numbers(word))), word) for word in said]
    return float(len(set(values)) > 1 and all(len(value) <= 2 or value[:1].isdigit() for value in values))


def denial(case: Case) -> float:
    return float(denies_itself(case.text, case.question))
