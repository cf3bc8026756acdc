"""Which answers say the same, how many of them, and what that is worth."""

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

LONGEST = 50_000
CERTAIN = 0.98
DOUBT = "doubt"
"""The feature that alone tells as much as can be told without labels: the logit of failure, votes counted."""

REFUTING = frozenset(
    ("wrong_sums", "asked_sum_missed", "code_does_not_parse", "unknown_parameter", "missing_required", "json_unfit")
).union(("result_contradicted", "state_contradicted", "check_fails", "refuted"))
"""Signals that say of an answer itself what no number of others makes good."""

# How many times likelier right than wrong answers are to be said by another model too, and not to be: means over all
# pairs of small models of different families (see docs/explanation/agreement.md). Where nothing was measured, little.
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
    """What an answer comes down to: ballots that are equal say the same."""

    kind: str
    key: str


def ballot(request: ModelRequest, response: ModelResponse) -> Ballot | None:
    """The ballot of an answer: its tool calls, its JSON, or its final answer; None for what can't be compared."""
    if response.tool_calls:
        return Ballot("calls", _calls_key(request, response))
    if request.output_schema is not None:
        return _json_ballot(response.text[:LONGEST])
    found = final_answer(response.text, Context.of(request).prompt)
    return Ballot(found.kind, found.key) if found else None


@dataclass(frozen=True, slots=True)
class VoteCount:
    """Who votes with whom: places of ballots, the largest group first, of equal ones the earliest.

    What can't be compared agrees with nothing and counts among the voters all the same.
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
        """The largest group, where it is alone at the top, of two at least, and half of all; else nobody."""
        first, *others = self.groups or ((),)
        alone = not others or len(others[0]) < len(first)
        return first if alone and len(first) > 1 and 2 * len(first) >= self.voters else ()

    @property
    def margin(self) -> int:
        """How many votes the largest group is ahead of the next."""
        first, *others = map(len, self.groups or ((),))
        return first - max(others, default=0)


def is_refuted(judged: Assessment) -> bool:
    """Checks whether an answer fails a hard check, or holds what is false by itself: a sum, a call, code."""
    return judged.at_once or any(judged.signals.get(name) for name in REFUTING)


def is_verified(judged: Assessment) -> bool:
    """Checks whether running has shown an answer to be right: no vote is needed for it."""
    return bool(judged.signals.get("verified")) and not is_refuted(judged)


def assessment_with_votes(judged: Assessment, mine: Ballot | None, others: Sequence[Ballot | None]) -> Assessment:
    """Returns what is known of an answer, and what others say to the same request: each of them shifts the odds.

    An answer that is refuted is not mended by others that agree with it.
    """
    if mine is None or is_refuted(judged):
        return judged
    kept = min(max(judged.quality, 1 - CERTAIN), CERTAIN)  # or no number of votes could move it
    odds = kept / (1 - kept)
    same = sum(other == mine for other in others)
    agrees, differs = WORTH[mine.kind]
    odds *= agrees**same * differs ** (len(others) - same)
    signals = {**judged.signals, "agreement": same / len(others)} if others else judged.signals
    return replace(judged, quality=odds / (1 + odds), signals=signals)


def pattern(ballots: Sequence[Ballot | None]) -> dict[str, float]:
    """Returns, of several ballots, who stands apart from those who lead, and what these say."""
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
    """Returns all that is known of the answer at `place`: its own signals, the pattern of all, and products of both."""
    others = [*ballots[:place], *ballots[place + 1 :]]
    quality = min(max(assessment_with_votes(judged, ballots[place], others).quality, 1 - CERTAIN), CERTAIN)
    length = {"prompt_length": log(1 + len(prompt))}
    return {**judged.signals, **pattern(ballots), **length, DOUBT: log((1 - quality) / quality)}


def _calls_key(request: ModelRequest, response: ModelResponse) -> str:
    """The calls as they would run, in any order."""
    schemas = {tool.name: tool.schema for tool in request.tools}
    keys = []
    for call in response.tool_calls:
        schema: Mapping[str, Any] = schemas.get(call.name, {})
        arguments = fit(call.arguments, schema).arguments if schema and not call.malformed else call.arguments
        keys.append(call_key(replace(call, arguments=arguments), schema))
    return "\n".join(sorted(keys))


def _json_ballot(text: str) -> Ballot | None:
    """The first value that opens in the text, so that words and fences around it don't matter."""
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=0)
    try:
        value, _ = read_value(text, start)
    except Unreadable:
        return None
    return Ballot("json", canonical(value))
