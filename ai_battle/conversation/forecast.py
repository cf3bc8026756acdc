"""What a run would send first, and about what it would cost: found out without calling a model."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import tools
from ..assembly import Model
from ..config import Loaded
from ..core.events import PromptGiven, ignore
from ..core.exchange import ModelRequest, Usage
from ..core.messages import Message
from ..core.tokens import estimate_request
from ..wire.genai import message_to_json, usage_to_json
from ._records import specs_to_json
from .casting import Cast, FromFile
from .forecast_help import Help, helps, usual_answer
from .participant import Participant
from .person import keyboard
from .plan import Plan
from .prompting import opening, system_prompt
from .state import State


@dataclass(frozen=True, slots=True)
class Expected:
    """One participant: its first request, what all its turns together may use, and what models beside it may."""

    name: str
    model: str
    request: ModelRequest
    turns: int
    usage: Usage
    help: tuple[Help, ...] = ()

    @property
    def total(self) -> Usage:
        """With the calls of other models that are certain to be made, or whose share the file says."""
        return sum((one.usage for one in self.help), self.usage)

    def to_json(self) -> dict[str, Any]:
        return {
            "participant": self.name,
            "model": self.model,
            "system": self.request.system,
            "messages": [message_to_json(message) for message in self.request.messages],
            "tools": specs_to_json(self.request.tools),
            "options": dict(self.request.options),
            "turns": self.turns,
            "usage": usage_to_json(self.usage),
            "help": [one.to_json() for one in self.help],
        }


def forecast(loaded: Loaded) -> list[Expected]:
    """By participant; answers are taken to be as long as `max_tokens` allows, at most 350 tokens.

    Models and tools are made as for a run, so that what would keep it from starting is found: raises `ConfigError`;
    servers of tools are started, and stopped again. The requests are for people to look at: what came from the
    environment is named in them, not shown.
    """
    cast = FromFile.of(loaded, keyboard).cast({})
    asyncio.run(_equip(cast))
    return [replace(expected, request=loaded.redactor.value(expected.request)) for expected in _expected(cast)]


async def _equip(cast: Cast) -> None:
    with TemporaryDirectory() as run_dir:
        try:
            await cast.assembled.equip(Path(run_dir), ignore)
        finally:
            await cast.assembled.aclose()


def _expected(cast: Cast) -> Iterator[Expected]:
    models = cast.assembled.models
    answer = sum(map(usual_answer, models.values())) / len(cast.plan.participants)
    for participant in cast.plan.participants:
        if model := models.get(participant.name):
            yield _of(participant, model, cast, answer)


def _of(participant: Participant, model: Model, cast: Cast, answer: float) -> Expected:
    """`answer` is the mean length of one, in tokens."""
    plan, name = cast.plan, participant.name
    request = _first_request(participant, cast)
    turns = plan.turns if participant in plan.regulars else 1
    usage = _usage(model, estimate_request(request), answer * len(plan.regulars), turns)
    read = usage.input_tokens // max(1, turns)
    recipes = cast.assembled.recipes.get(name, ())
    others = tuple(one for recipe in recipes for one in helps(name, recipe, turns, read))
    return Expected(name, str(model.name), request, turns, usage, others)


def _first_request(participant: Participant, cast: Cast) -> ModelRequest:
    messages = _first_messages(cast.plan, participant.name)
    request = ModelRequest(messages, system_prompt(cast.plan, participant), options=participant.parameters)
    tool_set = cast.assembled.tool_set
    offered = tool_set.offered(participant.name) if tool_set else ()
    return tools.first_request(request, offered) if offered else request


def _first_messages(plan: Plan, name: str) -> tuple[Message, ...]:
    state = State(plan)
    state.apply(PromptGiven(opening(plan)))
    return state.views[name].messages


def _usage(model: Model, first: int, per_round: float, turns: int) -> Usage:
    """Each request has all rounds before it, as far as the model's window goes."""
    most = model.window or 10**9
    read = sum(min(int(first + per_round * number), most) for number in range(turns))
    usage = Usage(read, usual_answer(model) * turns)
    cost = model.price.cost(usage) if model.price else None
    return Usage(usage.input_tokens, usage.output_tokens, cost_usd=cost)
