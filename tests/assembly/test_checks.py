"""Models that check answers belong to the run: they are made with it, and closed with it."""

from typing import Any

import pytest

from ai_battle.assembly.models import Model
from ai_battle.assembly.recipes import Recipe
from ai_battle.config.collaboration import Help
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import assistant
from ai_battle.providers._names import parse


class Counting(ModelClient):
    """Counts how often it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return ModelResponse(assistant("Yes."))

    async def aclose(self) -> None:
        self.closed += 1


def recipe(**said: Any) -> tuple[Recipe, dict[str, Counting]]:
    clients: dict[str, Counting] = {}

    def make(speaker: str, _: Any) -> Model:
        clients[speaker.partition(".")[2]] = Counting()
        return Model(parse("scripted"), clients[speaker.partition(".")[2]], {})

    help_ = Help.model_validate({"secondary": "scripted", **said})
    return Recipe.of("pair", Model(parse("scripted"), Counting(), {}), help_, make), clients


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"judge": "scripted"}, ["secondary", "judge"]),
        ({"peers": ["scripted", "scripted"]}, ["secondary", "peers.0", "peers.1"]),
        ({"strategy": "peer", "peers": ["scripted"], "judge": "scripted"}, ["secondary", "peers.0", "judge"]),
    ],
    ids=["judge", "peers", "peers of the strategy"],
)
async def test_each_model_of_a_pair_is_closed_once(said: dict[str, Any], named: list[str]) -> None:
    made, clients = recipe(**said)
    await made.client().aclose()
    await made.aclose_checkers()

    assert {name: client.closed for name, client in clients.items()} == dict.fromkeys(named, 1)


def test_a_check_without_tools_is_an_error() -> None:
    made, _ = recipe(check="code_execution")

    with pytest.raises(ConfigError, match="only discussions have tools"):
        made.client()


def test_one_sample_is_no_second_opinion() -> None:
    made, _ = recipe(samples=1)

    with pytest.raises(ConfigError, match="samples is two or more"):
        made.client()
