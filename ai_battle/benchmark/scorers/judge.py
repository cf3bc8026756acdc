"""`judge`: another model grades the answer from 0 to 10; without a grade the judge has failed, not the answer."""

import re
from pathlib import Path
from string import Template

from ...core.client import ModelClient
from ...core.errors import ProviderError
from ...core.exchange import ModelRequest
from ...core.messages import user
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer
from .exact import EMPTY

MOST = 10
LONGEST = 30_000
PROMPT = Path(__file__).parent / "prompts" / "judge.md"
_GRADE = re.compile(r"GRADE\W{1,8}(\d{1,2})(?:\.0)?(?:\s*/\s*10)?(?![\d.])")


class ModelJudge:
    costs = True

    def __init__(self, model: ModelClient, prompt: str) -> None:
        self._model = model
        self._prompt = Template(prompt)

    def lacks(self, task: Task) -> str:
        return ""

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        if not answer.text.strip():
            return EMPTY
        try:
            response = await self._model.complete(ModelRequest((user(self._request(task, answer)),)))
        except ProviderError as error:
            return AnswerScore(None, f"the judge did not answer: {error}", scorer_failed=True)
        grades = _GRADE.findall(response.text)
        if not grades or int(grades[-1]) > MOST:
            return AnswerScore(None, "the judge gave no grade", scorer_failed=True)
        return AnswerScore(int(grades[-1]) / MOST, response.text.strip()[:500])

    def _request(self, task: Task, answer: ScoredAnswer) -> str:
        reference = f"<reference>\n{task.reference}\n</reference>" if task.reference else ""
        said = {"question": task.prompt, "reference": reference, "answer": _harmless(answer.text[:LONGEST])}
        return self._prompt.safe_substitute(said)


def _harmless(answer: str) -> str:
    """An answer can't close the mark that it stands in."""
    return re.sub(r"</?(answer|question|reference)>", r"[\1]", answer)


def create(model: ModelClient, prompt: str = "") -> ModelJudge:
    """Returns the scorer.

    `prompt` has the places $question, $reference and $answer and ends with the line `GRADE: 7`.
    """
    return ModelJudge(model, prompt or PROMPT.read_text(encoding="utf-8"))
