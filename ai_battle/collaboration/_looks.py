"""Looks at an answer beside the detector: a tool that checks it, a judge that reads it, another answer to compare."""

import re
from collections.abc import Awaitable, Callable, Mapping
from math import log

from ..core.borders import foreign_code
from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError, ToolError
from ..core.events import Emit
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import AnswerChecked
from ..judging.agreement import WORTH, Ballot, ballot
from ..judging.assessment import Context
from ._drafts import Draft
from ._examining import Evidence
from ._helping import FAILURES, Found, Turn
from ._polling import ANOTHER, COMPARED, shown
from ._seeing import Case, advising
from ._together import Quiet
from .takeover import in_its_place
from .vote import varied

Check = Callable[[str, str, Emit], Awaitable[tuple[AnswerChecked, str] | tuple[AnswerChecked, str, str] | None]]
"""From a prompt and an answer to the parts of what was `Found`."""
RUNS: tuple[Evidence, ...] = (
    {"check_fails": 1.0},
    {"check_passes": 1.0},
    {"program_fails": 1.0},
    {"program_runs": 1.0},
)
VERIFIES: tuple[Evidence, ...] = ({"refuted": 1.0}, {"verified": 1.0})

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

AGREES, DIFFERS = "opinion_agrees", "opinion_differs"
"""Signals whose value is by how much they shift the logit of failure."""


class Tested:
    """A look by a tool, which costs no tokens; `check` is given the prompt and the answer.

    It returns None where there is nothing to check, and raises `ToolError` where it can't be done.
    """

    def __init__(self, name: str, check: Check, brings: tuple[Evidence, ...] = RUNS) -> None:
        self.name = name
        self.check = check
        self.brings = brings

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Evidence, ...]:
        return self.brings

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> Found | None:
        try:
            with foreign_code(f"The check by {self.name} failed", ToolError):
                found = await self.check(Context.of(request).prompt, response.text, turn.emit)
        except FAILURES as error:
            await turn.failed(str(error), self.name)
            return None
        return Found(*found) if found else None


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


class _Comparison:
    """Compared are final answers, JSON and calls; a long free text has no second opinion."""

    name = ""

    def __init__(self, client: ModelClient) -> None:
        self.client = Quiet(client)

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Mapping[str, float], ...]:
        mine = ballot(request, response)
        return _shifts(mine) if mine else ()

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> Found | None:
        mine = ballot(request, response)
        said = await self._answer(turn, request) if mine and turn.may_ask else None
        if mine is None or said is None:
            return None
        theirs = ballot(request, said.response)
        agrees, differs = _shifts(mine)
        signals = agrees if theirs == mine else differs
        return Found(AnswerChecked(self.name, signals, f"it says {shown(theirs)}"))

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        raise NotImplementedError


def _shifts(mine: Ballot) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """The signals of another answer that agrees with this one, and of one that differs."""
    agrees, differs = WORTH[mine.kind]
    return {AGREES: log(agrees)}, {DIFFERS: -log(differs)}


class PeerOpinion(_Comparison):
    """That of `client`, best of another family, which has not seen any attempt: one call, a whole answer."""

    name = "a peer"

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        asked = in_its_place(Case(request), turn.helping.sees)
        return await turn.consult(COMPARED, self.client, asked, "peer")


class OwnOpinion(_Comparison):
    """The same model again, with a temperature above 0 and the `number`th seed: one call, a whole answer."""

    name = "another sample"

    def __init__(self, client: ModelClient, number: int) -> None:
        super().__init__(client)
        self.number = number

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        try:
            draft = await turn.draft(self.client, varied(request, self.number))
        except ProviderError as error:
            await turn.failed(str(error), self.name)
            return None
        await turn.drop(draft, ANOTHER)
        return draft
