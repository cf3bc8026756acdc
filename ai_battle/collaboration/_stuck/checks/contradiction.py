"""Whether an answer says two things that can't both be so."""

import re

from ....signals.numbers import numbers
from ..case import Case

_FINAL = re.compile(
    r"\b(?:final|correct) answer (?:is|=|:)[ *$\"(]{0,6}([^\s.,;)*$\"]{1,40})|\bthe answer is["
    r" *$\"(]{0,6}([^\s.,;)*$\"]{1,40})",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"^\W{0,4}(yes|no|true|false)\b", re.IGNORECASE)
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence),? (?:the answer is |it is )?(yes|no|true|false)\b", re.IGNORECASE
)
_SAME = {"yes": True, "true": True, "no": False, "false": False}


def check(case: Case) -> dict[str, float]:
    return {"contradiction": float(_two_finals(case) or _turns_round(case.text))}


def _two_finals(case: Case) -> bool:
    """Different values are called the answer."""
    said = [(a or b).casefold() for a, b in _FINAL.findall(case.text)]
    values = [next(iter(map(str, numbers(word))), word) for word in said]
    return len(set(values)) > 1 and all(len(value) <= 2 or value[:1].isdigit() for value in values)


def _turns_round(text: str) -> bool:
    """It opens with yes and concludes with no."""
    opened, concluded = _VERDICT.match(text), _CONCLUSION.findall(text)
    if not opened or not concluded:
        return False
    return _SAME[opened[1].lower()] != _SAME[concluded[-1].lower()]
