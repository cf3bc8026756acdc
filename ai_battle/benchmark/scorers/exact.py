"""`exact`: the final answer equals the reference, ignoring case, spacing and punctuation; also for lettered options."""

import re

from ...signals.final_answers import final_answer, options, same, stated_answer, words_key
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer

_SIGNS = re.compile(r"(?<=[\w)\]'\"])(?: *(!=|[<>]=?|==?)(?= *[\w(\['\"])|#(?!\w))")
_FENCED = re.compile(r"(`{3,8}|~{3,8})\w{0,20}\n(.*?)\n?\1", re.DOTALL)
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
    text = _in_fence(answer.text)
    stated = stated_answer(text)
    is_right = _key(task.reference) in (_key(text), _key(text if stated is None else stated))
    return AnswerScore(float(is_right), "" if is_right else f"says {(stated or text).strip()[:80]!r}")


def _key(text: str) -> tuple[str, list[str]]:
    """Returns the words and the signs that are not punctuation: "a > 1" differs from "a >= 1", and "C#" from "C"."""
    return words_key(text) or " ".join(text.casefold().split()).strip("'\"`"), _SIGNS.findall(text)


def _in_fence(text: str) -> str:
    """Returns the code of an answer that is one fenced block and nothing else, or the answer."""
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[2] if fenced else text


def create() -> Exact:
    return Exact()
