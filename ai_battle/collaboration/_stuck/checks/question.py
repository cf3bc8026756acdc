"""What the question asks for, as far as it tells how hard it is, and whether the answer comes back to it."""

import math
import re

from ....signals.words import content_stems
from ..case import Case

_COMPARES = re.compile(r"\b(?:than|as (?:many|much)|twice|times)\b", re.IGNORECASE)
_PERCENT = re.compile(r"%|\bpercent", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]\s|\n")
_LONGEST = 600
_ENDING = 250


def check(case: Case) -> dict[str, float]:
    asked = case.question
    return {
        "question_length": math.log1p(len(case.prompt.split())) / 5,
        "question_numbers": min(len(case.facts), 12) / 12,
        "question_compares": float(_COMPARES.search(asked) is not None),
        "question_percent": float(_PERCENT.search(asked) is not None),
        "ends_off_question": _off_question(case),
    }


def _off_question(case: Case) -> float:
    """The share of what is asked for that the end of the working does not name."""
    end = case.question.rfind("?")
    sentence = _SENTENCE_END.split(case.question[max(0, end - _LONGEST) : max(0, end)])[-1]
    wanted = content_stems(sentence)
    if not wanted:
        return 0.0
    return 1 - len(wanted & content_stems(case.working[-_ENDING:])) / len(wanted)
