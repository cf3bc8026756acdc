"""Anthropic's SDK as a client, in its beta namespace: synchronous and not, whole and through its stream helper."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import (
    BetaAdvisorMessageIterationUsage,
    BetaAdvisorResultBlock,
    BetaAdvisorToolResultBlock,
    BetaAdvisorToolResultErrorObject,
    BetaMessageIterationUsage,
    BetaServerToolUseBlock,
    BetaTextBlock,
)

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, fault, reply

from ..serving import serving
from ..test_sdks import SdkConversation, sdk_client
from .conftest import READ, TOOL, USER, Write, user


class BetaConversation(SdkConversation):
    """A conversation in the beta namespace, with the advisor and one tool of the program's own."""

    errors = anthropic

    def __init__(self, url: str, is_async: bool, is_streamed: bool) -> None:
        super().__init__(url, is_async, is_streamed)
        self.client = sdk_client(anthropic, "Anthropic", url, is_async)

    async def ask(self, message: dict[str, Any], **tool: Any) -> Any:
        """The whole message, which is then part of what is sent next."""
        self.history.append(message)
        asked: dict[str, Any] = {
            "model": "worker",
            "max_tokens": 4096,
            "messages": self.history,
            "tools": [READ, {**TOOL, **tool}],
            "betas": ["advisor-tool-2026-03-01"],
        }
        ask = self.client.beta.messages
        answer = await self.run(lambda: ask.create(**asked), lambda: ask.stream(**asked), "get_final_message")
        self.history.append({"role": "assistant", "content": answer.content})
        return answer


@pytest.fixture(params=["sync", "async", "sync streamed", "async streamed"])
async def talk(request: pytest.FixtureRequest, fakes: FakeProviders, write: Write) -> AsyncIterator[BetaConversation]:
    way: str = request.param
    file = write("server: {routes: {worker: openai/gpt-4o}, advisors: {'claude-opus-*': ollama/qwen3}}")
    async with AsyncExitStack() as running:
        url = await running.enter_async_context(serving(fakes, file))
        told = BetaConversation(url, way.startswith("async"), way.endswith("streamed"))
        yield told
        await told.client.close() if told.is_async else told.client.close()


async def test_blocks_and_usage_have_the_types_of_the_sdk(talk: BetaConversation, fakes: FakeProviders) -> None:
    fakes.openai.says(
        reply("Let me ask.", calls=[call("advisor")], usage=Usage(400, 9)), reply("It is line 3.", usage=Usage(600, 40))
    )
    fakes.ollama.says(reply("Look at the loop.", usage=Usage(800, 160)))
    message = await talk.ask(USER)
    before, question, result, after = message.content
    first, advised, last = message.usage.iterations

    assert isinstance(before, BetaTextBlock)
    assert isinstance(question, BetaServerToolUseBlock)
    assert isinstance(result, BetaAdvisorToolResultBlock)
    assert isinstance(result.content, BetaAdvisorResultBlock)
    assert (result.tool_use_id, result.content.text, after.text) == (question.id, "Look at the loop.", "It is line 3.")
    assert isinstance(first, BetaMessageIterationUsage)
    assert isinstance(advised, BetaAdvisorMessageIterationUsage)
    assert [each.output_tokens for each in (first, advised, last)] == [9, 160, 40]
    assert message.usage.output_tokens == 49


async def test_three_turns_with_advice_and_tools_of_its_own(talk: BetaConversation, fakes: FakeProviders) -> None:
    """What the SDK holds of an answer goes back as its program does it: by `message.content`."""
    fakes.openai.says(
        call("advisor"), call("read_file", path="a.py"), call("advisor"), "It is line 3.", "You are welcome."
    )
    fakes.ollama.says("Read a.py.", "Look at the loop.")
    first = await talk.ask(USER, max_uses=1)
    [call_] = [block for block in first.content if block.type == "tool_use"]
    second = await talk.ask(
        user({"type": "tool_result", "tool_use_id": call_.id, "content": "while True: pass"}), max_uses=1
    )
    third = await talk.ask(user({"type": "text", "text": "Thank you."}))

    assert [first.stop_reason, second.stop_reason, third.stop_reason] == ["tool_use", "end_turn", "end_turn"]
    assert [block.type for block in second.content] == ["server_tool_use", "advisor_tool_result", "text"]
    assert third.content[0].text == "You are welcome."
    last = fakes.openai.questions[-1].raw.decode()
    assert [words for words in ("Read a.py.", "Look at the loop.", "while True") if words not in last] == []


async def test_a_failure_has_the_type_of_the_sdk(talk: BetaConversation, fakes: FakeProviders) -> None:
    fakes.openai.says(call("advisor"), "It is line 3.")
    fakes.ollama.always(fault("http_529"))
    message = await talk.ask(USER, max_uses=2)
    [result] = [block for block in message.content if block.type == "advisor_tool_result"]

    assert isinstance(result.content, BetaAdvisorToolResultErrorObject)
    assert result.content.error_code == "overloaded"


async def test_an_error_of_the_request_is_its_exception(talk: BetaConversation) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        await talk.ask(USER, max_uses=0)

    assert "max_uses" in str(caught.value)
