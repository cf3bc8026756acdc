"""`judge`: a model grades the answer from 0 to 10.

If it twice gives no grade, the scorer has failed, not the answer.
"""

import re
from pathlib import Path
from string import Template

from ...core.client import ModelClient
from ...core.errors import ConfigError, ProviderError
from ...core.exchange import ModelRequest
from ...core.messages import Message, assistant, user
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer
from .exact import EMPTY

BEST_GRADE = 10
MAX_CHARACTERS = 30_000
PROMPT = Path(__file__).parent / "prompts" / "judge.md"
REPAIR = "That has no grade. Give the same judgement once more, in one line: GRADE: a whole number from 0 to 10."
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
        question = user(self._request(task, answer))
        try:
            reply = await self._ask(question)
            if (grade := _grade(reply)) is None:
                reply = await self._ask(question, assistant(reply), user(REPAIR))
                grade = _grade(reply)
        except ProviderError as error:
            return AnswerScore(None, f"the judge did not answer: {error}", scorer_failed=True)
        if grade is None:
            return AnswerScore(None, "the judge gave no grade", scorer_failed=True)
        return AnswerScore(grade / BEST_GRADE, reply.strip()[:500])

    async def _ask(self, *messages: Message) -> str:
        return (await self._model.complete(ModelRequest(messages))).text

    def _request(self, task: Task, answer: ScoredAnswer) -> str:
        reference = f"<reference>\n{task.reference}\n</reference>" if task.reference else ""
        places = {"question": task.prompt, "reference": reference, "answer": _defuse(answer.text[:MAX_CHARACTERS])}
        return self._prompt.safe_substitute(places)


def _grade(reply: str) -> int | None:
    """Returns the last grade in the judge's reply, or None if there is none from 0 to 10."""
    grades = _GRADE.findall(reply)
    return int(grades[-1]) if grades and int(grades[-1]) <= BEST_GRADE else None


def _defuse(answer: str) -> str:
    """Defuses tags in the answer, so that it can't close the tag around it and instruct the judge."""
    return re.sub(r"</?(answer|question|reference)>", r"[\1]", answer)


def create(model: ModelClient, prompt: str = "") -> ModelJudge:
    """Returns the scorer. `prompt` has the places $question, $reference and $answer, and asks for `GRADE: 7`."""
    if prompt and "answer" not in Template(prompt).get_identifiers():
        raise ConfigError("judge: the prompt has no place $answer, so the judge would not see what it grades")
    return ModelJudge(model, prompt or PROMPT.read_text(encoding="utf-8"))
