"""The contract finds the clients that break it, and a user needs three lines for it."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ProviderError
from ai_battle.core.events import Emit, TextDelta, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import assistant, user
from ai_battle.testing import ScriptedClient, contract
from ai_battle.testing.contract import Subject


class Careless(ModelClient):
    """Forwards to `inner`, with one mistake."""

    def __init__(self, inner: ModelClient, mistake: str) -> None:
        self.inner = inner
        self.mistake = mistake
        self.tasks: list[Any] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        match self.mistake:
            case "changes the request":
                request.options["seed"] = 1  # type: ignore[index]
            case "says it twice":
                await emit(TextDelta("An ans"))
            case "leaves a task":
                self.tasks.append(asyncio.create_task(asyncio.sleep(60)))
        try:
            response = await self.inner.complete(request, emit)
        except ProviderError as error:
            if self.mistake == "speaks the error":
                return ModelResponse(assistant(f"Error: {error}"))
            raise
        except asyncio.CancelledError:
            if self.mistake == "swallows cancelling":
                return ModelResponse(assistant("never mind"))
            raise
        return replace(response, message=user("")) if self.mistake == "answers as user" else response


MISTAKES = {
    "answers as user": contract.answers_as_assistant,
    "says it twice": contract.deltas_add_up_to_the_answer,
    "changes the request": contract.leaves_the_request_unchanged,
    "speaks the error": contract.a_failing_provider_raises_provider_error,
    "swallows cancelling": contract.cancelling_leaves_nothing_running,
    "leaves a task": contract.cancelling_leaves_nothing_running,
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_client_that_breaks_the_contract_is_found(mistake: str) -> None:
    made: list[Careless] = []

    def careless(inner: ModelClient) -> ModelClient:
        made.append(Careless(inner, mistake))
        return made[-1]

    with pytest.raises(AssertionError):
        await MISTAKES[mistake](contract.wrapper(careless))
    for task in made[-1].tasks:
        task.cancel()


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
async def test_three_lines_are_enough(check: contract.Check) -> None:
    await check(Subject(answers=lambda: ScriptedClient("Hello.", loop=True)))


async def test_clients_that_share_a_listener_among_calls_are_found() -> None:
    class Mixed(ScriptedClient):
        async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
            self.heard = emit
            await asyncio.sleep(0)
            return await super().complete(request, self.heard)

    with pytest.raises(AssertionError, match="at once"):
        await contract.answers_several_at_once(Subject(answers=lambda: Mixed("Hello.", loop=True)))
