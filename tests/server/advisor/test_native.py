"""Points 60 to 67: an upstream of Anthropic advises itself; the server passes on what it says, and counts it."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from ai_battle.testing import FakeProviders

from ..protocol.speaking import Message, Speaker, speaking
from ..serving import serving
from .conftest import ADVISOR, BETA, READ, TOOL, USER, Write, advice, answer_of, assistant, result, text, use, user
from .upstream import NativeUpstream

FILE = """
server: {routes: {worker: anthropic/claude-haiku-4-5}}
prices: {anthropic/claude-haiku-4-5: {input: 1, output: 5}, anthropic/claude-opus-4-8: {input: 10, output: 50}}
"""
ROWS = [
    {"type": "message", "input_tokens": 400, "output_tokens": 9},
    {"type": "advisor_message", "model": ADVISOR, "input_tokens": 800, "output_tokens": 160},
    {"type": "message", "input_tokens": 600, "output_tokens": 40},
]
ITERATIONS = [{**row, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0} for row in ROWS]
USAGE = {"input_tokens": 400, "output_tokens": 49, "iterations": ITERATIONS}
REDACTED = {"type": "advisor_redacted_result", "encrypted_content": "b3BhcXVl", "stop_reason": "end_turn"}


@dataclass
class Native:
    client: Speaker
    upstream: NativeUpstream
    is_streamed: bool

    async def answer(self, **body: Any) -> Message:
        return await answer_of(self.client, self.is_streamed, body)


@pytest.fixture
async def native(fakes: FakeProviders, write: Write, is_streamed: bool) -> AsyncIterator[Native]:
    async with (
        NativeUpstream.running() as upstream,
        serving(fakes, write(FILE), ANTHROPIC_BASE_URL=upstream.url) as address,
        speaking(address, "worker") as client,
    ):
        yield Native(client, upstream, is_streamed)


BLOCKS = (text("Let me ask."), use(), result(advice("Look at the loop.")), text("It is line 3."))


async def test_60_tool_and_header_reach_it_as_they_came(native: Native) -> None:
    native.upstream.says(*BLOCKS, **USAGE)
    tool = {**TOOL, "max_uses": 3, "max_tokens": 2048, "caching": {"type": "ephemeral", "ttl": "1h"}, "of_next_year": 1}
    await native.answer(tools=[READ, tool])

    assert native.upstream.bodies[0]["tools"] == [READ, tool]
    assert native.upstream.betas == [BETA["anthropic-beta"]]


async def test_61_its_blocks_reach_the_client_as_they_came(native: Native) -> None:
    native.upstream.says(*BLOCKS, **USAGE)
    message = await native.answer()

    assert message.content == [*BLOCKS]
    assert (message.stop_reason, message.model) == ("end_turn", "worker")


async def test_62_its_rows_reach_the_client_as_they_came(native: Native) -> None:
    native.upstream.says(*BLOCKS, **USAGE)
    usage = (await native.answer()).usage

    assert usage["iterations"] == ITERATIONS
    assert (usage["input_tokens"], usage["output_tokens"]) == (400, 49)


@pytest.mark.parametrize(
    "content",
    [
        REDACTED,
        {"type": "advisor_tool_result_error", "error_code": "overloaded"},
        {"type": "advisor_result_of_next_year", "x": 1},
    ],
    ids=lambda content: str(content["type"]),
)
async def test_63_results_of_every_kind_go_through_untouched(native: Native, content: dict[str, Any]) -> None:
    native.upstream.says(use(), result(content), text("It is line 3."), **USAGE)

    assert (await native.answer()).content[1] == result(content)


async def test_64_blocks_of_earlier_turns_go_back_untouched(native: Native) -> None:
    """Also those that only their server can read."""
    native.upstream.says(text("b.py is fine."), **USAGE)
    blocks = (text("Let me ask."), use(), result(REDACTED), text("It is line 3."))
    steps = [USER, assistant(*blocks), user(text("And in b.py?"))]
    message = await native.answer(messages=steps)

    assert message.text == "b.py is fine."
    assert native.upstream.bodies[0]["messages"][1]["content"] == [*blocks]


async def test_65_the_ledger_has_each_row_at_the_price_of_its_model(native: Native) -> None:
    native.upstream.says(*BLOCKS, **USAGE)
    await native.answer()

    expected = (1000 * 1 + 49 * 5 + 800 * 10 + 160 * 50) / 1e6
    assert await cost_of(native) == [pytest.approx(expected, abs=1e-12)]


async def cost_of(native: Native) -> list[float]:
    """The dollars that the server counts for its route."""
    async with native.client.session.get(f"{native.client.address}/metrics") as answer:
        costs = re.findall(r'ai_battle_cost_usd_total\{route="worker"\} (\S+)', await answer.text())
    return [float(cost) for cost in costs]


async def test_65b_rows_that_lack_what_the_totals_have_do_not_make_it_cheaper(native: Native) -> None:
    """A gateway on the way may keep the rows and drop their counts."""
    native.upstream.says(*BLOCKS, **{**USAGE, "iterations": [{"type": "message"}]})
    await native.answer()

    assert await cost_of(native) == [pytest.approx((400 * 1 + 49 * 5) / 1e6, abs=1e-12)]


async def test_66_a_pause_of_its_own_is_a_pause_for_the_client(native: Native) -> None:
    native.upstream.says(text("Let me ask."), use(), **USAGE)
    native.upstream.messages[0]["stop_reason"] = "pause_turn"
    message = await native.answer()

    assert (message.kinds, message.stop_reason) == (["text", "server_tool_use"], "pause_turn")


async def test_67_an_advisor_that_the_operator_has_put_in_its_place_is_not_asked_of_it(
    fakes: FakeProviders, write: Write, is_streamed: bool
) -> None:
    """A mapped name is advised from here, whatever the upstream could do."""
    file = write("server: {routes: {worker: anthropic/claude-haiku-4-5}, advisors: {'claude-opus-*': ollama/qwen3}}")
    fakes.anthropic.says("It is line 3.")
    async with serving(fakes, file) as address, speaking(address, "worker") as client:
        await Native(client, NativeUpstream(), is_streamed).answer()

    [question] = fakes.anthropic.questions
    assert b"advisor_20260301" not in question.raw
    assert [tool["name"] for tool in question.body["tools"]] == ["read_file", "advisor"]
