"""Checks an answer a second time: by a tool, by a judge that reads it, or by comparing it with another answer."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log
from operator import attrgetter
from typing import Protocol

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError, ToolError
from ..core.events import Emit
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import AnswerChecked
from ..core.plugins import translate_errors
from ..judging.agreement import WORTH, Ballot, ballot
from ..judging.assessment import Assessment, Context
from ..judging.detector import StuckDetector
from ..wire.dialects.thinking import without_thought
from ._prompts import HelpCase, advice_request, excerpt, request_in_place
from ._turn import FAILURES, CheckResult, Draft, Turn
from ._wrappers import MutedClient

Evidence = Mapping[str, float]
Check = Callable[[str, str, Emit], Awaitable[tuple[AnswerChecked, str] | tuple[AnswerChecked, str, str] | None]]
"""Turns a prompt and an answer into the parts of a `CheckResult`, or None if there is nothing to check."""
RUN_EVIDENCE: tuple[Evidence, ...] = (
    {"check_fails": 1.0},
    {"check_passes": 1.0},
    {"program_fails": 1.0},
    {"program_runs": 1.0},
)
VERIFIES: tuple[Evidence, ...] = ({"refuted": 1.0}, {"verified": 1.0})
COMPARING_REASON = "a second opinion to compare with"
OTHER_ANSWER_REASON = "another answer was served"
TEMPERATURE = 0.7
MAX_TOKENS = 64
EDGE_CHARACTERS = 300
VERDICT_SIGNALS = {
    "right": ("judged_right", "it finds it right"),
    "wrong": ("judged_wrong", "it finds it wrong"),
    "unsure": ("judged_unsure", "it can't tell"),
}
_SYNONYMS = {"correct": "right", "incorrect": "wrong"}
_WORD = re.compile(
    r"(\bnot|\bnever|n['\u2019]t)?[\s*_`\"']{0,4}\b(right|correct|wrong|incorrect|unsure)\b", re.IGNORECASE
)
_LABELLED = re.compile(r"\bverdict\b[\s*_`\"':=]{1,8}(right|correct|wrong|incorrect|unsure)\b", re.IGNORECASE)

AGREES, DIFFERS = "opinion_agrees", "opinion_differs"
"""Signals whose value is added to the logit of failure."""


class Judges(Protocol):
    """Decides whether an answer needs help; `max_retries` is how often a model may try before it is helped."""

    max_retries: int

    def assess_response(self, request: ModelRequest, response: ModelResponse) -> Assessment: ...


async def assess(
    detector: Judges,
    turn: Turn,
    request: ModelRequest,
    draft: Draft,
    decides: Callable[[Assessment], bool] = attrgetter("stuck"),
    verified: Sequence[CheckResult] | None = None,
) -> Assessment:
    """Returns the detector's judgement after every check that could change what it `decides`.

    Other checks are not worth their price. An answer that fails a hard check is not checked again, and nothing is
    checked if the detector can't weigh evidence. `verified` holds the results of a verification made before.
    """
    results = verified or ()
    judged = first_assessment(detector, request, draft, results)
    if judged.at_once or not isinstance(detector, StuckDetector):
        return judged
    response, known = draft.response, _evidence(draft, results)
    weigh = partial(detector.assess_with, request, response)
    for check in turn.helping.checks_in_order(verification=verified is None):
        decided, outcomes = decides(judged), check.outcomes(request, response)
        matters = any(decides(weigh(add_evidence(known, each))) != decided for each in outcomes)
        if matters and (result := await check(turn, request, response)):
            await turn.emit(result.event)
            known = add_evidence(known, result.checked.signals)
            before = CheckResult(result.checked, judged.report, judged.fact)
            judged = _with_words(weigh(known), (before, result))
    return judged


def first_assessment(
    detector: Judges, request: ModelRequest, draft: Draft, results: Sequence[CheckResult]
) -> Assessment:
    """Returns the detector's judgement of what is known already, without further checks."""
    if not isinstance(detector, StuckDetector):
        return detector.assess_response(request, draft.response)
    return _with_words(detector.assess_with(request, draft.response, _evidence(draft, results)), results)


async def verify(turn: Turn, request: ModelRequest, response: ModelResponse, says: str) -> tuple[CheckResult, ...]:
    """Verifies one of several answers by running code.

    Listeners get the result together with `says`, what the answer comes down to.
    """
    result = await turn.helping.verification(turn, request, response) if turn.helping.verification else None
    if result is None:
        return ()
    await turn.emit(replace(result.event, reason=f"{says} is {result.checked.reason}"))
    return (result,)


def _evidence(draft: Draft, results: Sequence[CheckResult]) -> Evidence:
    known: dict[str, float] = {"guard_tripped": 1.0} if draft.in_circles else {}
    for result in results:
        known = add_evidence(known, result.checked.signals)
    return known


def _with_words(judged: Assessment, results: Sequence[CheckResult]) -> Assessment:
    """Adds the checks' reports and facts to the judgement."""
    if not results:
        return judged
    report = "\n\n".join(result.report for result in results if result.report)
    return replace(judged, report=report, fact=next((result.fact for result in results if result.fact), ""))


def add_evidence(known: Evidence, more: Evidence) -> dict[str, float]:
    """Merges signals of several checks; values of the same signal add up."""
    return {**known, **{name: known.get(name, 0.0) + value for name, value in more.items()}}


