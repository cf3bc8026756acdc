"""Second looks at an answer, where the detector's word is not enough: what they bring counts among its signals."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Protocol, TypeGuard

from ..core.borders import foreign_code
from ..core.errors import ToolError
from ..core.events import Emit
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import AnswerChecked
from ._drafts import Draft
from ._helping import FAILURES, Found, Turn
from ._stuck.assessment import Assessment, Context

Evidence = Mapping[str, float]
Check = Callable[[str, str, Emit], Awaitable[tuple[AnswerChecked, str] | None]]
"""From a prompt and an answer to what was found, and what the model may be shown of that."""


class Judges(Protocol):
    """What decides whether an answer needs help; `max_retries` is how often a model may try before it is helped."""

    max_retries: int

    def assess_response(self, request: ModelRequest, response: ModelResponse) -> Assessment: ...


class Weighs(Protocol):
    """A detector that takes what others say of an answer into account."""

    def assess_with(self, request: ModelRequest, response: ModelResponse, evidence: Evidence) -> Assessment: ...


def _weighs(detector: Judges) -> TypeGuard[Weighs]:
    return hasattr(detector, "assess_with")


def _is_stuck(judged: Assessment) -> bool:
    return judged.stuck


async def examined(
    detector: Judges,
    turn: Turn,
    request: ModelRequest,
    draft: Draft,
    decides: Callable[[Assessment], bool] = _is_stuck,
) -> Assessment:
    """The detector's judgement, with all looks that could turn what it `decides`: the others are not worth their price.

    What fails a hard check is not looked at again, and nothing is for a detector that can't take it into account.
    """
    response = draft.response
    if not _weighs(detector):
        return detector.assess_response(request, response)
    known: Evidence = {"guard_tripped": 1.0} if draft.in_circles else {}
    judged = detector.assess_with(request, response, known)
    if judged.at_once:
        return judged
    for look in turn.helping.looks:
        possible = (
            detector.assess_with(request, response, added(known, each)) for each in look.outcomes(request, response)
        )
        matters = len({decides(judged), *map(decides, possible)}) > 1
        if matters and (found := await look(turn, request, response)):
            await turn.emit(found.checked)
            known = added(known, found.checked.signals)
            report = "\n\n".join(filter(None, (judged.report, found.report)))
            judged = replace(detector.assess_with(request, response, known), report=report)
    return judged


def added(known: Evidence, more: Evidence) -> dict[str, float]:
    """Signals of several looks: those of one name add up."""
    return {**known, **{name: known.get(name, 0.0) + value for name, value in more.items()}}


class Tested:
    """A look by a tool, which costs no tokens; `check` is given the prompt and the answer.

    It returns None where there is nothing to check, and raises `ToolError` where it can't be done.
    """

    def __init__(self, name: str, check: Check) -> None:
        self.name = name
        self.check = check

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Evidence, ...]:
        return {"check_fails": 1.0}, {"check_passes": 1.0}, {"program_fails": 1.0}, {"program_runs": 1.0}

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> Found | None:
        try:
            with foreign_code(f"The check by {self.name} failed", ToolError):
                found = await self.check(Context.of(request).prompt, response.text, turn.emit)
        except FAILURES as error:
            await turn.failed(str(error), self.name)
            return None
        return Found(*found) if found else None
