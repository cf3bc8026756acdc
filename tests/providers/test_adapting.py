"""A parameter that a model refuses is left out, said once and remembered."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ai_battle import create_client
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ContextTooLong, ProviderError
from ai_battle.core.events import Emit, EventLog, Warned, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import assistant
from ai_battle.providers._capabilities import RefusalMemory
from ai_battle.testing import FakeProviders, fault

from .conftest import Way


def with_options(request: ModelRequest, **options: Any) -> ModelRequest:
    return replace(request, options=options)


async def test_the_call_is_made_again_without_what_was_refused(way: Way, model_request: ModelRequest) -> None:
    way.fake.says(fault("parameter_refused"), "Fine.")
    client = way.assemble(**({"api_version": "2023-06-01"} if way.wire == "anthropic" else {}))
    options: Mapping[str, Any] = {"reasoning": "high"} if way.wire == "ollama" else {"temperature": 0.3, "top_k": 9}

    response = await client.complete(with_options(model_request, **options), log := EventLog())

    assert response.text == "Fine."
    (warned,) = [event for event in log.events if isinstance(event, Warned)]
    assert "is left out" in warned.message
    first, second = (question.body for question in way.fake.questions)
    assert first != second


async def test_it_is_remembered_by_the_next_client_and_said_once_by_each(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    request = with_options(model_request, temperature=0.3, top_p=0.9)
    fakes.openai.says(fault("parameter_refused"))
    first, second = (create_client("gpt-4o") for _ in range(2))
    log = EventLog()

    await first.complete(request)
    for _ in range(3):
        await second.complete(request, log)

    assert len(fakes.openai.questions) == 5
    assert sum(isinstance(event, Warned) for event in log.events) == 1
    assert RefusalMemory.load().refuses(f"{fakes.openai.url}/v1", "gpt-4o") == {"temperature"}


async def test_what_names_no_option_is_told_as_it_is(way: Way, model_request: ModelRequest) -> None:
    way.fake.says(fault("http_400"))

    with pytest.raises(ProviderError):
        await way.assemble().complete(with_options(model_request, temperature=0.3))

    assert len(way.fake.questions) == 1


class Refusing(ModelClient):
    """Refuses the first request."""

    def __init__(self, error: ProviderError) -> None:
        self.error = error
        self.options: list[set[str]] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.options.append(set(request.options))
        if len(self.options) == 1:
            raise self.error
        return ModelResponse(assistant("Fine."))


async def omitted_option(asked: ModelRequest, error: ProviderError) -> str | None:
    """The option without which the call is made again."""
    options = dict.fromkeys(("temperature", "max_tokens", "top_k", "stop", "reasoning"), 1)
    inner = Refusing(error)
    try:
        await create_client("tests.providers.plugin/refusing", inner=inner).complete(with_options(asked, **options))
    except ProviderError:
        return None
    (option,) = options.keys() - inner.options[1]
    return option


@pytest.mark.parametrize(
    ("message", "option"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported; use 'max_completion_tokens' instead.", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0.3 with this model.", "temperature"),
        ('"gemma3:1b" does not support thinking', "reasoning"),
        ("Unrecognized request argument supplied: reasoning_effort", "reasoning"),
        ("topK is not supported by this model", "top_k"),
        ("temperature: range: 0..1", "temperature"),
        ("stop_sequences: too many", "stop"),
        ("messages: must not be empty", None),
        ("the model stopped", None),
    ],
)
async def test_an_option_is_known_under_the_names_of_all_apis(
    model_request: ModelRequest, message: str, option: str | None
) -> None:
    assert await omitted_option(model_request, ProviderError(message, status=400)) == option
    assert await omitted_option(model_request, ProviderError(message, status=500)) is None
    assert await omitted_option(model_request, ContextTooLong(message, status=400)) is None
