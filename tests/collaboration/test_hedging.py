"""Hedged help: the helper starts beside a slow model, the first good answer is taken, both calls are paid for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ai_battle.cli import run_command
from ai_battle.collaboration import Hedge, Helping, HelpLimits, takeover
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError, Unreachable
from ai_battle.core.events import ModelReplied, TextDelta
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import HelpAsked, HelpFailed
from ai_battle.tools.client import ToolCapableClient

from .acting import GOOD, LARGE_PRICE, POOR, SMALL_PRICE, HelpLog, Judge, Model, large, model, model_request
from .test_takeover import Counter

BIG = "It is four, says the large one."
NEVER = 60.0
SOON = 0.02


def hedging_client(small: Model, big: Model, wait: float | str = SOON, **options: Any) -> ModelClient:
    return takeover.create(small.client, big.client, stuck_detector=Judge(), hedge=Hedge(wait), **options)


def after(seconds: float, text: str) -> dict[str, Any]:
    return {"say": text, "delay": seconds}


async def test_a_model_that_is_in_time_gets_no_help() -> None:
    small, big = model(GOOD), large(BIG)
    response = await hedging_client(small, big, NEVER).complete(model_request())

    assert (response.text, big.calls) == (GOOD, 0)


async def test_the_helper_answers_where_the_model_is_slow_and_only_its_answer_is_heard() -> None:
    small, big = model("One word and then another and another", pace=NEVER), large(BIG)
    response = await hedging_client(small, big).complete(model_request(), heard := HelpLog())

    assert response.text == BIG
    assert [event.text for event in heard.of(TextDelta)] == [BIG]
    assert [event.reason for event in heard.of(HelpAsked)] == ["there is no good answer after 0.02 s"]


async def test_the_model_that_was_cancelled_is_paid_for_what_it_read_and_wrote() -> None:
    """To the cent: what came of its answer is counted, at its own price, once."""
    small, big = model("One word and then another and another", pace=NEVER), large(BIG)
    response = await hedging_client(small, big).complete(model_request(), heard := HelpLog())

    assert {event.role: event.estimated for event in heard.of(ModelReplied)} == {"own": True, "helper": False}
    used = heard.usage("own")
    assert used.input_tokens > 0
    assert 0 < used.output_tokens <= 2
    assert used.cost_usd == pytest.approx(SMALL_PRICE.cost(used))
    assert response.usage.cost_usd == pytest.approx(SMALL_PRICE.cost(used) + LARGE_PRICE.cost(heard.usage("helper")))


async def test_a_helper_that_is_too_late_is_cancelled_paid_for_and_counted_by_the_limits() -> None:
    helping = Helping(limits=HelpLimits(calls=1))
    small, big = model(after(0.3, GOOD), after(0.1, GOOD)), large(after(NEVER, BIG))
    client = hedging_client(small, big, helping=helping)
    response = await client.complete(model_request(), heard := HelpLog())

    assert response.text == GOOD
    assert [event.reason for event in heard.of(HelpFailed)] == ["the model that it helps has answered first"]
    cost = LARGE_PRICE.cost(heard.usage("helper"))
    assert cost > 0
    assert helping.use.ledger.known_cost == pytest.approx(cost)
    assert response.usage.cost_usd == pytest.approx(cost + SMALL_PRICE.cost(heard.usage("own")))

    assert (await client.complete(model_request())).text == GOOD
    assert big.calls == 1, "the limit of one call is reached"


async def test_a_helper_that_is_under_way_is_not_asked_again_for_an_answer_that_is_poor() -> None:
    small, big = model(after(0.1, POOR)), large(after(0.3, BIG))
    response = await hedging_client(small, big).complete(model_request())

    assert (response.text, big.calls) == (BIG, 1)


async def test_a_poor_answer_that_is_in_time_is_taken_over_as_without_a_hedge() -> None:
    small, big = model(POOR), large(BIG)
    response = await hedging_client(small, big, NEVER).complete(model_request())

    assert (response.text, small.calls, big.calls) == (BIG, 1, 1)


async def test_the_model_is_waited_for_where_the_helper_fails() -> None:
    small, big = model(after(0.2, GOOD)), large({"fail": "server_error"})
    response = await hedging_client(small, big).complete(model_request())

    assert (response.text, big.calls) == (GOOD, 1)


async def test_the_helper_answers_for_a_model_that_fails_late() -> None:
    small, big = model({"fail": "server_error", "delay": 0.1}), large(after(0.3, BIG))
    assert (await hedging_client(small, big).complete(model_request())).text == BIG


async def test_where_both_fail_the_error_is_that_of_the_model() -> None:
    small, big = model({"fail": "unreachable", "delay": 0.1}), large({"fail": "refused"})
    with pytest.raises(Unreachable):
        await hedging_client(small, big).complete(model_request())


async def test_who_leaves_ends_both_calls() -> None:
    is_asked = asyncio.Event()

    def late(request: ModelRequest) -> dict[str, Any]:
        is_asked.set()
        return after(NEVER, BIG)

    small, big = model(after(NEVER, GOOD)), large(late)
    answering = asyncio.create_task(hedging_client(small, big).complete(model_request(), heard := HelpLog()))
    await is_asked.wait()
    await asyncio.sleep(0)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)

    assert answering.cancelled()
    assert {event.role for event in heard.of(ModelReplied)} == {"own", "helper"}


async def test_a_quantile_waits_to_the_end_until_twenty_latencies_are_known() -> None:
    slow = after(NEVER, GOOD)
    small, big = model(after(0.3, GOOD), *[after(0.001, GOOD)] * 19, slow), large(BIG)
    client = hedging_client(small, big, "p95")
    for _ in range(20):
        assert (await client.complete(model_request())).text == GOOD
    assert big.calls == 0

    assert (await client.complete(model_request())).text == BIG


async def test_models_that_run_tools_are_not_hedged() -> None:
    small = ToolCapableClient(model(GOOD).client, [Counter()])
    with pytest.raises(ConfigError, match="both would run the tools"):
        takeover.create(small, large(BIG).client, hedge=Hedge(SOON))


TALK = """\
discussion:
  goal: How tall is the tower?
  models:
    Small: {{type: scripted/small, script: [Hm.]{tools}}}
    Asker: {{type: scripted/asker, script: [Hm.]}}
  tools: [code_execution]
  collaboration:
    pairs:
      - primary: Small
        secondary: {{type: scripted/large, script: [Hm.]{helper}}}
        strategy: {strategy}
        hedge: {{wait: {wait}}}
