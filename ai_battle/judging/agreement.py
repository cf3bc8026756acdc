"""Compares answers: which of them say the same, how many agree, and what the agreement is worth as evidence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

from ..core.exchange import ModelRequest, ModelResponse
from ..signals.final_answers import final_answer
from ..wire.dialects.arguments import fit
from ..wire.dialects.loose_json import Unreadable, read_value
from ..wire.dialects.schemas import call_key, canonical
from .assessment import Assessment, Context

MAX_CHARACTERS = 50_000
MAX_QUALITY = 0.98
DOUBT_FEATURE = "doubt"
"""The feature that carries all that is known without labels: the logit of failure, votes included."""

REFUTING = frozenset(
    ("wrong_sums", "asked_sum_missed", "code_does_not_parse", "unknown_parameter", "missing_required", "json_unfit")
).union(("result_contradicted", "state_contradicted", "check_fails", "refuted"))
"""Signals of an error in the answer itself, for which no number of agreeing answers makes up."""

# Likelihood ratios of right against wrong answers if another model agrees, and if it differs: means over all pairs of
# small models of different families (docs/explanation/agreement.md). Kinds that were not measured have cautious values.
WORTH: Mapping[str, tuple[float, float]] = {
    "number": (6.4, 0.34),
    "code": (5.8, 0.35),
    "option": (3.3, 0.45),
    "calls": (3.0, 0.5),
    "json": (3.0, 0.5),
    "text": (3.0, 0.8),
}


@dataclass(frozen=True, slots=True)
class Ballot:
    """The essence of an answer. Equal ballots mean that two answers say the same."""

    kind: str
    key: str


def ballot(request: ModelRequest, response: ModelResponse) -> Ballot | None:
    """Returns the ballot of an answer: its calls, its JSON or its final answer; None if it can't be compared."""
    if response.tool_calls:
        return Ballot("calls", _calls_key(request, response))
    if request.output_schema is not None:
        return _json_ballot(response.text[:MAX_CHARACTERS])
    found = final_answer(response.text, Context.of(request).prompt)
    return Ballot(found.kind, found.key) if found else None


@dataclass(frozen=True, slots=True)
class VoteCount:
    """Groups of ballots that agree, by their places: the largest first, of equal ones the earliest.

    A ballot that can't be compared agrees with no other, but counts as a voter.
    """

    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, ballots: Iterable[Ballot | None]) -> "VoteCount":
        found: dict[Ballot | int, list[int]] = {}
        for place, each in enumerate(ballots):
            found.setdefault(place if each is None else each, []).append(place)
        return cls(tuple(sorted(map(tuple, found.values()), key=len, reverse=True)))

    @property
    def voters(self) -> int:
        return sum(map(len, self.groups))

    @property
    def leading(self) -> tuple[int, ...]:
        """The largest group, if it is the only one of its size, has two voters and half of all; else empty."""
        first, *others = self.groups or ((),)
        alone = not others or len(others[0]) < len(first)
        return first if alone and len(first) > 1 and 2 * len(first) >= self.voters else ()

    @property
    def margin(self) -> int:
        """The number of votes by which the largest group leads."""
        first, *others = map(len, self.groups or ((),))
        return first - max(others, default=0)


def is_refuted(judged: Assessment) -> bool:
    """Checks whether an answer failed a hard check or has an error of its own: a sum, a call, code."""
    return judged.at_once or any(judged.signals.get(name) for name in REFUTING)


def is_verified(judged: Assessment) -> bool:
    """Checks whether running showed the answer to be right, so that it needs no votes."""
    return bool(judged.signals.get("verified")) and not is_refuted(judged)


def assessment_with_votes(judged: Assessment, mine: Ballot | None, others: Sequence[Ballot | None]) -> Assessment:
    """Returns the assessment, its odds shifted by each other answer unless it is refuted."""
    if mine is None or is_refuted(judged):
        return judged
    kept = min(
        max(judged.quality, 1 - MAX_QUALITY), MAX_QUALITY
    )  # a quality of 0 or 1 could not be moved by any number of votes
    odds = kept / (1 - kept)
    same = sum(other == mine for other in others)
    agrees, differs = WORTH[mine.kind]
    odds *= agrees**same * differs ** (len(others) - same)
    signals = {**judged.signals, "agreement": same / len(others)} if others else judged.signals
    return replace(judged, quality=odds / (1 + odds), signals=signals)


def pattern(ballots: Sequence[Ballot | None]) -> dict[str, float]:
    """Returns features of several ballots: who differs from the leading group, and what this group says."""
    led = VoteCount.of(ballots).leading
    served = ballots[next(iter(led), 0)] if ballots else None
    key = served.key if led and served else ""
    return {
        "agreeing": float(sum(each == served for each in ballots if each)),
        "silent": float(list(ballots).count(None)),
        "divided": float(not led),
        "of_one_mind": float(len(led) == len(ballots)),
        "fraction": float("." in key),
        "digits": float(len(key)),
        **{f"apart_{n}": float(bool(led) and n not in led) for n in range(len(ballots))},
    }


def features(judged: Assessment, ballots: Sequence[Ballot | None], place: int, prompt: str) -> dict[str, float]:
    """Returns the features of the answer at `place`: its signals, the pattern of all answers, and its doubt."""
    others = [*ballots[:place], *ballots[place + 1 :]]
    quality = min(max(assessment_with_votes(judged, ballots[place], others).quality, 1 - MAX_QUALITY), MAX_QUALITY)
    length = {"prompt_length": log(1 + len(prompt))}
    return {**judged.signals, **pattern(ballots), **length, DOUBT_FEATURE: log((1 - quality) / quality)}


def _calls_key(request: ModelRequest, response: ModelResponse) -> str:
    """Returns the calls with arguments fitted to their schemas, in any order."""
    schemas = {tool.name: tool.schema for tool in request.tools}
    keys = []
    for call in response.tool_calls:
        schema: Mapping[str, Any] = schemas.get(call.name, {})
        arguments = fit(call.arguments, schema).arguments if schema and not call.malformed else call.arguments
        keys.append(call_key(replace(call, arguments=arguments), schema))
    return "\n".join(sorted(keys))


def _json_ballot(text: str) -> Ballot | None:
    """Returns the ballot of the first JSON value in the text, so that text and fences around it don't matter."""
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=0)
    try:
        value, _ = read_value(text, start)
    except Unreadable:
        return None
    return Ballot("json", canonical(value))
