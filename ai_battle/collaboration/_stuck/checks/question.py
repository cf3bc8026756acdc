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


def check(case: Case) -> dict[str, float]:
    asked = case.question.lower()
    return {
        "question_length": math.log1p(len(case.prompt.split())) / 5,
        "question_numbers": min(len(case.facts), 12) / 12,
        "question_compares": float(any(words in asked for words in _COMPARES)),
        "question_percent": float(any(word in asked for word in _PERCENT)),
        "ends_off_question": _off_question(case),
    }


def _off_question(case: Case) -> float:
    """The share of what is asked for that the end of the working does not name."""
    end = case.question.rfind("?")
    sentence = _SENTENCE_END.split(case.question[max(0, end - _LONGEST) : max(0, end)])[-1]
    wanted = stems(sentence)
    return 1 - share(wanted, stems(case.working[-_ENDING:])) if wanted else 0.0