"""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"wait": "p95"}, ""),
        ({"wait": "p100"}, "hedge.wait: must be seconds, such as 5, or a quantile from p50 to p99"),
        ({"wait": "0"}, "hedge.wait: must be seconds"),
        ({"strategy": "rescue"}, "hedge: rescue has no such option; takeover has it"),
        ({"tools": ""}, "hedge: lets two models answer at once"),
        ({"helper": ", tools: [code_execution]"}, "hedge: lets two models answer at once"),
    ],
)
def test_a_file_says_where_a_hedge_means_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, str], said: str
) -> None:
    filled = {"tools": ", tools: []", "helper": "", "strategy": "takeover", "wait": "0.5", **changed}
    path = tmp_path / "talk.yaml"
    path.write_text(TALK.format(**filled))
    code = run_command(["validate", str(path)])
    shown = capsys.readouterr()

    assert (code == 0) == (not said)
    assert said in shown.out + shown.err


class Clocked:
    """A hedge that knows how slow the small model is, and what the helper took for requests with these beginnings."""

    def __init__(self, worth: float, *, poor: float = 0.0) -> None:
        self.hedge = Hedge("p95", worth)
        for number in range(100):
            self.hedge.record(2.0 if number % 10 else 20.0, poor=number < 100 * poor)

    def call(self, request: ModelRequest, usd: float | None) -> None:
        for _ in range(4):  # of which the first is cold
            self.hedge.record_call(request, 3.0, usd)


async def test_the_helper_starts_when_the_seconds_it_saves_are_worth_its_call() -> None:
    """Answers of 2 s are waited for; of what takes longer, 15 s are saved, for a cent and a half at this worth.

    What costs more pays only for an answer that is slower than all before, and is expected to take as long again.
    """
    cheap, dear = Clocked(0.001), Clocked(0.001)
    cheap.call(model_request(), 0.014)
    dear.call(model_request(), 0.018)
    assert cheap.hedge.seconds(model_request()) == 2.0
    assert dear.hedge.seconds(model_request()) == pytest.approx(18 + 3)


async def test_a_prefix_that_the_provider_has_kept_starts_the_helper_earlier() -> None:
    """The first call of each beginning is cold, and costs ten times as much as those that follow."""
    known, warm, cold = Clocked(0.001), model_request("Known."), model_request("New.")
    for number in range(3):
        known.hedge.record_call(model_request(f"{number}"), 3.0, 0.02)
    known.hedge.record_call(warm, 3.0, 0.02)
    known.call(warm, 0.001)
    assert known.hedge.seconds(warm) == 0.0
    assert known.hedge.seconds(cold) == pytest.approx(20 + 3)


async def test_help_that_is_due_in_any_case_starts_at_once() -> None:
    poor = Clocked(0.001, poor=0.9)
    poor.call(model_request(), 0.014)
    assert poor.hedge.seconds(model_request()) == 0.0


async def test_without_a_price_of_the_helper_the_quantile_holds() -> None:
    unknown = Clocked(0.001)
    unknown.call(model_request(), None)
    assert unknown.hedge.seconds(model_request()) == 20.0


async def test_a_pair_learns_what_its_helper_takes() -> None:
    """Poor answers bring the helper in until enough is known: then it starts at once, as it will be due in any case."""
    hedge = Hedge("p50", 1e-9)
    small = model(*[POOR] * 20, after(NEVER, GOOD))
    pair = takeover.create(small.client, large(*[BIG] * 21).client, stuck_detector=Judge(), hedge=hedge)
    for _ in range(21):
        assert (await pair.complete(model_request(), heard := HelpLog())).text == BIG
    assert heard.of(HelpAsked)[0].reason == "there is no good answer after 0 s"


@pytest.mark.parametrize(("doubt", "is_early"), [(0.8, True), (0.95, False)])
async def test_the_helper_starts_where_the_beginning_of_an_answer_is_doubtful(doubt: float, is_early: bool) -> None:
    small = model("[q=0.1] " + "and another word " * 30, pace=0.01)
    hedge = Hedge("p95", doubt=doubt)
    pair = takeover.create(small.client, large(BIG).client, stuck_detector=Judge(), hedge=hedge)
    response = await pair.complete(model_request(), heard := HelpLog())

    assert response.text == BIG
    (help_asked,) = heard.of(HelpAsked)
    assert (help_asked.reason == "what there is of its answer is doubtful") == is_early
