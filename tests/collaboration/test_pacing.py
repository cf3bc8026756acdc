"""A help rate is what it says, however good the model is that answers."""

import asyncio

import pytest

from ai_battle import StuckDetector
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.providers.scripted import ScriptedClient

from .acting import STRATEGIES

PROMPT = "A tray holds 24 rolls. How many rolls are on 7 trays?"
POOR = "There are 7 trays of 24 rolls, so 7 * 24 = 158 rolls. The answer is 158."
FINE = "There are 7 trays of 24 rolls, so 7 * 24 = 168 rolls.\n#### 168"
TURNS = 60


def turns_with_help(strategy: str, answer: str, detector: StuckDetector, turns: int = TURNS) -> int:
    helper = ScriptedClient("Multiply 7 by 20 and by 4.", loop=True)
    client = STRATEGIES[strategy](ScriptedClient(answer, loop=True), helper, stuck_detector=detector)
    before = 0
    helped = 0
    for _ in range(turns):
        asyncio.run(client.complete(ModelRequest((user(PROMPT),))))
        helped += len(helper.requests) > before
        before = len(helper.requests)
    return helped


@pytest.mark.parametrize("strategy", ["takeover", "rescue"])
@pytest.mark.parametrize("answer", [POOR, FINE], ids=["poor answers", "fine answers"])
def test_about_as_many_turns_get_help_as_the_rate_says(strategy: str, answer: str) -> None:
    """Of the shipped quantiles alone it would be all of the poor ones, and none of the fine ones."""
    assert 0.08 <= turns_with_help(strategy, answer, StuckDetector(help_rate=0.2)) / TURNS <= 0.3


@pytest.mark.parametrize(("answer", "helped"), [(POOR, 10), (FINE, 0)])
def test_a_threshold_stays_where_it_is(answer: str, helped: int) -> None:
    assert turns_with_help("takeover", answer, StuckDetector(0.7, 1), turns=10) == helped


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_never_and_always_stay_that(rate: float) -> None:
    assert turns_with_help("takeover", POOR, StuckDetector(help_rate=rate), turns=10) == 10 * rate


def test_what_fails_a_hard_check_gets_help_all_the_same() -> None:
    detector = StuckDetector(help_rate=0.1)

    assert turns_with_help("takeover", "I'm sorry, I can't answer that.", detector, turns=30) == 30
    assert 0 < turns_with_help("takeover", FINE, detector, turns=200) < 40


def test_judging_alone_moves_nothing() -> None:
    detector = StuckDetector(help_rate=0.2)
    found = {detector.assess(POOR, PROMPT).stuck for _ in range(30)}

    assert found == {True}
