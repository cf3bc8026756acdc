"""`recorded`: the score of a recorded answer. Other answers are left to the next scorer."""

from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer


class RecordedScorer:
    def lacks(self, task: Task) -> str:
        return "" if task.recorded else "recorded answers"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        found = [each for each in task.recorded.values() if each.text == answer.text and each.correct is not None]
        if found:
            return AnswerScore(found[0].correct, "as recorded")
        return AnswerScore(None, "not one of the recorded answers", scorer_failed=True)


create = RecordedScorer
