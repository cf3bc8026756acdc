"""Judges that follow a rule: they read what any judge is sent, and answer in the form that is asked for."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.messages import assistant

_TURN = re.compile(r'<turn-(\w+) number="(\d+)" by="([^"]+)">\n(.*?)\n</turn-\1>', re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """What a judge was asked: the turns by label, whom it is to rate, by what, and what it was told to give again."""

    text: str
    turns: Mapping[str, list[str]]
    labels: list[str]
    criteria: list[str]
    complaint: str = ""

    @classmethod
    def of(cls, texts: list[str]) -> "Asked":
        turns: dict[str, list[str]] = {}
        for _, _, label, said in _TURN.findall(texts[0]):
            turns.setdefault(label, []).append(said)
        rated, _, listed = texts[0].rpartition("\nRate ")[2].partition(", in this order, by these criteria:\n\n")
        criteria = re.findall(r"^- ([^:]+):", listed, re.MULTILINE)
        return cls(texts[0], turns, rated.split(", "), criteria, "".join(texts[1:]))

    @classmethod
    def in_body(cls, body: Mapping[str, Any]) -> "Asked":
        """From the body of a request to any of the APIs."""
        contents = [message["content"] for message in body["messages"] if message["role"] == "user"]
        return cls.of([each if isinstance(each, str) else "".join(part["text"] for part in each) for each in contents])


Rule = Callable[[Asked, str, str], Mapping[str, Any]]
"""From what was asked, a label and a criterion to a score, a quotation and a reason."""


def answer(asked: Asked, rule: Rule) -> str:
    entries = [
        {"participant": label, "criterion": criterion, "reason": "It shows.", **rule(asked, label, criterion)}
        for label in asked.labels
        for criterion in asked.criteria
    ]
    return json.dumps({"scores": entries}, ensure_ascii=False)


class RuleJudge(ModelClient):
    """Answers by a rule, or with what `say` makes of what it was asked; `asked` is all of that."""

    def __init__(self, rule: Rule | None = None, say: Callable[[Asked], str] | None = None) -> None:
        self.asked: list[Asked] = []
        self.options: Mapping[str, Any] = {}
        self._say = say or (lambda asked: answer(asked, rule or plain))

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        asked = Asked.of([message.text for message in request.messages if message.role == "user"])
        self.asked.append(asked)
        self.options = request.options
        return ModelResponse(assistant(self._say(asked)), usage=Usage(100, 10, cost_usd=0.01), model="rule")


def plain(asked: Asked, label: str, criterion: str) -> Mapping[str, Any]:
    """The first words of the participant, and the middle of any scale."""
    return {"score": 5, "quotation": asked.turns[label][0]}