class Tested:
    """A check by a tool, which costs no tokens; `check` gets the prompt and the answer.

    It returns None if there is nothing to check, and raises `ToolError` if it can't check.
    """

    def __init__(self, name: str, check: Check, brings: tuple[Evidence, ...] = RUN_EVIDENCE) -> None:
        self.name = name
        self.check = check
        self.brings = brings

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Evidence, ...]:
        return self.brings

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> CheckResult | None:
        try:
            with translate_errors(f"The check by {self.name} failed", ToolError):
                found = await self.check(Context.of(request).prompt, response.text, turn.emit)
        except FAILURES as error:
            await turn.report_failure(error, self.name)
            return None
        return CheckResult(*found) if found else None


class Judge:
    """A check by a model, which reads what helpers may read; one call per answer writes about `MAX_TOKENS`.

    It is asked only if its verdict could change the detector's decision. Its errors and unreadable verdicts change
    nothing.
    """

    def __init__(self, client: ModelClient) -> None:
        self.client = MutedClient(client)

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Evidence, ...]:
        return {"judged_right": 1.0}, {"judged_wrong": 1.0}

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> CheckResult | None:
        if turn.helping.sees == "prompt":
            raise ConfigError("A judge reads the attempt: helper_sees is attempt or history.", "helper_sees")
        if not turn.may_ask:
            return None
        question = advice_request("judge", HelpCase(request, response), turn.helping.sees, max_tokens=MAX_TOKENS)
        draft = await turn.consult("judge", self.client, question, "judge")
        if draft is None:
            return None
        if not (word := verdict(draft.text)):
            await turn.refuse(draft, f"its verdict can't be read: {draft.text[:80]!r}", "judge")
            return None
        signal, words = VERDICT_SIGNALS[word]
        return CheckResult(AnswerChecked("the judge", {signal: 1.0}, words))


def verdict(text: str) -> str:
    """Returns right, wrong or unsure; empty if the text has none of them, or several."""
    reply = without_thought(text).strip()
    if labelled := _LABELLED.findall(reply[-EDGE_CHARACTERS:]) or _LABELLED.findall(reply[:EDGE_CHARACTERS]):
        return _verdict_word(labelled[-1])
    found = _WORD.findall(_first_and_last_line(reply) if len(reply) > EDGE_CHARACTERS else reply)
    words = {_verdict_word(word) for _, word in found}
    negated = any(denied for denied, _ in found)
    return words.pop() if len(words) == 1 and not negated else ""


def _first_and_last_line(text: str) -> str:
    lines = text.splitlines()
    return f"{lines[0][:EDGE_CHARACTERS]}\n{lines[-1][-EDGE_CHARACTERS:]}"


def _verdict_word(word: str) -> str:
    return _SYNONYMS.get(word.lower(), word.lower())


class _Comparison:
    """A check that compares final answers, JSON and calls; it skips long free text, which can't be compared."""

    name = ""

    def __init__(self, client: ModelClient) -> None:
        self.client = MutedClient(client)

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Evidence, ...]:
        mine = ballot(request, response)
        return _shifts(mine) if mine else ()

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> CheckResult | None:
        mine = ballot(request, response)
        other = await self._answer(turn, request) if mine and turn.may_ask else None
        if mine is None or other is None:
            return None
        theirs = ballot(request, other.response)
        agrees, differs = _shifts(mine)
        signals = agrees if theirs == mine else differs
        return CheckResult(AnswerChecked(self.name, signals, f"it says {ballot_text(theirs)}"))

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        raise NotImplementedError


def _shifts(mine: Ballot) -> tuple[Evidence, Evidence]:
    """Returns the signals of another answer that agrees with this one, and of one that differs."""
    agrees, differs = WORTH[mine.kind]
    return {AGREES: log(agrees)}, {DIFFERS: -log(differs)}


class PeerOpinion(_Comparison):
    """Compares with a peer's answer: one call, a whole answer.

    `client` is best of another family; it has seen no attempt.
    """

    name = "a peer"

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        in_place = request_in_place(HelpCase(request), turn.helping.sees)
        return await turn.consult(COMPARING_REASON, self.client, in_place, "peer")


class OwnOpinion(_Comparison):
    """Compares with another sample of the same model: one call, a whole answer.

    The sample has a temperature above 0 and a seed of its own.
    """

    name = "another sample"

    def __init__(self, client: ModelClient, number: int) -> None:
        super().__init__(client)
        self.number = number

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        try:
            draft = await turn.request_draft(self.client, another_sample(request, self.number))
        except ProviderError as error:
            await turn.report_failure(error, self.name)
            return None
        await turn.drop(draft, OTHER_ANSWER_REASON)
        return draft


def another_sample(request: ModelRequest, number: int) -> ModelRequest:
    """Returns the request for another sample: with a temperature above 0, and the seed raised by `number`."""
    temperature = request.options.get("temperature") or TEMPERATURE
    seed = request.options.get("seed", 0) + number
    return replace(request, options={**request.options, "temperature": temperature, "seed": seed})


def ballot_text(ballot: Ballot | None) -> str:
    """Describes for people what an answer comes down to."""
    return repr(excerpt(ballot.key, 80)) if ballot else "no answer"
