"""A model that works with tools, watched: how likely it is that it will not get there."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from ..core.messages import Message
from ..signals.trouble import Step, in_trouble, troubles
from ._logistic import Weights
from ._prompts import arguments_text

FIRST_TURN = 3
HAND_OVER = 0.75


def steps_of(messages: Iterable[Message]) -> tuple[Step, ...]:
    """What was called and what came back, in order; calls that nothing has answered yet are no steps."""
    return tuple(
        Step(f"{result.call.name} {arguments_text(result.call)}", result.text, result.is_error)
        for message in messages
        for result in message.tool_results
    )


def lost(steps: Sequence[Step], prompt: str) -> float:
    """The probability that the model will not get there; 0 before its third step, of which nothing was learned."""
    return _weights().probability(troubles(steps, prompt)) if len(steps) >= FIRST_TURN else 0.0


def why_hand_over(steps: Sequence[Step], prompt: str, above: float = HAND_OVER) -> str:
    """Why a stronger model should go on from here; empty while this one may get there."""
    probability = lost(steps, prompt)
    if probability <= above:
        return ""
    return in_trouble(steps) or f"after {len(steps)} calls it is {probability:.0%} likely not to get there"


@cache
def _weights() -> Weights:
    read = json.loads(files(__package__).joinpath("_trajectory.json").read_text(encoding="utf-8"))
    return Weights(read["bias"], {name: tuple(values) for name, values in read["features"].items()})
