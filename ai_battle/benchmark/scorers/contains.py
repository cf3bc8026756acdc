"""`contains`: the answer contains the reference, ignoring case and spacing; a number only as a whole."""

import re

from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer
from .exact import EMPTY, normal_form


class Contains:
    """With a `separator`, the answer has to contain each part of the reference."""

    def __init__(self, separator: str = "") -> None:
        self._separator = separator

    def lacks(self, task: Task) -> str:
        return "" if all(map(self._parts, task.right_answers)) else "a reference"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        if not answer.text.strip():
            return EMPTY
        plain = _folded_text(answer.text)
        missing = [self._missing_part(each, plain) for each in task.right_answers]
        return AnswerScore(0.0, f"{missing[0]!r} is not in it") if all(missing) else AnswerScore(1.0)

    def _missing_part(self, accepted: str, text: str) -> str:
        return next((part for part in self._parts(accepted) if not _stands_in(_folded_text(part), text)), "")

    def _parts(self, accepted: str) -> list[str]:
        parts = accepted.split(self._separator) if self._separator else [accepted]
        return [part for part in parts if part.strip()]


def _stands_in(part: str, text: str) -> bool:
    """Checks whether a text contains a part that is not inside a longer number, as 7 is in 17 and 0.7."""
    before = r"(?<!\d)(?<!\d[.,])" if part[0].isdigit() else ""
    behind = r"(?![.,]?\d)" if part[-1].isdigit() else ""
    return re.search(f"{before}{re.escape(part)}{behind}", text) is not None


def _folded_text(text: str) -> str:
    return " ".join(normal_form(text).casefold().split())


create = Contains
