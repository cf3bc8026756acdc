"""A judge: a model that reads an answer and says in one word whether it is right."""

import re
from collections.abc import Mapping

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import AnswerChecked
from ._helping import Found, Turn
from ._seeing import Case, advising
from ._together import Quiet

MAX_TOKENS = 64
SHORT = 300
SAYS = {
    "right": ("judged_right", "it finds it right"),
    "wrong": ("judged_wrong", "it finds it wrong"),
    "unsure": ("judged_unsure", "it can't tell"),
}
_SAME = {"correct": "right", "incorrect": "wrong"}
_WORD = re.compile(
    r"(\bnot|\bnever|n['\u2019]t)?[\s*_`\"']{0,4}\b(right|correct|wrong|incorrect|unsure)\b", re.IGNORECASE
)
_LABELLED = re.compile(r"\bverdict\b[\s*_`\"':=]{1,8}(right|correct|wrong|incorrect|unsure)\b", re.IGNORECASE)
_THOUGHT = re.compile(r"^\s*<think(?:ing)?>.*?</think(?:ing)?>", re.IGNORECASE | re.DOTALL)


class Judge:
    """`client` as a judge, which reads what helpers may read; one call per answer, and about `MAX_TOKENS` written.

    It is asked only where its word would turn the detector's. Its errors, and verdicts that nobody can read, change
    nothing.
    """

    def __init__(self, client: ModelClient, max_tokens: int = MAX_TOKENS) -> None:
        self.client = Quiet(client)
        self.max_tokens = max_tokens

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Mapping[str, float], ...]:
        return {"judged_right": 1.0}, {"judged_wrong": 1.0}

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> Found | None:
        if turn.helping.sees == "prompt":
            raise ConfigError("A judge reads the attempt: helper_sees is attempt or history.", "helper_sees")
        if not turn.may_ask:
            return None
        asked = advising("judge", Case(request, response, ""), turn.helping.sees, max_tokens=self.max_tokens)
        said = await turn.consult("judge", self.client, asked, "judge")
        if said is None:
            return None
        if not (word := verdict(said.text)):
            await turn.drop(said, why := f"its verdict can't be read: {said.text[:80]!r}")
            await turn.failed(why, "judge")
            return None
        signal, words = SAYS[word]
        return Found(AnswerChecked("the judge", {signal: 1.0}, words))


def verdict(text: str) -> str:
    """right, wrong or unsure; empty for what is none of them, or several."""
    said = _THOUGHT.sub("", text, count=1).strip()
    if labelled := _LABELLED.findall(said[-SHORT:]) or _LABELLED.findall(said[:SHORT]):
        return _plain(labelled[-1])
    found = _WORD.findall(_ends(said))
    words = {_plain(word) for _, word in found}
    negated = any(denied for denied, _ in found)
    return words.pop() if len(words) == 1 and not negated else ""


def _ends(said: str) -> str:
    """A short text; of a long one its first and its last line."""
    if len(said) <= SHORT:
        return said
    lines = said.splitlines()
    return f"{lines[0][:SHORT]}\n{lines[-1][-SHORT:]}"


def _plain(word: str) -> str:
    return _SAME.get(word.lower(), word.lower())
