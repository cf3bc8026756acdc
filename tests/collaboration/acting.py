"""Actors for tests of strategies: a judge that reads its verdict in the answer, models that are metered, listeners."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

from ai_battle.collaboration import critique, draft_verify, ladder, rescue, takeover
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, Event, EventLog, ModelReplied, ignore
from ai_battle.core.exchange import NOTHING_USED, ModelRequest, ModelResponse, Usage
from ai_battle.core.helping import DraftDropped, HelpAsked, HelpFailed, Role, StuckFound
from ai_battle.core.messages import user
from ai_battle.judging.assessment import Assessment
from ai_battle.providers._calls import ProviderCaller
from ai_battle.providers._metered import CallTerms
from ai_battle.providers._prices import TokenPrice
from ai_battle.providers.scripted import ScriptedClient

STRATEGIES: Mapping[str, Callable[..., ModelClient]] = {
    "rescue": rescue.create,
    "takeover": takeover.create,
    "ladder": ladder.create,
    "critique": critique.create,
    "draft_verify": draft_verify.create,
}
POOR, GOOD, ADVICE = "I am not sure. [q=0.2]", "It is four. [q=0.9]", "Add two and two."
SMALL_PRICE, LARGE_PRICE = TokenPrice(1.0, 2.0), TokenPrice(10.0, 20.0)
_QUALITY = re.compile(r"\[q=([\d.]+)]")


class Judge:
    """Finds the quality of an answer in it: `[q=0.4]`; without one it is good. `[loop]` fails a check."""

    def __init__(self, max_retries: int = 1) -> None:
        self.max_retries = max_retries
        self.judged: list[tuple[ModelRequest, ModelResponse]] = []

    def assess_response(self, request: ModelRequest, response: ModelResponse) -> Assessment:
        self.judged.append((request, response))
        if "[loop]" in response.text:
            return Assessment(0.0, 1.0, True, {"loop": 1.0}, "It goes round in circles.", at_once=True)
        found = _QUALITY.search(response.text)
        quality = float(found[1]) if found else 1.0
        return Assessment(quality, 1 - quality, quality < 0.7, {"said": quality}, "It says so itself.")


class Unpriced(ModelClient):
    """A scripted model whose cost has to be worked out."""

    def __init__(self, script: ScriptedClient) -> None:
        self.script = script

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        response = await self.script.complete(request, emit)
        return replace(response, usage=replace(response.usage, cost_usd=None))


@dataclass
class Model:
    """A model as an assembly makes it, and what it was asked."""

    client: ModelClient
    script: ScriptedClient

    @property
    def requests(self) -> list[ModelRequest]:
        return self.script.requests

    @property
    def calls(self) -> int:
        return len(self.script.requests)

    @property
    def last(self) -> str:
        """All text of the last request."""
        return request_text(self.script.requests[-1])


def model(*script: Any, price: TokenPrice = SMALL_PRICE, name: str = "small", **options: Any) -> Model:
    actor = ScriptedClient(*script, **options)
    return Model(ProviderCaller(Unpriced(actor), name, CallTerms(price), retry=None), actor)


def large(*script: Any, **options: Any) -> Model:
    return model(*script, price=LARGE_PRICE, name="large", **options)


def request_text(request: ModelRequest) -> str:
    results = (result.text for message in request.messages for result in message.tool_results)
    return "\n".join((request.system, *(message.text for message in request.messages), *results))


def same(one: Usage, other: Usage) -> bool:
    """Tells whether two usages are the same, but for how their dollars are rounded."""
    costs_the_same = one.cost_usd is not None and isclose(one.cost_usd, other.cost_usd or 0.0)
    return replace(one, cost_usd=0.0) == replace(other, cost_usd=0.0) and costs_the_same


def model_request(text: str = "What is two and two?", **details: Any) -> ModelRequest:
    return ModelRequest((user(text),), **details)


class HelpLog(EventLog):
    """What was heard, by kind."""

    def of(self, *kinds: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    def usage(self, role: Role | None = None) -> Usage:
        replies = (event for event in self.of(ModelReplied) if role in (None, event.role))
        return sum((event.usage for event in replies), NOTHING_USED)

    @property
    def wasted(self) -> Usage:
        return sum((event.usage for event in self.of(DraftDropped)), NOTHING_USED)

    @property
    def story(self) -> list[str]:
        """What happened, in words."""
        return [type(event).__name__ for event in self.of(StuckFound, HelpAsked, HelpFailed, DraftDropped)]
