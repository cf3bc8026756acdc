"""Handover: who takes the next step of a task with tools, and what happens when the large model does not."""

import asyncio

import pytest

from ai_battle.collaboration import Helping, HelpLimits, handover
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.helping import HelpFailed, StuckFound
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import call, contract

from .models import SHORT, USELESS, Models

SQL = ToolSpec("sql", "Asks the database.", {"type": "object", "properties": {"query": {"type": "string"}}})
PROMPT = "Find the average age of losers and winners of all matches."
GUESS = "SELECT AVG(age) FROM (SELECT age FROM matches JOIN players ON matches.winner = players.id) AS both_of_them"
FAILS = (GUESS, "Error executing query: Unknown column 'age' in 'field list'", True)
FINDS = (
    ("SHOW TABLES", "[('players',), ('matches',)]", False),
    ("DESC players", "[('player_id', 'int'), ('birth_date', 'date')]", False),
    ("SELECT COUNT(*) FROM players", "[(20662,)]", False),
)


def working(*steps: tuple[str, str, bool], prompt: str = PROMPT) -> ModelRequest:
    """A request in the middle of a task."""
    messages = [user("Hello."), Message("assistant", (Text("Hello!"),)), user(prompt)]
    for number, (query, result, failed) in enumerate(steps):
        made = ToolCall("sql", {"query": query}, f"call_{number}")
        messages.append(Message("assistant", (made,)))
        messages.append(Message("tool", (ToolResult(made, (Text(result),), is_error=failed),)))
    return ModelRequest(tuple(messages), system="You are an analyst.", tools=(SQL,))


def of(models: Models, helping: Helping | None = None) -> ModelClient:
    return handover.create(models.client(models.small), models.client(models.large), helping=helping)


async def test_a_model_that_finds_its_way_goes_on(models: Models) -> None:
    client = of(models)
    await client.complete(working(*FINDS))
    await client.complete(working(FAILS, FAILS))
    await client.aclose()
    assert models.calls == (2, 0, 0, 0)


async def test_a_model_that_is_lost_hands_over_and_the_large_one_may_call_tools(models: Models) -> None:
    models.large.says(call("sql", query="SHOW TABLES"))
    client = of(models)
    response = await client.complete(working(FAILS, FAILS, FAILS), log := EventLog())
    await client.aclose()

    assert models.calls == (0, 0, 0, 1)
    assert [dict(made.arguments) for made in response.tool_calls] == [{"query": "SHOW TABLES"}]
    found = next(event for event in log.events if isinstance(event, StuckFound))
    assert found.reason == "a call was repeated"
    assert found.quality < 0.25
    assert found.signals["two_errors"] == 1
    assert "Unknown column" in models.large.questions[0].raw.decode()


async def test_who_was_handed_a_task_keeps_it(models: Models) -> None:
    """Also when the steps since then are good ones."""
    client = of(models)
    await client.complete(working(FAILS, FAILS, FAILS, *FINDS, *FINDS))
    assert models.calls == (0, 0, 0, 1)

    lost_before = working(FAILS, FAILS, FAILS)
    answered = (*lost_before.messages, Message("assistant", (Text("It is 25."),)), user("And the median?"))
    await client.complete(ModelRequest(answered, tools=(SQL,)))
    await client.aclose()
    assert models.calls == (1, 0, 0, 1)


@pytest.mark.parametrize("useless", USELESS)
async def test_without_the_large_model_the_small_one_goes_on(models: Models, useless: str) -> None:
    models.large.says(USELESS[useless])
    client = of(models, SHORT)
    response = await client.complete(working(FAILS, FAILS, FAILS), log := EventLog())
    await client.aclose()
    assert (response.text, models.calls) == ("The answer is 18.", (1, 0, 0, 1))
    assert log.text == response.text
    assert sum(isinstance(event, HelpFailed) for event in log.events) == 1


async def test_the_limit_of_calls_holds(models: Models) -> None:
    client = of(models, Helping(limits=HelpLimits(calls=1)))
    for _ in range(3):
        await client.complete(working(FAILS, FAILS, FAILS))
    await client.aclose()
    assert models.calls == (2, 0, 0, 1)


async def test_the_history_before_the_task_can_stay_here(models: Models) -> None:
    client = of(models, Helping(sees="attempt"))
    await client.complete(working(FAILS, FAILS, FAILS))
    await client.aclose()
    sent = models.large.questions[0].raw.decode()
    assert PROMPT in sent
    assert "Hello!" not in sent
    assert "analyst" not in sent


def test_what_makes_no_sense_is_told_when_it_is_made() -> None:
    one = ScriptedClient()
    with pytest.raises(ConfigError, match="A model can't help itself"):
        handover.create(one, one)
    with pytest.raises(ConfigError, match="helper_sees is attempt or history"):
        handover.create(one, ScriptedClient(), helping=Helping(sees="prompt"))


@pytest.mark.parametrize("above", [-0.1, 1.5, float("nan")])
def test_when_it_hands_over_is_a_probability(above: float) -> None:
    with pytest.raises(ConfigError, match="above of handover is a probability from 0 to 1"):
        handover.create(ScriptedClient(), ScriptedClient(), above=above)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("depth", [1, 3])
async def test_alone_and_nested_it_keeps_the_contract(check: contract.Check, depth: int) -> None:
    def wrap(inner: ModelClient) -> ModelClient:
        for _ in range(depth):
            inner = handover.create(inner, ScriptedClient({"fail": "rate_limited"}, loop=True))
        return inner

    plain = contract.wrapper(wrap)
    await check(plain)
    await check(contract.Subject(plain.answers, plain.fails, plain.stalls, working(FAILS, FAILS, FAILS)))


async def test_two_hundred_runs_at_once_don_t_get_in_each_other_s_way() -> None:
    def told(who: str) -> ScriptedClient:
        return ScriptedClient(lambda request: f"{who} {request.messages[2].text}", loop=True)

    client = handover.create(told("small"), told("large"))
    requests = [working(*([FAILS] * 3 if n % 2 else FINDS), prompt=f"Task {n}") for n in range(200)]
    answers = await asyncio.gather(*map(client.complete, requests))
    assert [answer.text for answer in answers] == [f"{('small', 'large')[n % 2]} Task {n}" for n in range(200)]
