"""Measures what each answer took: seconds, tokens and dollars."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from time import perf_counter

from ..core.client import ModelClient
from ..core.errors import CutShort
from ..core.events import Emit, ModelReplied, ignore
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.messages import Message, Text, Thinking
from ..core.tokens import CHARACTERS_PER_TOKEN, estimate_message, estimate_request
from ._prices import Price

_ENOUGH_TOKENS = 200


class Metered(ModelClient):
    """Completes the usage of each answer and tells it once as `ModelReplied`.

    Tokens that the provider does not report are estimated, with the characters per token of what it reported before.
    A `price` that has to be looked up is so when the first answer is there.
    """

    def __init__(
        self, client: ModelClient, model: str, price: Price | Callable[[], Price | None] | None = None
    ) -> None:
        self.client = client
        self.model = model
        self._price = price
        self._characters = 0
        self._tokens = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        started = perf_counter()
        try:
            response = await self.client.complete(request, emit)
        except CutShort as cut:
            part = ModelResponse(Message("assistant", (Thinking(cut.thinking), Text(cut.text))), stop="length")
            await self._told(request, part, perf_counter() - started, emit)
            raise
        return await self._told(request, response, perf_counter() - started, emit)

    async def _told(self, request: ModelRequest, response: ModelResponse, seconds: float, emit: Emit) -> ModelResponse:
        usage = self._counted(request, response)
        estimated = usage is not response.usage
        if not estimated:
            self._learn(response)
        if self.price and (usage.cost_usd is None or self.price.stated):
            usage = replace(usage, cost_usd=self.price.cost(usage))
        await emit(ModelReplied(self.model, usage, seconds, response.stop, estimated))
        return replace(response, usage=usage)

    async def aclose(self) -> None:
        await self.client.aclose()

    @cached_property
    def price(self) -> Price | None:
        return self._price() if callable(self._price) else self._price

    @property
    def characters_per_token(self) -> float:
        """What this model's reported usage amounts to, or a common guess."""
        return self._characters / self._tokens if self._tokens >= _ENOUGH_TOKENS else CHARACTERS_PER_TOKEN

    def _counted(self, request: ModelRequest, response: ModelResponse) -> Usage:
        usage = response.usage
        if usage.input_tokens and (usage.output_tokens or not response.message.parts):
            return usage
        return replace(
            usage,
            input_tokens=usage.input_tokens or estimate_request(request, self.characters_per_token),
            output_tokens=usage.output_tokens or estimate_message(response.message, self.characters_per_token),
        )

    def _learn(self, response: ModelResponse) -> None:
        """From plain text alone: what other alphabets, tool calls and hidden reasoning cost does not show in it."""
        text = response.text
        if text.isascii() and not response.usage.reasoning_tokens and len(response.message.parts) == 1:
            self._characters += len(text)
            self._tokens += response.usage.output_tokens
