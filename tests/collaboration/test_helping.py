"""Helpers: what they may use and see, and that the turn goes on without them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ai_battle.collaboration import Helping, HelpLimits, HelpUse, Sees
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import BudgetExceeded, ConfigError, JournalError
from ai_battle.core.events import Emit, Event, ModelReplied, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Stop, ToolSpec, Usage
from ai_battle.core.helping import DraftDropped, HelpAsked, HelpFailed
from ai_battle.core.ledger import Ledger
from ai_battle.core.messages import Image, Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.providers.scripted import ScriptedClient

from .acting import (
    ADVICE,
    GOOD,
    POOR,
    STRATEGIES,
    HelpLog,
    Judge,
    Model,
    large,
    model,
    model_request,
    request_text,
    same,
)

LOOK = ToolSpec("look", "Looks up a word.", {"type": "object", "properties": {"word": {"type": "string"}}})
LONG_TALK = ModelRequest(
    (user("The goal is peace."), *(assistant(f"Remark {n}. " + "so " * 3000) for n in range(20)), user("And now?")),
    system="You are Ann, and live at 4 Elm Street.",
    tools=(LOOK,),
)


class Raising(ModelClient):
    """A helper from elsewhere, which fails in its own way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        raise self.error


class InSteps(ModelClient):
    """A model with tools: two calls for one answer, which it may decline to give."""

    def __init__(self, text: str, stop: Stop = "end") -> None:
        self.response = ModelResponse(assistant(text), stop=stop, usage=Usage(20, 10, cost_usd=0.2))

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        for _ in range(2):
            await emit(ModelReplied("steps", Usage(10, 5, cost_usd=0.1), 0.1))
        return self.response


@pytest.fixture(params=STRATEGIES)
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def helper_prompt(sees: Sees, request: ModelRequest = LONG_TALK, strategy: str = "rescue", **helping: Any) -> str:
    """All that the helper was sent for a poor answer."""
    small, big = model(f"{POOR} My secret attempt.", loop=True), large(ADVICE)
    client = STRATEGIES[strategy](
        small.client, big.client, stuck_detector=Judge(), helping=Helping(sees=sees, **helping)
    )
    await client.complete(request)
    return request_text(big.requests[0])


async def complete_with_help(
    strategy: str, helper: ModelClient, **helping: Any
) -> tuple[ModelResponse, Model, HelpLog]:
    """The answer of a model that stays poor, with a helper."""
    small = model(POOR, loop=True)
    client = STRATEGIES[strategy](small.client, helper, stuck_detector=Judge(), helping=Helping(**helping))
    response = await client.complete(model_request(), heard := HelpLog())
    assert heard.text == response.text
    return response, small, heard


@pytest.mark.parametrize(
    ("helper", "reason"),
    [
        (lambda: ScriptedClient({"fail": "server_error"}), "the server failed"),
        (lambda: ScriptedClient({"fail": "refused"}), "declined to answer"),
        (lambda: ScriptedClient(""), "gave an empty answer"),
        (lambda: Raising(BudgetExceeded("The run may spend no more.")), "may spend no more"),
        (lambda: Raising(KeyError("choices")), "The helper failed: KeyError: 'choices'"),
    ],
    ids=["fails", "refuses", "says nothing", "has no budget", "raises"],
)
async def test_a_helper_without_help_leaves_the_own_answer(
    strategy: str, helper: Callable[[], ModelClient], reason: str
) -> None:
    response, small, heard = await complete_with_help(strategy, helper())

    assert (response.text, small.calls) == (POOR, 1)
    [failed] = heard.of(HelpFailed)
    assert failed.strategy.startswith(strategy)
    assert reason in failed.reason
    assert heard.usage("own").total_tokens <= response.usage.total_tokens


async def test_a_helper_that_takes_too_long_is_given_up(strategy: str) -> None:
    before = asyncio.all_tasks()
    helper = ScriptedClient({"say": ADVICE, "delay": 60})
    response, small, heard = await complete_with_help(strategy, helper, timeout=0.05)

    assert (response.text, small.calls) == (POOR, 1)
    assert heard.of(HelpFailed)[0].reason == "no answer within 0.05 s"
    assert asyncio.all_tasks() == before


