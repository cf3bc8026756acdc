"""Points 41 to 48: what an answer with an advisor cost, row by row, in the answer and in the ledger of the server."""

import re
from collections.abc import AsyncIterator

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, fault, reply

from ..protocol.speaking import speaking
from ..serving import serving
from .conftest import ASKED, BETA, Stage, Write

PRICED = """
server: {routes: {worker: openai/gpt-4o}, advisors: {'claude-*': ollama/qwen3}}
prices: {openai/gpt-4o: {input: 2, output: 8}, ollama/qwen3: {input: 5, output: 25}}
"""


def script(stage: Stage) -> None:
    stage.worker.says(reply(calls=[call("advisor")], usage=Usage(400, 9)), reply("It is line 3.", usage=Usage(600, 40)))
    stage.advisor.says(reply("Look at the loop.", usage=Usage(800, 160)))


async def test_41_each_call_of_a_model_has_a_row(stage: Stage) -> None:
    script(stage)
    rows = (await stage.answer()).usage["iterations"]

    assert [(row["type"], row["input_tokens"], row["output_tokens"]) for row in rows] == [
        ("message", 400, 9),
        ("advisor_message", 800, 160),
        ("message", 600, 40),
    ]


async def test_42_each_row_has_all_that_clients_read(stage: Stage) -> None:
    script(stage)
    rows = (await stage.answer()).usage["iterations"]
    counts = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

    assert all(isinstance(row[name], int) for row in rows for name in counts)
    assert all(isinstance(row["model"], str) and row["model"] for row in rows if row["type"] == "advisor_message")


async def test_43_the_totals_are_those_of_the_worker_alone(stage: Stage) -> None:
    """All that it wrote, and what it read first: what it read later has the first again in it."""
    script(stage)
    usage = (await stage.answer()).usage

    assert usage["output_tokens"] == 49
    assert usage["input_tokens"] == 400


async def test_44_tokens_of_a_cache_stand_in_the_row_of_whom_read_them(one: Stage) -> None:
    """Those of the advisor do not show in the totals."""
    one.worker.says(
        reply(calls=[call("advisor")], usage=Usage(400, 9)),
        reply("It is line 3.", usage=Usage(600, 40, cache_read_tokens=384)),
    )
    one.advisor.says(reply("Look at the loop.", usage=Usage(800, 160)))
    first, _, last = (await one.answer()).usage["iterations"]

    assert (first["input_tokens"], first["cache_read_input_tokens"]) == (400, 0)
    assert (last["input_tokens"], last["cache_read_input_tokens"]) == (216, 384)


@pytest.fixture
async def priced_stage(is_streamed: bool, fakes: FakeProviders, write: Write) -> AsyncIterator[Stage]:
    async with serving(fakes, write(PRICED)) as address, speaking(address, "worker") as client:
        yield Stage(client, fakes.openai, fakes.ollama, "openai", is_streamed)


async def cost_of(stage: Stage) -> float:
    """The dollars that the server counts for its route."""
    async with stage.client.session.get(f"{stage.client.address}/metrics") as answer:
        [cost] = re.findall(r'ai_battle_cost_usd_total\{route="worker"\} (\S+)', await answer.text())
    return float(cost)


def bill(stage: Stage) -> float:
    worker, advisor = stage.worker.bill, stage.advisor.bill
    small = worker.input_tokens * 2 + worker.output_tokens * 8
    return (small + advisor.input_tokens * 5 + advisor.output_tokens * 25) / 1e6


async def test_45_the_ledger_has_what_the_providers_charge(priced_stage: Stage) -> None:
    """Each call at the price of its own model."""
    script(priced_stage)
    await priced_stage.answer()

    assert await cost_of(priced_stage) == pytest.approx(bill(priced_stage), abs=1e-12)
    assert bill(priced_stage) == pytest.approx((1000 * 2 + 49 * 8 + 800 * 5 + 160 * 25) / 1e6)


async def test_46_advice_that_breaks_off_is_paid_as_far_as_it_came(priced_stage: Stage) -> None:
    """No row of the answer says what was not answered; the ledger does not lose it."""
    priced_stage.worker.says(
        reply(calls=[call("advisor")], usage=Usage(400, 9)), reply("It is line 3.", usage=Usage(600, 40))
    )
    priced_stage.advisor.says(reply("", usage=Usage(800, 0)), *[fault("http_500", times=9)])
    await priced_stage.answer()

    assert await cost_of(priced_stage) == pytest.approx(bill(priced_stage), abs=1e-12)


async def test_47_the_rows_add_up_to_the_ledger(priced_stage: Stage) -> None:
    script(priced_stage)
    rows = (await priced_stage.answer()).usage["iterations"]
    prices = {"message": (2, 8), "advisor_message": (5, 25)}
    sums = [
        row["input_tokens"] * prices[row["type"]][0] + row["output_tokens"] * prices[row["type"]][1] for row in rows
    ]

    assert sum(sums) / 1e6 == pytest.approx(await cost_of(priced_stage), abs=1e-12)


async def test_48_a_client_of_an_ordinary_answer_sees_no_more_than_before(one: Stage) -> None:
    answered = await one.client.post("messages", {"max_tokens": 64, "messages": ASKED["messages"]}, BETA)

    assert "iterations" not in answered.body["usage"]
