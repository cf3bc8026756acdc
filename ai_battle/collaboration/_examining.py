"""Second looks at an answer, where the detector's word is not enough: what they bring counts among its signals."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

from ..core.exchange import ModelRequest, ModelResponse
from ._helping import Look, Turn
from ._stuck.assessment import Assessment

Evidence = Mapping[str, float]


class Judges(Protocol):
    """What decides whether an answer needs help; `max_retries` is how often a model may try before it is helped."""

    max_retries: int

    def assess_response(self, request: ModelRequest, response: ModelResponse) -> Assessment: ...


@runtime_checkable
class Weighs(Protocol):
    """A detector that takes what others say of an answer into account."""

    def assess_with(self, request: ModelRequest, response: ModelResponse, evidence: Evidence) -> Assessment: ...


def _is_stuck(judged: Assessment) -> bool:
    return judged.stuck


async def examined(
    detector: Judges,
    turn: Turn,
    request: ModelRequest,
    response: ModelResponse,
    decides: Callable[[Assessment], bool] = _is_stuck,
) -> Assessment:
    """The detector's judgement, with all looks that could turn what it `decides`: the others are not worth their price.

    What fails a hard check is not looked at again, and nothing is for a detector that can't take it into account.
    """
    judged = detector.assess_response(request, response)
    if judged.at_once or not isinstance(detector, Weighs):
        return judged
    known: dict[str, float] = {}
    for look in turn.helping.looks:
        possible = (detector.assess_with(request, response, {**known, **each}) for each in look.outcomes)
        matters = len({decides(judged), *map(decides, possible)}) > 1
        if matters and (found := await look(turn, request, response)):
            await turn.emit(found.checked)
            known.update(found.checked.signals)
            report = "\n\n".join(filter(None, (judged.report, found.report)))
            judged = replace(detector.assess_with(request, response, known), report=report)
    return judged


__all__ = ["Evidence", "Judges", "Look", "Weighs", "examined"]