async def test_what_a_failed_helper_has_used_counts(strategy: str) -> None:
    use = HelpUse()
    response, _, heard = await complete_with_help(strategy, Broken(large(ADVICE).client), use=use)

    assert same(response.usage, heard.usage())
    assert use.ledger.usage.total_tokens == heard.usage("helper").total_tokens > 0


class Broken(ModelClient):
    """Replies, and then fails all the same."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await self.client.complete(request, emit)
        raise BudgetExceeded("nothing is left")


async def test_a_journal_that_can_not_be_written_ends_the_turn() -> None:
    """That is not a failure of the helper."""

    async def full(event: Event) -> None:
        if isinstance(event, ModelReplied) and event.role == "helper":
            raise JournalError("The disk is full.")

    client = STRATEGIES["rescue"](model(POOR, loop=True).client, large(ADVICE).client, stuck_detector=Judge())
    with pytest.raises(JournalError):
        await client.complete(model_request(), full)


async def test_without_a_limit_every_stuck_turn_is_helped() -> None:
    big = large(ADVICE, loop=True)
    client = STRATEGIES["rescue"](model(POOR, loop=True).client, big.client, stuck_detector=Judge())
    for _ in range(3):
        await client.complete(model_request())
    assert big.calls == 3


@pytest.mark.parametrize(
    ("limits", "calls"),
    [
        (HelpLimits(calls=2), 2),
        (HelpLimits(tokens=1), 0),
        (HelpLimits(cost_usd=0.000001), 0),
        (HelpLimits(calls=0), 0),
        (HelpLimits(calls=2, per="turn"), 4),
    ],
    ids=["calls", "tokens", "dollars", "none", "per turn"],
)
async def test_limits_of_a_run_hold_over_its_turns(limits: HelpLimits, calls: int) -> None:
    big = large(ADVICE, loop=True)
    helping = Helping(limits=limits)
    client = STRATEGIES["rescue"](model(POOR, loop=True).client, big.client, stuck_detector=Judge(), helping=helping)
    logs = [HelpLog() for _ in range(4)]
    for log in logs:
        assert (await client.complete(model_request(), log)).text == POOR

    assert big.calls == calls
    refused = [failed for log in logs for failed in log.of(HelpFailed)]
    assert len(refused) == 4 - calls
    assert all("helpers" in failed.reason for failed in refused)


async def test_a_limit_of_the_turn_ends_the_climb_of_a_ladder() -> None:
    big = large(ADVICE, loop=True)
    helping = Helping(limits=HelpLimits(calls=1, per="turn"))
    client = STRATEGIES["ladder"](model(POOR, loop=True).client, big.client, stuck_detector=Judge(), helping=helping)
    response = await client.complete(model_request(), heard := HelpLog())

    assert (response.text, big.calls) == (POOR, 1)
    assert heard.of(HelpFailed)[0].reason == "the limit of calls for helpers is reached (1 of 1 per turn)"


async def test_calls_made_at_once_keep_the_limit_of_calls() -> None:
    big = large(ADVICE, loop=True)
    helping = Helping(limits=HelpLimits(calls=3))
    client = STRATEGIES["rescue"](model(POOR, loop=True).client, big.client, stuck_detector=Judge(), helping=helping)
    await asyncio.gather(*(client.complete(model_request()) for _ in range(20)))
    assert (big.calls, helping.use.calls) == (3, 3)


async def test_what_a_run_has_used_goes_on_counting_in_another_process() -> None:
    helping = Helping(limits=HelpLimits(calls=3), use=HelpUse(Ledger(Usage(400, 100, cost_usd=0.01), 0.01), 2))
    big = large(ADVICE, loop=True)
    client = STRATEGIES["rescue"](model(POOR, loop=True).client, big.client, stuck_detector=Judge(), helping=helping)
    for _ in range(3):
        await client.complete(model_request())

    assert (big.calls, helping.use.calls) == (1, 3)
    assert helping.use.ledger.usage.total_tokens > 500
    assert helping.use.ledger.known_cost > 0.01


async def test_a_helper_that_sees_the_prompt_sees_nothing_else(strategy: str) -> None:
    text = await helper_prompt("prompt", strategy=strategy)

    assert "And now?" in text
    for other in ("Remark", "peace", "Elm Street", "secret attempt", "It says so itself"):
        assert other not in text


async def test_a_helper_that_sees_the_attempt_sees_no_history() -> None:
    text = await helper_prompt("attempt")

    assert "And now?" in text
    assert "secret attempt" in text
    assert "It says so itself" in text
    for other in ("Remark", "peace", "Elm Street"):
        assert other not in text


async def test_a_history_that_is_long_keeps_its_goal_and_what_is_new() -> None:
    text = await helper_prompt("history")

    assert "The goal is peace." in text
    assert "Elm Street" in text
    assert "Remark 19." in text
    assert "Remark 0." not in text
    assert "messages left out]" in text
    assert len(text) < 60_000


async def test_an_attempt_that_is_long_is_shown_at_both_ends() -> None:
    small, big = model("Begin. " + "word " * 50_000 + "End. [q=0.1]", loop=True), large(ADVICE)
    await STRATEGIES["rescue"](small.client, big.client, stuck_detector=Judge()).complete(model_request())

    assert "Begin." in big.last
    assert "End. [q=0.1]" in big.last
    assert "characters left out" in big.last
    assert len(big.last) < 12_000


async def test_tools_are_described_in_text_and_not_offered() -> None:
    small, big = model(POOR, GOOD), large(ADVICE)
    await STRATEGIES["rescue"](small.client, big.client, stuck_detector=Judge()).complete(LONG_TALK)

    assert "look: Looks up a word." in big.last
    assert '"properties": {"word": {"type": "string"}}' in big.last
    assert (big.requests[0].tools, big.requests[0].tool_choice) == ((), "none")
    assert small.requests[1].tools == (LOOK,)


async def test_the_work_that_tools_did_is_part_of_the_history() -> None:
    looked = ToolCall("look", {"word": "peace"}, "c1")
    messages = (
        user("What is peace?"),
        Message("assistant", (looked,)),
        Message("tool", (ToolResult(looked, (Text("the absence of war"),)),)),
    )
    small, big = model(POOR, GOOD), large(ADVICE)
    await STRATEGIES["rescue"](small.client, big.client, stuck_detector=Judge()).complete(ModelRequest(messages))

    assert "<prompt>\nWhat is peace?\n</prompt>" in big.last
    assert 'assistant: calls look {"word": "peace"}' in big.last
    assert "look returned: the absence of war" in big.last
    assert [message.role for message in small.requests[1].messages] == ["user", "assistant", "tool", "user"]


async def test_pictures_of_the_prompt_are_shown() -> None:
    picture = Image("image/png", b"png")
    small, big = model(POOR, GOOD), large(ADVICE)
    client = STRATEGIES["rescue"](small.client, big.client, stuck_detector=Judge())
    await client.complete(ModelRequest((Message("user", (picture, Text("What is this?"))),)))
    assert picture in big.requests[0].messages[0].parts


async def test_all_that_goes_to_a_helper_is_redacted(strategy: str) -> None:
    request = ModelRequest((user("I am Ann Lee."), assistant("Hello Ann Lee!"), user("Who is Ann Lee?")), "To Ann Lee.")
    small, big = model(f"{POOR} Ann Lee.", GOOD), large(ADVICE)
    helping = Helping(redact=lambda text: text.replace("Ann Lee", "[name]"))
    client = STRATEGIES[strategy](small.client, big.client, stuck_detector=Judge(), helping=helping)
    await client.complete(request)

    assert "Ann Lee" not in big.last
    assert "Who is [name]?" in big.last
    assert "Ann Lee" in request_text(small.requests[0])


async def test_a_redaction_that_fails_keeps_everything_here(strategy: str) -> None:
    def raise_error(text: str) -> str:
        raise ValueError("no such pattern")

    helper = large(ADVICE)
    response, _, heard = await complete_with_help(strategy, helper.client, redact=raise_error)

    assert (response.text, helper.calls) == (POOR, 0)
    assert "so nothing was sent" in heard.of(HelpFailed)[0].reason


async def test_a_redacted_model_sees_neither_names_in_results_nor_pictures() -> None:
    called = ToolCall("look", {"who": ["Ann Lee"]}, "c1", malformed='{"who": "Ann Lee')
    parts = (Text("Ann Lee lives here."), Image("image/png", b"png"))
    messages = (
        Message("user", (Image("image/png", b"png"), Text("Look up Ann Lee."))),
        Message("assistant", (called,)),
        Message("tool", (ToolResult(called, parts),)),
    )
    helper = ScriptedClient("Done.")
    helping = Helping(redact=lambda text: text.replace("Ann Lee", "[name]"))
    client = STRATEGIES["takeover"](model(POOR).client, helper, stuck_detector=Judge(), helping=helping)
    await client.complete(ModelRequest(messages))

    [sent] = helper.requests
    assert "Ann Lee" not in str(sent)
    assert "Image(" not in str(sent)
    assert sent.messages[1].tool_calls[0].arguments == {"who": ["[name]"]}
    assert sent.messages[2].tool_results[0].parts[0] == Text("[name] lives here.")


async def test_that_help_is_asked_says_what_the_helper_sees() -> None:
    client = STRATEGIES["rescue"](
        model(POOR, GOOD).client, large(ADVICE).client, stuck_detector=Judge(), helping=Helping(sees="attempt")
    )
    await client.complete(model_request(), heard := HelpLog())
    assert [event.sees for event in heard.of(HelpAsked)] == ["attempt"]


async def test_what_a_helper_said_that_is_of_no_use_is_dropped(strategy: str) -> None:
    _, _, heard = await complete_with_help(strategy, InSteps("I can't help with that.", "refusal"))

    said = "I can't help with that."
    dropped = DraftDropped(f"it declined to answer: {said}", Usage(20, 10, cost_usd=0.2), "helper", calls=2, text=said)
    assert dropped in heard.of(DraftDropped)


@pytest.mark.parametrize(
    "said", ["I'm sorry, but I can't help with that.", "I won\u2019t answer this.", "很抱歉\uff0c我不能。"]
)
async def test_a_helper_that_declines_in_words_is_of_no_use_either(strategy: str, said: str) -> None:
    response, _, heard = await complete_with_help(strategy, ScriptedClient(said))

    assert response.text == POOR
    assert [event.reason for event in heard.of(HelpFailed)] == [f"scripted declined to answer: {said}"]


async def test_advice_that_quotes_a_refusal_declines_nothing(strategy: str) -> None:
    advice = "It says \"I'm sorry, but I can't help with that\", and it can: the number is seven."
    _, _, heard = await complete_with_help(strategy, ScriptedClient(advice, loop=True))

    assert heard.of(HelpFailed) == []


async def test_an_answer_that_took_several_calls_is_dropped_with_all_of_them() -> None:
    client = STRATEGIES["takeover"](InSteps(POOR), large(GOOD).client, stuck_detector=Judge())
    await client.complete(model_request(), heard := HelpLog())

    assert [(each.usage.input_tokens, each.calls) for each in heard.of(DraftDropped)] == [(20, 2)]


@pytest.mark.parametrize(
    ("make", "terms", "words"),
    [
        (Helping, {"timeout": 0}, "timeout is in seconds, more than 0, not 0."),
        (Helping, {"sees": "promt"}, "sees is one of prompt, attempt, history, not 'promt'."),
        (HelpLimits, {"calls": -1}, "calls is at least 0, not -1."),
        (HelpLimits, {"calls": 1, "per": "day"}, "per is turn or run, not 'day'."),
    ],
)
def test_terms_that_would_mean_something_else_are_refused(
    make: Callable[..., Any], terms: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        make(**terms)
    assert str(refused.value) == words
