"""Points 31 to 40: an advisor that gives no advice. The worker hears why and goes on; the request does not fail."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, call, fault, reply

from ..protocol.speaking import speaking
from ..serving import serving
from .conftest import ADVISORS, TOOL, Stage, Write, codes_in, results_in, words_of

FOUND = "It is line 3."
CODES: dict[str, tuple[Any, ...]] = {
    "prompt_too_long": (fault("context_length", times=9),),
    "too_many_requests": (fault("http_429", times=9),),
    "overloaded": (fault("http_529", times=9),),
    "model_not_found": (fault("http_404", times=9),),
    "unavailable": (fault("http_500", times=9),),
}
UNAVAILABLE: dict[str, Any] = {
    "a key that is not accepted": fault("http_401", times=9),
    "a connection that breaks": fault("close_before_headers", times=9),
    "an empty answer": fault("empty_answer", times=9),
    "a page of a gateway": fault("html_200", times=9),
    "nothing but calls": call("read_file", path="a.py"),
}


@pytest.mark.parametrize("code", [*CODES])
async def test_31_each_failure_has_its_code(stage: Stage, code: str) -> None:
    stage.worker.says(call("advisor"), FOUND)
    stage.advisor.says(*CODES[code])
    message = await stage.answer()

    assert results_in(message) == [{"type": "advisor_tool_result_error", "error_code": code}]
    assert (message.text, message.stop_reason) == (FOUND, "end_turn")


@pytest.mark.parametrize("code", [*CODES])
@pytest.mark.parametrize("advisor", [*ADVISORS])
async def test_32_the_code_is_the_same_whatever_api_the_advisor_is_behind(
    fakes: FakeProviders, write: Write, advisor: str, code: str
) -> None:
    fakes.gemini.says(call("advisor"), FOUND)
    getattr(fakes, advisor).says(*CODES[code])
    file = write(
        f"server: {{routes: {{worker: gemini/gemini-2.5-flash}}, advisors: {{'claude-*': {ADVISORS[advisor]}}}}}"
    )
    async with serving(fakes, file) as address, speaking(address, "worker") as client:
        stage = Stage(client, fakes.gemini, getattr(fakes, advisor), "gemini", is_streamed=False)
        message = await stage.answer()

    assert codes_in(message) == [code]
    assert message.text == FOUND


@pytest.mark.parametrize("failure", [*UNAVAILABLE])
async def test_33_every_other_failure_is_unavailable(one: Stage, failure: str) -> None:
    one.worker.says(call("advisor"), FOUND)
    one.advisor.always(UNAVAILABLE[failure])
    message = await one.answer()

    assert codes_in(message) == ["unavailable"]
    assert message.text == FOUND


async def test_34_the_worker_is_told_in_words_that_there_is_no_advice(stage: Stage) -> None:
    stage.worker.says(call("advisor"), FOUND)
    stage.advisor.says(fault("http_500", times=9))
    await stage.answer()
    told = stage.worker_request()

    assert told.links == told.calls
    assert "advice" in told.of("result")[0].lower()


async def test_35_questions_beyond_max_uses_are_answered_with_a_code(stage: Stage) -> None:
    again = [reply(f"Try {number}.", calls=[call("advisor")]) for number in range(2)]
    stage.worker.says(*again, FOUND)
    stage.advisor.always("Look at the loop.")
    message = await stage.answer(tools=[{**TOOL, "max_uses": 1}])

    assert codes_in(message) == [None, "max_uses_exceeded"]
    assert (len(stage.advisor.questions), message.text.endswith(FOUND)) == (1, True)


async def test_36_uses_are_counted_in_each_request_anew(one: Stage) -> None:
    one.advisor.always("Look at the loop.")
    for _ in range(2):
        one.worker.says(call("advisor"), FOUND)
        message = await one.answer(tools=[{**TOOL, "max_uses": 1}])
        assert codes_in(message) == [None]


async def test_37_a_worker_that_does_nothing_but_ask_comes_to_an_end(one: Stage) -> None:
    """Without a `max_uses` there is a bound of ours, and the client gets an answer or an error in its own API."""
    one.worker.always(call("advisor"))
    one.advisor.always("Look at the loop.")
    answered = await one.client.post(
        "messages", {"max_tokens": 64, "messages": [{"role": "user", "content": "?"}], "tools": [TOOL]}
    )

    assert answered.status == 502
    assert "The model only asked for advice" in words_of(answered)
    assert len(one.worker.questions) < 30


async def test_38_an_advisor_that_refuses_has_none_to_give(one: Stage) -> None:
    one.worker.says(call("advisor"), FOUND)
    one.advisor.says(reply("I can't help with that.", stop="refusal"))
    message = await one.answer()
    [content] = results_in(message)

    assert content["error_code"] == "unavailable"
    assert message.text == FOUND


@pytest.fixture
async def hasty(is_streamed: bool, fakes: FakeProviders, write: Write) -> AsyncIterator[Stage]:
    """A server whose requests may take two seconds."""
    file = write("server: {routes: {worker: openai/gpt-4o}, advisors: {'claude-*': ollama/qwen3}, request_timeout: 2}")
    async with serving(fakes, file) as address, speaking(address, "worker") as client:
        yield Stage(client, fakes.openai, fakes.ollama, "openai", is_streamed)


async def test_39_an_advisor_that_hangs_leaves_time_for_the_worker(hasty: Stage) -> None:
    hasty.worker.says(call("advisor"), FOUND)
    hasty.advisor.always(fault("stall_before_headers"))
    message = await hasty.answer()

    assert codes_in(message) == ["execution_time_exceeded"]
    assert message.text == FOUND


async def test_40_the_error_of_a_worker_stays_an_error_of_the_request(one: Stage) -> None:
    one.worker.always(fault("http_429"))
    answered = await one.client.post(
        "messages", {"max_tokens": 64, "messages": [{"role": "user", "content": "?"}], "tools": [TOOL]}
    )

    assert (answered.status, answered.body["error"]["type"]) == (429, "rate_limit_error")
