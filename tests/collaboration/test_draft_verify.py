"""Draft and verify: a few words of the helper, which accept a doubtful answer or correct it."""

from dataclasses import replace

import pytest

from ai_battle.collaboration.draft_verify import correction
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.helping import HelpFailed

from .acting import GOOD, POOR, STRATEGIES, HelpLog, Judge, large, model, model_request


class Cut(ModelClient):
    """A helper whose tokens end in the middle."""

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return replace(await large("The sum of").client.complete(request, emit), stop="length")


async def test_an_answer_that_is_accepted_stands() -> None:
    small, big = model(POOR), large("ACCEPT")
    client = STRATEGIES["draft_verify"](small.client, big.client, stuck_detector=Judge())
    response = await client.complete(model_request(), heard := HelpLog())

    assert (response.text, small.calls, big.calls) == (POOR, 1, 1)
    assert heard.usage("helper").output_tokens < 10
    assert heard.story == ["StuckFound", "HelpAsked"]


async def test_a_correction_goes_to_the_small_model() -> None:
    small, big = model(POOR, GOOD), large("CORRECTION: 2 + 2 = 4.")
    client = STRATEGIES["draft_verify"](small.client, big.client, stuck_detector=Judge())
    response = await client.complete(model_request())

    assert (response.text, small.calls, big.calls) == (GOOD, 2, 1)
    assert "<correction>\n2 + 2 = 4.\n</correction>" in small.last


async def test_the_helper_may_write_little() -> None:
    small, big = model(POOR), large("ACCEPT")
    await STRATEGIES["draft_verify"](small.client, big.client, stuck_detector=Judge()).complete(model_request())
    assert big.requests[0].options == {"max_tokens": 200}

    small, big = model(POOR), large("ACCEPT")
    client = STRATEGIES["draft_verify"](small.client, big.client, stuck_detector=Judge(), max_tokens=20)
    await client.complete(model_request())
    assert big.requests[0].options == {"max_tokens": 20}


@pytest.mark.parametrize(
    ("reply", "corrected"),
    [
        ("ACCEPT", ""),
        ("accept.", ""),
        ("**ACCEPT**", ""),
        ("  `ACCEPT`\n", ""),
        ("Accepted: all is right.", ""),
        ("ACCEPTABLE answers would be 4 or four.", "ACCEPTABLE answers would be 4 or four."),
        ("The answer is 4.", "The answer is 4."),
        ("**Correction:** the answer is 4.", "the answer is 4."),
        ("I can't ACCEPT this: it is 4.", "I can't ACCEPT this: it is 4."),
        ("The unit needs a correction: metres.", "The unit needs a correction: metres."),
        ("", ""),
        ("Verdict: ACCEPT", ""),
        ("**Verdict:** ACCEPT.", ""),
        ("2 + 2 is 4, as the attempt says.\n\nACCEPT", ""),
        ("The working holds.\n**ACCEPT**\n", ""),
        ("ACCEPT. The sum is right, and so is the unit.", ""),
        ("Accepted, but the unit is wrong: it is metres.", "Accepted, but the unit is wrong: it is metres."),
        ("ACCEPT with one correction: 2 + 2 = 4.", "ACCEPT with one correction: 2 + 2 = 4."),
        ("ACCEPT? The sum should be 4.", "ACCEPT? The sum should be 4."),
        ("It is 4.\nI do not ACCEPT", "It is 4.\nI do not ACCEPT"),
    ],
)
def test_a_verdict_is_read(reply: str, corrected: str) -> None:
    assert correction(reply) == corrected


async def test_a_correction_that_is_cut_off_corrects_nothing() -> None:
    small = model(POOR)
    client = STRATEGIES["draft_verify"](small.client, Cut(), stuck_detector=Judge())
    response = await client.complete(model_request(), heard := HelpLog())

    assert (response.text, small.calls) == (POOR, 1)
    assert heard.of(HelpFailed)[0].reason == "its correction was cut off after 200 tokens"
