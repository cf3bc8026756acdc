"""Whether an answer says two things that can't both be so."""

import re

from ....signals.numbers import numbers
from ..case import Case

_FINAL = re.compile(
    r"\b(?:final|correct) answer (?:is|=|:)[ *$\"(]{0,6}([^\s.,;)*$\"]{1,40})|\bthe answer is["
    r" *$\"(]{0,6}([^\s.,;)*$\"]{1,40})",
)
_VERDICT = re.compile(r"^\W{0,4}(yes|no|true|false)\b")
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence),? (?:the answer is |it is )?(yes|no|true|false)\b", re.IGNORECASE
)
_SAME = {"yes": True, "true": True, "no": False, "false": False}


def check(case: Case) -> dict[str, float]:
    return {"contradiction": float(_two_finals(case) or _turns_round(case.lowered))}


def _two_finals(case: Case) -> bool:
    """Different values are called the answer."""
    if case.lowered.count("answer") < 2:
        return False
    said = [a or b for a, b in _FINAL.findall(case.lowered)]
    values = [next(iter(map(str, numbers(word))), word) for word in said]
    return len(set(values)) > 1 and all(len(value) <= 2 or value[:1].isdigit() for value in values)


def _turns_round(text: str) -> bool:
    """It opens with yes and concludes with no."""
    opened = _VERDICT.match(text)
    concluded = _CONCLUSION.findall(text) if opened else []
    return opened is not None and bool(concluded) and _SAME[opened[1]] != _SAME[concluded[-1]]
