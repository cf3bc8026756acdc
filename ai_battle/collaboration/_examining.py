"""Second looks at an answer, where the detector's word is not enough: what they bring counts among its signals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeGuard

from ..core.exchange import ModelRequest, ModelResponse
from ..judging.assessment import Assessment
from ._drafts import Draft
from ._helping import Found, Turn

Evidence = Mapping[str, float]


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
    verified: Sequence[Found] | None = None,
) -> Assessment:
    """The detector's judgement, with all looks that could turn what it `decides`: the others are not worth their price.

    What fails a hard check is not looked at again, and nothing is for a detector that can't take it into account.
    `verified` is what the verification has brought, where it was made before.
    """
    judged = first_judgement(detector, request, draft, verified or ())
    if judged.at_once or not _weighs(detector):
        return judged
    response, known = draft.response, _brought(draft, verified or ())
    first = (turn.helping.verification,) if turn.helping.verification and verified is None else ()
    for look in (*first, *turn.helping.looks):
        possible = (
            detector.assess_with(request, response, added(known, each)) for each in look.outcomes(request, response)
        )
        matters = len({decides(judged), *map(decides, possible)}) > 1
        if matters and (found := await look(turn, request, response)):
            await turn.emit(found.checked)
            known = added(known, found.checked.signals)
            words = Found(found.checked, judged.report, judged.fact)
            judged = _with_words(detector.assess_with(request, response, known), (words, found))
    return judged


def first_judgement(detector: Judges, request: ModelRequest, draft: Draft, found: Sequence[Found]) -> Assessment:
    """The detector's judgement with what was found already, and no further look."""
    if not _weighs(detector):
        return detector.assess_response(request, draft.response)
    return _with_words(detector.assess_with(request, draft.response, _brought(draft, found)), found)


async def verify(turn: Turn, request: ModelRequest, response: ModelResponse, says: str) -> tuple[Found, ...]:
    """What running shows of one of several answers, which `says` this; it is told with what it says."""
    found = await turn.helping.verification(turn, request, response) if turn.helping.verification else None
    if found is None:
        return ()
    await turn.emit(replace(found.checked, reason=f"{says} is {found.checked.reason}"))
    return (found,)


def _brought(draft: Draft, found: Sequence[Found]) -> Evidence:
    known: dict[str, float] = {"guard_tripped": 1.0} if draft.in_circles else {}
    for each in found:
        known = added(known, each.checked.signals)
    return known


def _with_words(judged: Assessment, found: Sequence[Found]) -> Assessment:
    """The judgement with what may be shown of how it came about."""
    report = "\n\n".join(each.report for each in found if each.report)
    return replace(judged, report=report, fact=next((each.fact for each in found if each.fact), ""))


def added(known: Evidence, more: Evidence) -> dict[str, float]:
    """Signals of several looks: those of one name add up."""
    return {**known, **{name: known.get(name, 0.0) + value for name, value in more.items()}}
