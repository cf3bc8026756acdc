"""Scorers: one file each; the name in the suite is the name of the file."""

from dataclasses import dataclass
from typing import Protocol

from ...core.messages import ToolCall
from ..sample import AnswerScore
from ..tasks import Task

SCORERS = __name__


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """Holds what a setting answered; `calls` are the tool calls of the answer and on the way to it."""

    text: str
    calls: tuple[ToolCall, ...] = ()


class Scorer(Protocol):
    """Made by `create(**options)` of its file; what it calls (a sandbox, a model) is given to it as an option."""

    def lacks(self, task: Task) -> str:
        """Says what a task has not and this scorer needs; empty where it can be scored."""

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        """Scores an answer; never raises for what the answer says."""
