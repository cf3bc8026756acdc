"""`contains`: the answer contains the reference, ignoring case and spacing."""

from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer
from .exact import EMPTY


class Contains:
    """With a `separator`, the answer has to contain each part of the reference."""

    def __init__(self, separator: str) -> None:
        self._separator = separator

    def lacks(self, task: Task) -> str:
        return "" if self._accepted_texts(task) else "a reference"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        if not answer.text.strip():
            return EMPTY
        plain = _plain(answer.text)
        missing = [text for text in self._accepted_texts(task) if _plain(text) not in plain]
        return AnswerScore(0.0, f"{missing[0]!r} is not in it") if missing else AnswerScore(1.0)

    def _accepted_texts(self, task: Task) -> list[str]:
        parts = task.reference.split(self._separator) if self._separator else [task.reference]
        return [part for part in parts if part.strip()]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def create(separator: str = "") -> Contains:
    return Contains(separator)
