"""Critique: what the helper finds wrong goes to the small model, which writes its answer again."""

from .acting import GOOD, POOR, STRATEGIES, HelpLog, Judge, large, model, model_request


async def test_the_answer_is_written_again_with_the_criticism() -> None:
    small, big = model(POOR, GOOD), large("It says no number: say which.")
    client = STRATEGIES["critique"](small.client, big.client, stuck_detector=Judge())
    response = await client.complete(model_request(), heard := HelpLog())

    assert (response.text, small.calls, big.calls) == (GOOD, 2, 1)
    assert "Criticise the attempt" in big.last
    assert f"<attempt>\nassistant: {POOR}\n</attempt>" in small.last
    assert "<criticism>\nIt says no number: say which.\n</criticism>" in small.last
    assert heard.text == GOOD


async def test_a_revision_that_is_worse_is_not_taken() -> None:
    small, big = model("Four? [q=0.5]", "Five. [q=0.3]"), large("Be sure of it.")
    client = STRATEGIES["critique"](small.client, big.client, stuck_detector=Judge())
    assert (await client.complete(model_request())).text == "Four? [q=0.5]"


async def test_a_good_answer_is_not_criticised() -> None:
    small, big = model(GOOD), large("It says no number.")
    await STRATEGIES["critique"](small.client, big.client, stuck_detector=Judge()).complete(model_request())
    assert (small.calls, big.calls) == (1, 0)
