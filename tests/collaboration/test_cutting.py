"""A draft that shows early that it comes to nothing is cut short, and the help starts at once."""

import asyncio
import random

import pytest

from ai_battle import create_client
from ai_battle.assembly.models import RetryPolicy
from ai_battle.collaboration import Helping, HelpLimits
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import EmptyAnswer
from ai_battle.core.events import DraftDelta, Emit, ModelReplied, Retrying, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.helping import DraftDropped, StuckFound
from ai_battle.core.messages import assistant
from ai_battle.judging.detector import StuckDetector
from ai_battle.testing import FakeProviders, call, reply
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient

from .acting import ADVICE, GOOD, STRATEGIES, HelpLog, Judge, large, model, model_request, same
from .test_takeover import Counter

LOOP = "Hm, wait. " * 100
TYPES = {
    "ollama": "ollama/gemma3:1b",
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-pro",
}


class Patient:
    """Gives an answer up when it has waited three times."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, text: str) -> str:
        self.text += text
        return "It only waits." if self.text.count("wait") >= 3 else ""


class Watching(Judge):
    """A judge that also reads along."""

    def watch(self, request: ModelRequest, *, thinking: bool = False) -> Patient:
        return Patient()


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_draft_is_cut_short_and_helped(strategy: str) -> None:
    small, big = model(LOOP, GOOD), large(ADVICE)
    client = STRATEGIES[strategy](small.client, big.client, stuck_detector=Watching())
    response = await client.complete(model_request(), heard := HelpLog())

    assert response.text == (ADVICE if strategy == "takeover" else GOOD)
    assert heard.text == response.text
    drafts = "".join(event.text for event in heard.of(DraftDelta))
    assert drafts.startswith("Hm, wait. Hm, wait. Hm, wait.")
    assert drafts.count("Hm, wait.") == 3
    assert [found.reason for found in heard.of(StuckFound)] == ["It only waits."]
    assert "It only waits." in big.last or strategy == "takeover"


async def test_what_was_paid_for_and_what_was_saved_is_told() -> None:
    small, big = model(LOOP, GOOD), large(ADVICE)
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Watching())
    response = await client.complete(model_request(options={"max_tokens": 500}), heard := HelpLog())

    [dropped] = heard.of(DraftDropped)
    first = heard.of(ModelReplied)[0]
    assert (first.estimated, first.stop, first.usage) == (True, "length", dropped.usage)
    assert 8 <= dropped.usage.output_tokens <= 16
    assert dropped.usage.cost_usd
    assert 485 <= dropped.saved_tokens < 500
    assert same(heard.usage(), response.usage)


async def test_thinking_that_goes_nowhere_is_cut_short_too() -> None:
    """It costs as much as an answer, and is none: the helper hears of an attempt without a word."""
    small, big = model({"think": LOOP, "say": "Four."}, GOOD), large(ADVICE)
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Watching())
    response = await client.complete(model_request(options={"max_tokens": 500}), heard := HelpLog())

    assert (response.text, small.calls, big.calls) == (GOOD, 2, 1)
    [dropped] = heard.of(DraftDropped)
    assert dropped.usage.output_tokens > 200
    assert dropped.saved_tokens < 300
    assert "Hm, wait." not in big.last


async def test_thinking_and_the_answer_after_it_are_read_apart() -> None:
    small, big = model({"think": "wait, wait", "say": "wait: four"}), large(ADVICE)
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Watching())
    assert (await client.complete(model_request())).text == "wait: four"


async def test_without_a_limit_of_tokens_as_much_again_counts_as_saved() -> None:
    client = STRATEGIES["rescue"](model(LOOP, GOOD).client, large(ADVICE).client, stuck_detector=Watching())
    await client.complete(model_request(), heard := HelpLog())
    assert heard.of(DraftDropped)[0].saved_tokens == 9


async def test_a_model_that_is_not_metered_is_estimated() -> None:
    small, big = model(LOOP, GOOD), large(ADVICE)
    client = STRATEGIES["rescue"](small.script, big.script, stuck_detector=Watching())
    response = await client.complete(model_request(), heard := HelpLog())

    [dropped] = heard.of(DraftDropped)
    assert dropped.usage.input_tokens > 0
    assert response.usage.output_tokens > dropped.usage.output_tokens


async def test_an_answer_that_was_cut_is_none_where_the_helper_fails() -> None:
    """The small model answers to its end then: what it says is better than half of it."""
    small, big = model(LOOP, loop=True), large({"fail": "server_error"})
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Watching())
    response = await client.complete(model_request(), heard := HelpLog())

    assert response.text == LOOP
    assert (small.calls, big.calls) == (2, 1)
    assert len(heard.of(DraftDropped)) == 1


async def test_an_answer_that_was_cut_is_none_where_nothing_comes_after_it_either() -> None:
    small, big = model(LOOP, {"fail": "empty"}), large({"fail": "server_error"})
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Watching())

    with pytest.raises(EmptyAnswer):
        await client.complete(model_request())


async def test_nothing_is_cut_where_nobody_can_help() -> None:
    small, big = model(LOOP), large(ADVICE)
    helping = Helping(limits=HelpLimits(calls=0))
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Watching(), helping=helping)
    assert (await client.complete(model_request())).text == LOOP
    assert small.calls == 1


async def test_an_attempt_with_advice_that_waits_again_is_dropped_for_a_whole_one() -> None:
    small, big = model(LOOP, LOOP, "Four, I think."), large(ADVICE)
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Watching())
    response = await client.complete(model_request(), heard := HelpLog())

    assert (response.text, small.calls, big.calls) == ("Four, I think.", 3, 1)
    assert len(heard.of(DraftDropped)) == 2


async def test_a_text_that_is_repeated_as_the_answer_is_no_loop() -> None:
    """A client may show a draft and then say the same aloud; that is twice the text, and one answer."""

    class Twice(ModelClient):
        async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
            await emit(DraftDelta("Please wait, wait."))
            await emit(TextDelta("Please wait, wait."))
            return ModelResponse(assistant("Please wait, wait."))

    client = STRATEGIES["rescue"](Twice(), large(ADVICE).client, stuck_detector=Watching())
    assert (await client.complete(model_request())).text == "Please wait, wait."


async def test_each_round_of_a_model_with_tools_is_read_from_its_beginning() -> None:
    counter = Counter()
    script = ({"say": "wait", "call": call("count")}, {"say": "wait", "call": call("count", n=1)}, "wait: four")
    small, big = model(*script), large(ADVICE)
    tools = ToolCapableClient(small.client, [counter], RunnerLimits(backoff_seconds=0))
    response = await STRATEGIES["rescue"](tools, big.client, stuck_detector=Watching()).complete(model_request())
    assert (response.text, big.calls) == ("wait: four", 0)


def rambling() -> str:
    """The same eight sentences in ever another order."""
    chance = random.Random(1)
    things = ("the tray", "the roll", "the baker", "the oven", "the flour", "the order", "the morning", "the price")
    sentences = [f"Now let us think about {thing} and what it means for the sum. " for thing in things]
    return "".join(chance.choice(sentences) for _ in range(200))


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("Let me count the trays again. " * 400, "goes round in circles"),
        ("I'm sorry, but I can't help with that. " + "There are many reasons for it, as you know. " * 300, "refuses"),
        (rambling(), "the same again and again"),
    ],
    ids=["it loops", "it refuses", "it rambles"],
)
async def test_the_real_detector_reads_along(says: str, reason: str) -> None:
    small, big = model(says, "2 + 2 = 4. The answer is 4."), large(ADVICE)
    client = STRATEGIES["takeover"](small.client, big.client, stuck_detector=StuckDetector())
    response = await client.complete(model_request(), heard := HelpLog())

    assert response.text == ADVICE
    [found] = heard.of(StuckFound)
    assert reason in found.reason
    [dropped] = heard.of(DraftDropped)
    assert dropped.usage.output_tokens < len(says) / 3.6 / 3
    assert dropped.saved_tokens > 0


async def test_the_real_detector_lets_a_good_answer_come_to_its_end() -> None:
    answer = " ".join(f"{n} and {n} are {2 * n}." for n in range(300)) + " The answer is 4."
    client = STRATEGIES["rescue"](model(answer).client, large(ADVICE).client, stuck_detector=StuckDetector(0.0))
    assert (await client.complete(model_request())).text == answer


@pytest.mark.parametrize(
    ("wire", "transport"),
    [*((wire, "aiohttp") for wire in TYPES), ("openai", "sdk")],
)
async def test_the_model_is_hung_up_on(wire: str, transport: str, fakes: FakeProviders) -> None:
    """The server sees that nobody reads on, the call is not made again, and nothing is left running."""
    fake = getattr(fakes, wire)
    fake.says(reply(LOOP, pace=0.01), GOOD)
    base_url = fakes.environment["OPENAI_BASE_URL"] if wire == "openai" else fake.url
    small = create_client(TYPES[wire], retry=RetryPolicy(2, 10.0), base_url=base_url, transport=transport)
    client = STRATEGIES["rescue"](small, large(ADVICE).client, stuck_detector=Watching())
    response = await client.complete(model_request(), heard := HelpLog())
    for _ in range(100):
        if fake.questions[0].finished:
            break
        await asyncio.sleep(0.01)

    assert response.text == GOOD
    assert len(fake.questions) == 2
    assert fake.questions[0].disconnected
    assert heard.of(Retrying) == []
    assert heard.of(DraftDropped)[0].usage.output_tokens < 20
    await client.aclose()
