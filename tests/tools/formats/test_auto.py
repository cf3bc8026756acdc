"""Which way of calling a model gets, and what its refusals teach."""

import json
from collections.abc import Collection
from typing import Any

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ProviderError
from ai_battle.core.events import Emit, EventLog, Warned, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.messages import Message, ToolCall, ToolResult, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import contract
from ai_battle.tools.formats.auto import AutoTools, InProcessRefusals, refuses_blocks, refuses_tools

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"what": {"type": "string"}}})
REQUEST = ModelRequest((user("Well?"),), tools=(LOOK,))
CALL = ToolCall("look", {"what": "a"}, "call_1")
AFTER = (user("Well?"), Message("assistant", (CALL,)), Message("tool", (ToolResult(CALL),)))
REFUSALS = [
    (400, "registry.ollama.ai/library/phi4 does not support tools"),
    (400, "phi4 does not support tools\nthinking"),
    (404, "No endpoints found that support tool use. To learn more about provider routing, visit ..."),
    (404, "No endpoints found that support the provided 'tool_choice' value."),
    (400, "Function calling is not enabled for models/gemma-3-1b-it"),
    (404, "tools is not supported in this model."),
    (400, "The model does not support tool use or function calling but tools or tool_choice have been specified"),
    (400, "This model doesn't support tool use."),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (400, "Unsupported parameter: 'tools' is not supported with this model."),
    (400, "'claude-2.1' does not support tool types: custom."),
]
OTHERS = [
    (400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
    (400, "Invalid schema for function 'look': None is not of type 'object'."),
    (400, "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"),
    (401, "This key does not support tools"),
    (400, "messages: text content blocks must be non-empty"),
    (400, "Unsupported parameter: 'temperature' is not supported with this model."),
]
BLOCKS = [
    "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    "Requests which include `tool_use` or `tool_result` blocks must define tools.",
]


class Refusing(ModelClient):
    """Refuses the requests that `refuses` says, and lets a scripted model answer the others."""

    def __init__(self, error: ProviderError, *script: Any, blocks: bool = False) -> None:
        self.model = ScriptedClient(*script)
        self.refused = 0
        self._error = error
        self._blocks = blocks

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        has_blocks = any(message.tool_results for message in request.messages)
        if has_blocks and not request.tools if self._blocks else request.tools:
            self.refused += 1
            raise self._error
        return await self.model.complete(request, emit)


def error(status: int, text: str) -> ProviderError:
    return ProviderError(text, status=status)


@pytest.mark.parametrize("calling", ["auto", "native", "json", "text"])
@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
async def test_every_way_keeps_the_contract(check: contract.Check, calling: Any) -> None:
    subject = contract.wrapper(lambda inner: AutoTools(inner, calling))
    await check(contract.Subject(subject.answers, subject.fails, subject.stalls, REQUEST))


@pytest.mark.parametrize(("status", "text"), REFUSALS)
async def test_a_model_that_refuses_tools_gets_them_in_the_text_from_then_on(status: int, text: str) -> None:
    model = Refusing(error(status, text), '```tool\n{"tool": "look", "parameters": {}}\n```', "Done.")
    client = AutoTools(model, refusal_key=("ollama", "phi4"))

    response = await client.complete(REQUEST, log := EventLog())
    await client.complete(REQUEST)

    assert [call.name for call in response.tool_calls] == ["look"]
    assert model.refused == 1
    assert any(isinstance(event, Warned) and "ollama/phi4 refuses tools" in event.message for event in log.events)


@pytest.mark.parametrize(("status", "text"), OTHERS)
async def test_other_errors_are_not_taken_for_a_refusal(status: int, text: str) -> None:
    with pytest.raises(ProviderError):
        await AutoTools(Refusing(error(status, text), "Done.")).complete(REQUEST)


async def test_a_refusal_is_remembered_by_endpoint_and_model() -> None:
    memory = InProcessRefusals()
    first = Refusing(error(*REFUSALS[0]), "Done.")
    await AutoTools(first, memory=memory, refusal_key=("ollama", "phi4")).complete(REQUEST)
    assert "tools" in memory.refuses("ollama", "phi4")

    same, other = ScriptedClient("Done."), ScriptedClient("Done.")
    await AutoTools(same, memory=memory, refusal_key=("ollama", "phi4")).complete(REQUEST)
    await AutoTools(other, memory=memory, refusal_key=("ollama", "qwen3")).complete(REQUEST)
    assert not same.requests[0].tools
    assert other.requests[0].tools


class ShortMemory(InProcessRefusals):
    """Forgets when it is told to."""

    is_over = False

    def refuses(self, endpoint: str, model: str) -> Collection[str]:
        return () if self.is_over else super().refuses(endpoint, model)


async def test_what_was_forgotten_is_tried_natively_again() -> None:
    memory = ShortMemory()
    memory.remember("ollama", "phi4", "tools")
    model = ScriptedClient("One.", "Two.")
    client = AutoTools(model, memory=memory, refusal_key=("ollama", "phi4"))
    await client.complete(REQUEST)
    memory.is_over = True
    await client.complete(REQUEST)
    assert [bool(request.tools) for request in model.requests] == [False, True]


async def test_a_model_that_is_known_to_have_no_tools_is_not_asked() -> None:
    model = ScriptedClient("Done.")
    await AutoTools(model, native=False).complete(REQUEST)
    assert not model.requests[0].tools


async def test_native_means_native() -> None:
    with pytest.raises(ProviderError, match="does not support tools"):
        await AutoTools(Refusing(error(*REFUSALS[0])), "native").complete(REQUEST)


async def test_json_means_json() -> None:
    model = ScriptedClient('{"toolCalls": [], "content": "Hi.", "needsMoreWork": false}')
    response = await AutoTools(model, "json").complete(REQUEST)
    assert (response.text, model.requests[0].output_schema is None) == ("Hi.", False)


@pytest.mark.parametrize("text", BLOCKS)
async def test_tool_blocks_that_are_refused_without_tools_become_text(text: str) -> None:
    model = Refusing(error(400, text), "Done.", "Done.", blocks=True)
    client = AutoTools(model)
    await client.complete(ModelRequest(AFTER))
    await client.complete(ModelRequest(AFTER))
    assert model.refused == 1
    assert all(not message.tool_calls for message in model.model.requests[1].messages)


async def test_what_a_provider_could_not_read_as_a_call_is_handed_on_as_text() -> None:
    raw = json.dumps(
        {"error": {"code": "tool_use_failed", "failed_generation": '<function=look>{"what": "a"}</function>'}}
    )
    failed = ProviderError("Failed to call a function.", status=400)
    failed.raw = raw
    response = await AutoTools(Refusing(failed)).complete(REQUEST, log := EventLog())
    assert response.text == log.text == '<function=look>{"what": "a"}</function>'


def test_refusals_are_told_apart() -> None:
    assert all(refuses_tools(error(*refusal)) and not refuses_blocks(error(*refusal)) for refusal in REFUSALS)
    assert not any(refuses_tools(error(*other)) for other in OTHERS)
    assert all(refuses_blocks(error(400, text)) for text in BLOCKS)
