"""A second opinion for any strategy: asked only where it would turn the decision, and weighed as it was measured."""

from typing import Any

import pytest

from ai_battle import StuckDetector
from ai_battle.collaboration import AnswerCheck, Helping, OwnOpinion, PeerOpinion
from ai_battle.core.client import ModelClient
from ai_battle.core.events import ModelReplied
from ai_battle.core.helping import AnswerChecked, DraftDropped, HelpAsked, HelpFailed, StuckFound

from .acting import STRATEGIES, HelpLog, Model, large, model, model_request, request_text, same

PROMPT = "How many are 7 and 11?"
FAIR = "7 + 11 = 18. The answer is 18."
FOUND = StuckDetector().assess(FAIR, PROMPT).quality
PASSES, FAILS = FOUND - 0.02, FOUND + (1 - FOUND) / 3
"""Thresholds at which it passes, but not if another model says something else; or fails, but not if one agrees."""


def client(
    small: Model, big: Model, *checks: AnswerCheck, strategy: str = "rescue", threshold: float = PASSES
) -> ModelClient:
    detector = StuckDetector(threshold, max_retries=1)
    make = STRATEGIES[strategy]
    return make(small.client, big.client, stuck_detector=detector, helping=Helping(checks=checks))


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_where_a_peer_says_something_else_help_is_asked(strategy: str) -> None:
    small, big, peer = model(FAIR, loop=True), large("It is 18.", loop=True), model("The answer is 19.", loop=True)
    await client(small, big, PeerOpinion(peer.client), strategy=strategy).complete(
        model_request(PROMPT), heard := HelpLog()
    )

    assert big.calls >= 1
    assert heard.of(AnswerChecked)[0].reason == "it says '19'"
    assert heard.of(StuckFound)[0].signals["opinion_differs"] == pytest.approx(1.0788, abs=1e-3)
    assert heard.of(StuckFound)[0].reason.startswith("another answer says something else")


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_where_a_peer_says_the_same_the_answer_stands(strategy: str) -> None:
    small, big, peer = model(FAIR), large(), model("I count 18 of them.\n#### 18")
    response = await client(small, big, PeerOpinion(peer.client), strategy=strategy).complete(model_request(PROMPT))

    assert (response.text, peer.calls, big.calls) == (FAIR, 1, 0)


async def test_a_peer_clears_what_the_detector_doubted() -> None:
    small, big, peer = model(FAIR), large(), model("#### 18")
    doubting = client(small, big, PeerOpinion(peer.client), threshold=FAILS)
    response = await doubting.complete(model_request(PROMPT), heard := HelpLog())

    assert (response.text, big.calls, heard.of(StuckFound, HelpAsked)) == (FAIR, 0, [])


@pytest.mark.parametrize(
    "answer", ["The answer is 18.", "I do not know. " * 40, "Farms are wide, and I like them for many reasons. " * 8]
)
async def test_where_nothing_could_be_turned_or_compared_nobody_is_asked(answer: str) -> None:
    small, big, peer = model(answer, loop=True), large("Think.", loop=True), model("#### 18", loop=True)
    await client(small, big, PeerOpinion(peer.client), threshold=0.7).complete(model_request("How do you like farms?"))

    assert peer.calls == 0


async def test_the_first_of_several_may_settle_it() -> None:
    """The second could not turn the decision any more."""
    small, big = model(FAIR), large()
    one, other = model("#### 18"), model("#### 18")
    await client(small, big, PeerOpinion(one.client), PeerOpinion(other.client)).complete(model_request(PROMPT))

    assert (one.calls, other.calls) == (1, 0)


async def test_a_peer_sees_no_attempt_and_has_its_own_row() -> None:
    small, big, peer = model(FAIR), large(), model("#### 18")
    response = await client(small, big, PeerOpinion(peer.client)).complete(model_request(PROMPT), heard := HelpLog())

    assert FAIR not in request_text(peer.requests[0])
    assert [event.role for event in heard.of(ModelReplied)] == ["own", "peer"]
    assert heard.of(HelpAsked) == []
    assert same(response.usage, heard.usage())


async def test_another_sample_is_drawn_otherwise_and_dropped() -> None:
    small, big = model(FAIR, "#### 18"), large()
    own = OwnOpinion(small.client, 2)
    response = await client(small, big, own).complete(model_request(PROMPT, options={"seed": 5}), heard := HelpLog())

    assert response.text == FAIR
    assert small.requests[1].options == {"seed": 7, "temperature": 0.7}
    assert [event.role for event in heard.of(DraftDropped)] == ["own"]
    assert heard.text == FAIR


@pytest.mark.parametrize("fault", [{"fail": "unreachable"}, {"fail": "empty"}])
@pytest.mark.parametrize("kind", ["peer", "own"])
async def test_an_opinion_that_fails_changes_nothing(kind: str, fault: Any) -> None:
    small, big = model(FAIR), large()
    other = model(fault)
    look: AnswerCheck = PeerOpinion(other.client) if kind == "peer" else OwnOpinion(other.client, 1)
    response = await client(small, big, look).complete(model_request(PROMPT), heard := HelpLog())

    assert (response.text, heard.of(AnswerChecked)) == (FAIR, [])
    assert len(heard.of(HelpFailed)) == 1
