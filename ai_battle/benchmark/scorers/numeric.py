"""`numeric`: the final answer is the number in the reference, however the two are written."""

from fractions import Fraction

from ...core.errors import ConfigError
from ...signals.final_answers import FinalAnswer, final_answer, same
from ...signals.numbers import numbers
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer


class Numeric:
    """Compares numbers. `tolerance` is relative: 0.01 is one percent."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance

    def lacks(self, task: Task) -> str:
        if not task.reference.strip():
            return "a reference"
        return "" if _right(task) else f"a number as its reference, which is {task.reference[:40]!r}"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        found, right = final_answer(answer.text, kind="number"), _right(task)
        if found is None or right is None:
            return AnswerScore(None, "no number in the answer")
        return AnswerScore(float(same(found, right) or self._near(found, right)), f"finds {found.text[:80]}")

    def _near(self, found: FinalAnswer, right: FinalAnswer) -> bool:
        value, wanted = _value(found), _value(right)
        if not self._tolerance or value is None or wanted is None:
            return False
        return abs(value - wanted) <= Fraction(self._tolerance) * abs(wanted)


def _right(task: Task) -> FinalAnswer | None:
    return final_answer(task.reference, kind="number")


def _value(answer: FinalAnswer) -> Fraction | None:
    return next(numbers(answer.text), None)


def create(tolerance: float = 0.0) -> Numeric:
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise ConfigError(f"numeric: tolerance is a share from 0 to 1, not {tolerance!r}")
    return Numeric(tolerance)
