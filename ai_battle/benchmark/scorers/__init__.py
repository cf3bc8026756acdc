"""Scorers: one file each, named as in the suite."""

from dataclasses import dataclass
from typing import Protocol

from ...core.messages import ToolCall
from ..sample import AnswerScore
from ..tasks import Task

SCORERS = __name__


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """The answer of a setting; `calls` are the tool calls in it and before it."""

    text: str
    calls: tuple[ToolCall, ...] = ()


class Scorer(Protocol):
    """Scores answers. `create(**options)` in its file creates it; a sandbox or a model is passed as an option."""

    def lacks(self, task: Task) -> str:
        """Returns what the task lacks for this scorer, or "" if it can be scored."""

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        """Scores an answer. Never raises because of the answer's content."""
