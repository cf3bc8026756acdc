"""The official SDKs as clients, each in its synchronous and asynchronous form, streamed and not, over each API."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProvider, FakeProviders, call, fault, reply

from .protocol.conftest import MODELS
from .protocol.sent import Sent, read_sent
from .protocol.test_messages_requests import PIXEL
from .serving import serving

MODEL = "claude-opus-4"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
Calls = list[tuple[str, str, Any]]


@dataclass(frozen=True)
class Said:
    text: str
    calls: Calls
    thinking: str
    stop: str | None
    tokens: int
    model: str


class SdkConversation:
    """A conversation through one SDK; what is asked and answered stands in `history`, as the SDK wants it."""

    errors: Any

    def __init__(self, url: str, is_async: bool, is_streamed: bool) -> None:
        self.history: list[Any] = []
        self.is_async = is_async
        self.is_streamed = is_streamed

    async def say(self, text: str, image: str = "", **more: Any) -> Said:
        raise NotImplementedError

    async def give_back(self, results: dict[str, str], **more: Any) -> Said:
        """Results of tools, by the ids of their calls."""
        raise NotImplementedError

    async def run(self, whole: Callable[[], Any], streamed: Callable[[], Any], final: str) -> Any:
        """The answer: from the call `whole`, or from all of what `streamed` opens."""
        if not self.is_async:
            return await asyncio.to_thread(self._in_thread, whole, streamed, final)
        if not self.is_streamed:
            return await whole()
        async with streamed() as stream:
            async for _ in stream:
                pass
            return await getattr(stream, final)()

    def _in_thread(self, whole: Callable[[], Any], streamed: Callable[[], Any], final: str) -> Any:
        if not self.is_streamed:
            return whole()
        with streamed() as stream:
            for _ in stream:
                pass
            return getattr(stream, final)()


def sdk_client(package: Any, name: str, url: str, is_async: bool) -> Any:
    """A client of the SDK without the certificates, which take longer to read than all that is tested here."""
    kind, http = ("Async", package.DefaultAsyncHttpxClient) if is_async else ("", package.DefaultHttpxClient)
    make = getattr(package, kind + name)
    return make(base_url=url, api_key="none", max_retries=0, http_client=http(verify=False))


class MessagesConversation(SdkConversation):
    errors = anthropic

    def __init__(self, url: str, is_async: bool, is_streamed: bool) -> None:
        super().__init__(url, is_async, is_streamed)
        self.client = sdk_client(anthropic, "Anthropic", url, is_async)

    async def say(self, text: str, image: str = "", **more: Any) -> Said:
        source = {"type": "base64", "media_type": "image/png", "data": image}
        pictures = [{"type": "image", "source": source}] if image else []
        self.history.append({"role": "user", "content": [*pictures, {"type": "text", "text": text}]})
        return await self._answer(**more)

    async def give_back(self, results: dict[str, str], **more: Any) -> Said:
        blocks = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in results.items()]
        self.history.append({"role": "user", "content": blocks})
        return await self._answer(**more)

    async def _answer(self, tools: bool = False) -> Said:
        asked: dict[str, Any] = {"model": MODEL, "max_tokens": 2000, "messages": self.history}
        if tools:
            asked["tools"] = [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}]
        ask = self.client.messages
        message = await self.run(lambda: ask.create(**asked), lambda: ask.stream(**asked), "get_final_message")
        self.history.append({"role": "assistant", "content": message.content})
        return Said(
            "".join(block.text for block in message.content if block.type == "text"),
            [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"],
            "".join(block.thinking for block in message.content if block.type == "thinking"),
            message.stop_reason,
            message.usage.output_tokens,
            message.model,
        )


class ChatConversation(SdkConversation):
    errors = openai

    def __init__(self, url: str, is_async: bool, is_streamed: bool) -> None:
        super().__init__(url, is_async, is_streamed)
        self.client = sdk_client(openai, "OpenAI", f"{url}/v1", is_async)

    async def say(self, text: str, image: str = "", **more: Any) -> Said:
        url = {"url": f"data:image/png;base64,{image}"}
        pictures = [{"type": "image_url", "image_url": url}] if image else []
        self.history.append({"role": "user", "content": [*pictures, {"type": "text", "text": text}]})
        return await self._answer(**more)

    async def give_back(self, results: dict[str, str], **more: Any) -> Said:
        self.history += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results.items()]
        return await self._answer(**more)

    async def _answer(self, tools: bool = False) -> Said:
        asked: dict[str, Any] = {"model": MODEL, "messages": self.history}
        if tools:
            function = {"name": "add", "description": "Adds.", "parameters": SCHEMA}
            asked["tools"] = [{"type": "function", "function": function}]
        ask = self.client.chat.completions
        options = {"stream_options": {"include_usage": True}}
        completion = await self.run(
            lambda: ask.create(**asked), lambda: ask.stream(**asked, **options), "get_final_completion"
        )
        [choice] = completion.choices
        message = choice.message
        calls = message.tool_calls or []
        self.history.append(message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True))
        return Said(
            message.content or "",
            [(each.id, each.function.name, json.loads(each.function.arguments)) for each in calls],
            getattr(message, "reasoning_content", None) or "",
            {"stop": "end_turn", "tool_calls": "tool_use"}.get(choice.finish_reason, choice.finish_reason),
            completion.usage.completion_tokens,
            completion.model,
        )


class ResponsesConversation(SdkConversation):
    errors = openai

    def __init__(self, url: str, is_async: bool, is_streamed: bool) -> None:
        super().__init__(url, is_async, is_streamed)
        self.client = sdk_client(openai, "OpenAI", f"{url}/v1", is_async)

    async def say(self, text: str, image: str = "", **more: Any) -> Said:
        url = f"data:image/png;base64,{image}"
        pictures = [{"type": "input_image", "detail": "auto", "image_url": url}] if image else []
        self.history.append({"role": "user", "content": [*pictures, {"type": "input_text", "text": text}]})
        return await self._answer(**more)

    async def give_back(self, results: dict[str, str], **more: Any) -> Said:
        items = ({"type": "function_call_output", "call_id": id_, "output": text} for id_, text in results.items())
        self.history += items
        return await self._answer(**more)

    async def _answer(self, tools: bool = False) -> Said:
        asked: dict[str, Any] = {"model": MODEL, "input": self.history}
        if tools:
            asked["tools"] = [{"type": "function", "name": "add", "description": "Adds.", "parameters": SCHEMA}]
        ask = self.client.responses
        response = await self.run(lambda: ask.create(**asked), lambda: ask.stream(**asked), "get_final_response")
        self.history += [item.model_dump(exclude_none=True) for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        thought = [item for item in response.output if item.type == "reasoning"]
        return Said(
            response.output_text,
            [(each.call_id, each.name, json.loads(each.arguments)) for each in calls],
            "".join(part.text for item in thought for part in item.summary),
            "tool_use" if calls else {"completed": "end_turn"}.get(response.status, response.status),
            response.usage.output_tokens,
            response.model,
        )


@dataclass
class Stage:
    talk: SdkConversation
    upstream: FakeProvider
    wire: str

    def upstream_request(self) -> Sent:
        return read_sent(self.wire, self.upstream.questions[-1].body)


TALKS: dict[str, type[SdkConversation]] = {
    "messages": MessagesConversation,
    "chat": ChatConversation,
    "responses": ResponsesConversation,
}


@pytest.fixture(params=[wire if wire == "openai" else pytest.param(wire, marks=pytest.mark.slow) for wire in MODELS])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=TALKS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["sync", "async", "sync streamed", "async streamed"])
async def stage(request: pytest.FixtureRequest, api: str, wire: str, fakes: FakeProviders) -> AsyncIterator[Stage]:
    way: str = request.param
    async with AsyncExitStack() as running:
        url = await running.enter_async_context(serving(fakes, BIG_MODEL=MODELS[wire]))
        talk = TALKS[api](url, way.startswith("async"), way.endswith("streamed"))
        yield Stage(talk, getattr(fakes, wire), wire)
        client: Any = talk.client  # type: ignore[attr-defined]
        await client.close() if talk.is_async else client.close()


async def test_text(stage: Stage) -> None:
    stage.upstream.says(reply("Good morning, all of you: 世界.", usage=Usage(40, 7)))
    said = await stage.talk.say("Hello?")

    assert said == Said("Good morning, all of you: 世界.", [], "", "end_turn", 7, MODEL)


async def test_tool_round_trips_of_three_turns(stage: Stage) -> None:
    stage.upstream.says(call("add", a=1), call("add", a=2), "It is 3.")
    first = await stage.talk.say("Add.", tools=True)
    second = await stage.talk.give_back({id_: "one" for id_, _, _ in first.calls}, tools=True)
    third = await stage.talk.give_back({id_: "two" for id_, _, _ in second.calls}, tools=True)
    told = stage.upstream_request()

    assert [each.stop for each in (first, second, third)] == ["tool_use", "tool_use", "end_turn"]
    assert third.text == "It is 3."
    assert told.of("call") == [("add", {"a": 1}), ("add", {"a": 2})]
    assert told.of("result") == ["one", "two"]
    assert told.links == told.calls


async def test_parallel_tools(stage: Stage) -> None:
    stage.upstream.says(reply("Two sums.", calls=[call("add", a=1), call("add", a=2)]), "They are 3.")
    first = await stage.talk.say("Add.", tools=True)
    second = await stage.talk.give_back({id_: f"sum of {given['a']}" for id_, _, given in first.calls}, tools=True)

    assert (first.text, [given for _, _, given in first.calls]) == ("Two sums.", [{"a": 1}, {"a": 2}])
    assert second.text == "They are 3."
    assert stage.upstream_request().of("result") == ["sum of 1", "sum of 2"]


async def test_thinking(stage: Stage) -> None:
    """What was thought comes, and does no harm in the next request."""
    stage.upstream.says(reply("It is 4.", thinking="Two and two."), "Sure.")
    first = await stage.talk.say("Add.")
    second = await stage.talk.say("Sure?")

    assert (first.text, first.thinking, second.text) == ("It is 4.", "Two and two.", "Sure.")


async def test_images(stage: Stage) -> None:
    stage.upstream.says("A dot.")
    said = await stage.talk.say("What is this?", image=PIXEL)

    assert said.text == "A dot."
    assert stage.upstream_request().of("image") == [f"data:image/png;base64,{PIXEL}"]


async def test_errors(stage: Stage) -> None:
    """Each status has its exception, with the words of the upstream."""
    errors = stage.talk.errors
    for status, kind in (
        (400, errors.BadRequestError),
        (429, errors.RateLimitError),
        (500, errors.InternalServerError),
    ):
        stage.upstream.says(fault(status))
        with pytest.raises(kind) as caught:
            await stage.talk.say("Hello?")
        assert f"The fake answers with status {status}." in str(caught.value)
        assert caught.value.request_id


async def test_errors_in_mid_stream(stage: Stage) -> None:
    """An answer that breaks off is never taken for one."""
    stage.upstream.says(fault("close_mid_stream"))
    errors = stage.talk.errors

    if stage.talk.is_streamed and isinstance(stage.talk, ResponsesConversation):
        with pytest.raises((errors.APIError, RuntimeError)):
            await stage.talk.say("Hello?")
    else:
        with pytest.raises(errors.APIError):
            await stage.talk.say("Hello?")


@pytest.mark.parametrize("who", ["the helper", "both"])
async def test_only_an_answer_that_is_a_refusal_is_streamed_as_one(
    fakes: FakeProviders, tmp_path: Path, who: str
) -> None:
    """The helper's refusal is dropped, and with it that it was one."""
    path = tmp_path / "server.yaml"
    path.write_text("server: {routes: {pair: {primary: openai/small, secondary: openai/large, strategy: takeover}}}")
    refusing, unsure = reply("No.", stop="refusal"), reply("I am not sure. I do not know.")
    fakes.openai.always(lambda body: refusing if body["model"] == "large" or who == "both" else unsure)
    asked: Any = {"role": "user", "content": "How tall is the tower?"}
    async with (
        serving(fakes, str(path)) as address,
        openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="x") as client,
    ):
        async with client.chat.completions.stream(model="pair", messages=[asked]) as chat:
            message = (await chat.get_final_completion()).choices[0].message
        async with client.responses.stream(model="pair", input="How tall is the tower?") as responses:
            item: Any = (await responses.get_final_response()).output[-1]

    text, refused = (unsure.text, None) if who == "the helper" else (None, "No.")
    assert (message.content or None, message.refusal) == (text, refused)
    part = item.content[0]
    assert (getattr(part, "text", None), getattr(part, "refusal", None)) == (text, refused)
