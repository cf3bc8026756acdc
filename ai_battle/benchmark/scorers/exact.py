"""`exact`: the final answer equals the reference, ignoring case, spacing and punctuation; also for lettered options."""

from ...signals.final_answers import FinalAnswer, final_answer, options, same, words_key
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer

EMPTY = AnswerScore(None, "the answer is empty")


class Exact:
    def lacks(self, task: Task) -> str:
        return "" if task.reference.strip() else "a reference"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        if not answer.text.strip():
            return EMPTY
        return _option_of(task, answer) if options(task.prompt) else _answer_in(task, answer)


def _option_of(task: Task, answer: ScoredAnswer) -> AnswerScore:
    right = final_answer(task.reference, task.prompt, "option")
    found = final_answer(answer.text, task.prompt, "option")
    if found is None or right is None:
        return AnswerScore(None, "the answer picks no option")
    return AnswerScore(float(same(found, right)), f"picks {found.key}, right is {right.key}")


def _answer_in(task: Task, answer: ScoredAnswer) -> AnswerScore:
    right = words_key(task.reference)
    if words_key(answer.text) == right:
        return AnswerScore(1.0)
    found = final_answer(answer.text, task.prompt, "text")
    return AnswerScore(float(found is not None and found.key == right), f"says {_excerpt(found)}")


def _excerpt(found: FinalAnswer | None) -> str:
    return repr(found.text[:80]) if found else "something else at length"


def create() -> Exact:
    return Exact()
