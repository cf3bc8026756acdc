"""Strategies end to end, over real servers on loopback: who is called how often, also where the helper fails."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ai_battle import create_client
from ai_battle.assembly.models import RetryPolicy
from ai_battle.collaboration import Helping
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import EmptyAnswer
from ai_battle.core.exchange import ModelResponse
from ai_battle.core.helping import DraftDropped, HelpFailed, StuckFound
from ai_battle.judging.detector import StuckDetector
from ai_battle.testing import FakeProvider, FakeProviders, Reply, fault, reply

from .acting import ADVICE, GOOD, POOR, STRATEGIES, HelpLog, Judge, model_request, same

SMALL = "ollama/gemma3:1b"
LARGE = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-5", "gemini": "gemini/gemini-2.5-pro"}
ONCE = RetryPolicy(retries=0, seconds=5.0)
TROUBLES: dict[str, Callable[[], Any]] = {
    "returns 500": lambda: fault(500),
    "times out": lambda: fault("stall_before_headers"),
    "stops in the middle": lambda: fault("stall_mid_stream"),
    "refuses": lambda: fault("refusal"),
    "returns nothing": lambda: reply(""),
}
CALLS = {
    "rescue": (2, 1, GOOD),
    "takeover": (1, 1, ADVICE),
    "ladder": (2, 1, GOOD),
    "critique": (2, 1, GOOD),
    "draft_verify": (2, 1, GOOD),
}


@pytest.fixture(params=LARGE)
def helper(request: pytest.FixtureRequest, fakes: FakeProviders) -> FakeProvider:
    found: FakeProvider = getattr(fakes, request.param)
    return found


@pytest.fixture(params=STRATEGIES)
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def complete(client: ModelClient) -> tuple[ModelResponse, HelpLog]:
    try:
        response = await client.complete(model_request(), heard := HelpLog())
    finally:
        await client.aclose()
    assert heard.text == response.text
    assert same(heard.usage(), response.usage)
    return response, heard


def pair(strategy: str, helper: FakeProvider, **options: Any) -> ModelClient:
    options = {"stuck_detector": Judge(), **options}
    small, large = create_client(SMALL, retry=ONCE), create_client(LARGE[helper.name], retry=ONCE)
    return STRATEGIES[strategy](small, large, **options)


async def test_who_is_called_how_often(strategy: str, helper: FakeProvider, fakes: FakeProviders) -> None:
    fakes.ollama.says(POOR, GOOD)
    helper.says(ADVICE)
    response, heard = await complete(pair(strategy, helper))

    small_calls, large_calls, text = CALLS[strategy]
    assert (response.text, len(fakes.ollama.questions), len(helper.questions)) == (text, small_calls, large_calls)
    assert heard.of(HelpFailed) == []
    assert "tool_choice" not in helper.questions[0].body
    assert heard.usage("helper").cost_usd
    assert heard.usage("own").cost_usd == 0


async def test_a_good_answer_calls_no_helper(strategy: str, fakes: FakeProviders) -> None:
    helper = fakes.openai
    fakes.ollama.says(GOOD)
    response, _ = await complete(pair(strategy, helper))
    assert (response.text, len(fakes.ollama.questions), len(helper.questions)) == (GOOD, 1, 0)


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_helper_in_trouble_leaves_the_own_answer(strategy: str, fakes: FakeProviders, trouble: str) -> None:
    """The large model's API is another one with each trouble."""
    helper: FakeProvider = getattr(fakes, [*LARGE][len(trouble) % len(LARGE)])
    fakes.ollama.says(POOR, GOOD)
    helper.always(TROUBLES[trouble]())
    stalls = trouble in ("times out", "stops in the middle")
    response, heard = await complete(pair(strategy, helper, helping=Helping(timeout=3.0 if stalls else 60.0)))

    assert (response.text, len(fakes.ollama.questions), len(helper.questions)) == (POOR, 1, 1)
    [failed] = heard.of(HelpFailed)
    assert failed.reason


async def test_the_real_detector_calls_for_help_where_an_answer_loops(
    helper: FakeProvider, fakes: FakeProviders
) -> None:
    fakes.ollama.says("Let me think again. " * 60, "Two and two is four.")
    helper.says(ADVICE)
    response, _ = await complete(pair("rescue", helper, stuck_detector=StuckDetector()))

    assert response.text == "Two and two is four."
    assert (len(fakes.ollama.questions), len(helper.questions)) == (2, 1)


async def test_cancelling_hangs_up_on_the_helper(strategy: str, fakes: FakeProviders) -> None:
    helper = fakes.anthropic
    fakes.ollama.always(POOR)
    helper.always(fault("stall_mid_stream"))
    client = pair(strategy, helper)
    turn = asyncio.ensure_future(client.complete(model_request()))
    for _ in range(200):
        if helper.open_requests:
            break
        await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await client.aclose()
    for _ in range(100):
        if not helper.open_requests:
            break
        await asyncio.sleep(0.01)

    assert (len(helper.questions), helper.open_requests) == (1, 0)
    assert len(fakes.ollama.questions) == 1


@pytest.mark.parametrize("silence", [reply(""), reply("", thinking="Hm."), reply("", stop="length")])
async def test_a_model_that_says_nothing_is_helped(strategy: str, fakes: FakeProviders, silence: Reply) -> None:
    """To the client an empty answer is an error; where somebody can help it is the clearest case for help."""
    fakes.ollama.says(silence, GOOD)
    fakes.openai.says(ADVICE)
    response, heard = await complete(pair(strategy, fakes.openai))

    assert response.text == CALLS[strategy][2]
    assert [found.signals for found in heard.of(StuckFound)] == [{"silence": 1.0}]
    assert heard.of(DraftDropped) == []


async def test_a_model_that_refuses_without_a_word_is_helped(strategy: str, fakes: FakeProviders) -> None:
    fakes.anthropic.says(reply("", stop="refusal"), GOOD)
    fakes.openai.says(ADVICE)
    small = create_client(LARGE["anthropic"], retry=ONCE)
    helper = create_client(LARGE["openai"], retry=ONCE)
    response, _ = await complete(STRATEGIES[strategy](small, helper, stuck_detector=Judge()))
    assert response.text == CALLS[strategy][2]


async def test_a_model_that_says_nothing_and_is_not_helped_is_an_error(strategy: str, fakes: FakeProviders) -> None:
    fakes.ollama.always(reply(""))
    fakes.openai.always(fault(500))
    client = pair(strategy, fakes.openai)
    with pytest.raises(EmptyAnswer, match="The answer is empty"):
        await client.complete(model_request(), heard := HelpLog())
    await client.aclose()

    assert heard.text == ""
    assert (len(fakes.ollama.questions), len(fakes.openai.questions)) == (1, 1)
