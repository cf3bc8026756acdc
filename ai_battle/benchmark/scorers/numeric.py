"""`numeric`: the final answer is the number in the reference, however the two are written."""

from fractions import Fraction
from itertools import chain

from ...core.errors import ConfigError
from ...signals.final_answers import FinalAnswer, number_answers, same
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer
from ._wording import until_conversion, with_plain_quantities, without_check


class Numeric:
    """Compares numbers. `tolerance` is relative: 0.01 is one percent."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = Fraction(tolerance)

    def lacks(self, task: Task) -> str:
        if not task.reference.strip():
            return "a reference"
        is_number = all(any(number_answers(each)) for each in task.right_answers)
        return "" if is_number else f"a number as its reference, which is {task.reference[:40]!r}"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        text = with_plain_quantities(without_check(answer.text), task.prompt)
        right = [*chain.from_iterable(map(number_answers, task.right_answers))]
        found = [*number_answers(text, task.prompt), *number_answers(until_conversion(text), task.prompt)]
        if not found or not right:
            return AnswerScore(None, "no number in the answer")
        is_right = any(self._equals(each, wanted) for each in found for wanted in right)
        return AnswerScore(float(is_right), f"finds {found[0].text[:80]}")

    def _equals(self, found: FinalAnswer, right: FinalAnswer) -> bool:
        if found.amount is None or right.amount is None:
            return same(found, right)
        return found.amount.equals(right.amount, self._tolerance)


def create(tolerance: float = 0.0) -> Numeric:
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise ConfigError(f"numeric: tolerance is a share from 0 to 1, not {tolerance!r}")
    return Numeric(tolerance)
