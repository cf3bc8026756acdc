"""What the models of a pair may be asked, and about what that would cost, as far as it is known beforehand."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from .. import assembly
from ..assembly import Model
from ..core.exchange import NOTHING_USED, Usage
from ..wire.genai import usage_to_json

USUAL_ANSWER = 350
"""Tokens of an answer when nothing is known of it."""
CORRECTION = 200
"""Tokens that `draft_verify` leaves the helper, if nothing else is said."""
VERDICT = 16
"""Tokens of a judge's word, and a little around it."""

WHERE_STUCK = "where {name} is stuck"
_WHEN = {
    "judge": "where its word would turn the decision",
    "boost": "once in each turn, and up to two times more",
    "ladder": "where {name} is stuck, one to three times",
    "handover": "for the steps after {name} is lost",
    "minion": "for long documents, once in each round",
    "peer": "where the two differ",
    "council": "where no answer leads",
    "vote": "where no answer leads",
    "reserve": "where no answer leads",
}
_EVERY_TURN = "in each turn"


@dataclass(frozen=True, slots=True)
class Help:
    """One model that is called for a participant: `calls` of about `each`; None where nobody can know how many.

    `role` is that of the ledger, `when` says in words for which turns.
    """

    model: str
    role: str
    when: str
    calls: float | None
    each: Usage

    @property
    def usage(self) -> Usage:
        """What is part of a forecast."""
        calls, each = self.calls or 0.0, self.each
        if not calls:
            return NOTHING_USED
        cost = None if each.cost_usd is None else each.cost_usd * calls
        return Usage(round(each.input_tokens * calls), round(each.output_tokens * calls), cost_usd=cost)

    def to_json(self) -> dict[str, Any]:
        each = usage_to_json(self.each)
        return {"model": self.model, "role": self.role, "when": self.when, "calls": self.calls, "each": each}


def usual_answer(model: Model) -> int:
    return min(int(model.options.get("max_tokens") or USUAL_ANSWER), USUAL_ANSWER)


def helps(name: str, recipe: "assembly.Recipe", turns: int, read: int) -> Iterator[Help]:
    """Of all models of a pair of `name`, whose own requests have about `read` tokens."""
    own = usual_answer(recipe.model)
    for key, model in recipe.helpers.items():
        kind = key.partition(".")[0]
        if kind == "secondary" and key not in ("secondary", "secondary.0"):
            continue  # of a pool the others stand in where the first fails
        role, when, calls = _asked(kind, recipe, turns)
        answer = _written(kind, recipe, model)
        seen = read if kind == "peers" else read + own
        yield Help(str(model.name), role, when.format(name=name), _within(calls, recipe), _priced(model, seen, answer))
    if recipe.help.strategy == "vote":
        more = (recipe.help.samples or 3) - 1
        yield Help(str(recipe.model.name), "own", _EVERY_TURN, turns * more, _priced(recipe.model, read, own))


def _written(kind: str, recipe: "assembly.Recipe", model: Model) -> int:
    if kind == "judge":
        return VERDICT
    brief = kind == "secondary" and recipe.help.strategy == "draft_verify"
    return min(usual_answer(model), CORRECTION) if brief else usual_answer(model)


def _asked(kind: str, recipe: "assembly.Recipe", turns: int) -> tuple[str, str, float | None]:
    """The role of a model in the ledger, when it is asked, and how often."""
    match kind, recipe.help.strategy:
        case "peers", "peer" | "council":
            return "peer", _EVERY_TURN, turns
        case "peers", _:
            return "peer", _WHEN["judge"], None
        case "judge", _:
            return "judge", _WHEN["judge"], None
        case "models", "council":
            return "peer", _WHEN["reserve"], None
        case _, "boost":
            return "boost", _WHEN["boost"], turns
        case _, strategy:
            share = _share(recipe)
            return "helper", _WHEN.get(strategy, WHERE_STUCK), None if share is None else share * turns


def _share(recipe: "assembly.Recipe") -> float | None:
    """The share of turns that get help, where the file says it; of several models after the first nobody knows."""
    detector = recipe.detector
    if detector is None or recipe.help.models or (recipe.help.strategy in _WHEN and not detector.agreement):
        return None
    return detector.calibration.help_rate if detector.calibration else detector.help_rate


def _within(calls: float | None, recipe: "assembly.Recipe") -> float | None:
    """No more than the limit of a run."""
    most = recipe.help.limits.calls if recipe.help.limits.per == "run" else None
    return calls if calls is None or most is None else min(calls, most)


def _priced(model: Model, read: int, written: int) -> Usage:
    usage = Usage(min(read, model.window or read), written)
    return replace(usage, cost_usd=model.price.cost(usage) if model.price else None)
