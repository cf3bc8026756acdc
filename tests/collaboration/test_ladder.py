"""Ladder: more help the more often it was needed, and less again when it was not."""

import pytest

from ai_battle.collaboration.ladder import HANDOVER, HINT, PLAN, TAKEOVER, Ladder, LadderState
from ai_battle.core.helping import HelpAsked, LadderStood

from .acting import GOOD, POOR, STRATEGIES, HelpLog, Judge, Model, large, model, model_request


def climbing(small: Model, big: Model, rung: int = HINT) -> Ladder:
    return Ladder(small.client, big.client, stuck_detector=Judge(), standing=LadderState(rung))


async def strategies_asked(ladder: Ladder) -> list[str]:
    """Returns the strategies by which the helper was asked in one turn."""
    await ladder.complete(model_request(), heard := HelpLog())
    return [event.strategy for event in heard.of(HelpAsked)]


async def test_help_grows_within_a_turn_until_it_is_enough() -> None:
    small, big = model(POOR, POOR, GOOD), large("Think of fingers.", "1. Count. 2. Say it.")
    ladder = climbing(small, big)

    assert await strategies_asked(ladder) == ["ladder: hint", "ladder: plan"]
    assert "Give it one hint" in big.requests[0].messages[0].text
    assert "numbered steps" in big.requests[1].messages[0].text
    assert (small.calls, big.calls) == (3, 2)


async def test_in_the_end_the_helper_answers() -> None:
    small, big = model(POOR, loop=True), large("A hint.", "A plan.", "Four.")
    ladder = climbing(small, big)
    response = await ladder.complete(model_request(), heard := HelpLog())

    assert (response.text, small.calls, big.calls) == ("Four.", 3, 3)
    assert [event.strategy for event in heard.of(HelpAsked)][-1] == "ladder: takeover"
    assert response.usage == heard.usage("own") + heard.usage("helper")
    assert len(heard.story) == 3 + 3 + 3


async def test_a_model_that_stays_stuck_is_handed_over_and_comes_back() -> None:
    """Two troubled turns lead up a rung; the handed-over turns cost the small model nothing; then it gets its trial."""
    small, big = model(POOR, loop=True), large("Four.", loop=True)
    ladder = climbing(small, big)
    rungs = []
    for _ in range(9):
        await ladder.complete(model_request())
        rungs.append(ladder.state.rung)

    assert rungs == [HINT, PLAN, PLAN, TAKEOVER, TAKEOVER, HANDOVER, HANDOVER, HANDOVER, TAKEOVER]
    assert small.calls == 3 + 3 + 2 + 2 + 1 + 1


async def test_the_way_back_leads_down_rung_by_rung() -> None:
    ladder = climbing(model(GOOD, loop=True), large("Four.", loop=True), HANDOVER)
    rungs = []
    for _ in range(12):
        await ladder.complete(model_request())
        rungs.append(ladder.state.rung)
    assert rungs == [HANDOVER] * 2 + [TAKEOVER] * 3 + [PLAN] * 3 + [HINT] * 4


async def test_help_begins_where_it_was_needed_before() -> None:
    small, big = model(POOR, GOOD), large("A plan.")
    assert await strategies_asked(climbing(small, big, PLAN)) == ["ladder: plan"]


@pytest.mark.parametrize(
    ("turns", "rung"),
    [
        ([PLAN, None, PLAN], HINT),
        ([PLAN, PLAN], PLAN),
        ([HINT, HINT, HINT], HINT),
        ([TAKEOVER, TAKEOVER, None, None], PLAN),
        ([TAKEOVER, TAKEOVER, None, None, None], HINT),
        ([TAKEOVER, TAKEOVER, None, None, PLAN, None], PLAN),
    ],
    ids=["one is none", "two are", "enough is enough", "not yet calm", "calm", "calm in a row"],
)
def test_it_takes_several_turns_to_move(turns: list[int | None], rung: int) -> None:
    state = LadderState()
    for needed in turns:
        state.note_calm() if needed is None else state.note_help(needed)
    assert state.rung == rung


async def test_a_hand_over_that_fails_leaves_the_small_models_own_answer() -> None:
    small, big = model(POOR, loop=True), large({"fail": "server_error"}, loop=True)
    ladder = climbing(small, big, HANDOVER)
    response = await ladder.complete(model_request(), heard := HelpLog())

    assert (response.text, small.calls, big.calls) == (POOR, 1, 1)
    assert heard.of(HelpAsked)[0].strategy == "ladder: hand over"


async def test_a_helper_that_is_down_is_no_reason_to_climb() -> None:
    ladder = climbing(model(POOR, loop=True), large({"fail": "server_error"}, loop=True))
    for _ in range(5):
        await ladder.complete(model_request())
    assert ladder.state == LadderState()


async def test_several_ladders_lead_from_helper_to_helper() -> None:
    """A small model with a middle one, and with a large one where that is not enough."""
    small, middle, big = model(POOR, loop=True), model(POOR, loop=True), large("A hint.", "A plan.", "Four.")
    client = STRATEGIES["ladder"](small.client, middle.client, stuck_detector=Judge())
    client = STRATEGIES["ladder"](client, big.client, stuck_detector=Judge())
    response = await client.complete(model_request())

    assert response.text == "Four."
    assert big.calls == 3


async def test_each_client_stands_on_its_own() -> None:
    """A participant of another run has a client of its own, and so begins with a hint."""
    small, big = model(POOR, loop=True), large("Four.", loop=True)
    tired = climbing(small, big)
    for _ in range(2):
        await tired.complete(model_request())
    assert (tired.state.rung, climbing(small, big).state.rung) == (PLAN, HINT)


async def test_where_it_stands_is_told_after_each_turn_that_moved_it() -> None:
    """What the journal keeps is enough to go on from, also for the second ladder of a participant."""
    small, big = model(POOR, loop=True), large("Four.", loop=True)
    ladder = Ladder(small.client, big.client, stuck_detector=Judge(), standing=LadderState(ladder=1))
    for _ in range(3):
        await ladder.complete(model_request(), heard := HelpLog())
    (stood,) = heard.of(LadderStood)
    later = LadderState(ladder=1)
    later.go_on_from(stood)

    assert stood == LadderStood(PLAN, troubled=1, ladder=1)
    assert later == ladder.state


@pytest.mark.parametrize("rung", [-1, 4, 99])
def test_a_rung_that_there_is_none_of_is_passed_over(rung: int) -> None:
    state = LadderState()
    state.go_on_from(LadderStood(rung, 1, 1))

    assert state == LadderState()
