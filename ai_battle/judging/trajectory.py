"""A model that works with tools, watched: how likely it is that it will not get there."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from ..signals.trouble import ToolStep, in_trouble, troubles
from .regression import LogisticModel

FIRST_TURN = 3
HAND_OVER = 0.75


def failure_probability(steps: Sequence[ToolStep], prompt: str) -> float:
    """The probability that the model will not get there; 0 before its third step, of which nothing was learned."""
    return _weights().probability(troubles(steps, prompt)) if len(steps) >= FIRST_TURN else 0.0


def why_hand_over(steps: Sequence[ToolStep], prompt: str, above: float = HAND_OVER) -> str:
    """Says why a stronger model should go on from here; empty while this one may get there."""
    probability = failure_probability(steps, prompt)
    if probability <= above:
        return ""
    return in_trouble(steps) or f"after {len(steps)} calls it is {probability:.0%} likely not to get there"


@cache
def _weights() -> LogisticModel:
    read = json.loads(files(__package__).joinpath("trajectory.json").read_text(encoding="utf-8"))
    return LogisticModel(read["bias"], {name: tuple(values) for name, values in read["features"].items()})
