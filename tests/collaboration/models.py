"""Four models over real loopback servers, each of a provider of its own, so that their calls can be counted."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from ai_battle.collaboration import Helping
from ai_battle.core.client import ModelClient
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.testing import FakeProvider, FakeProviders, Fault, Reply, fault, reply

QUESTION = "How many are 7 and 11?"
USELESS: dict[str, Fault | Reply] = {
    "fails": fault("http_500"),
    "stalls": fault("stall_before_headers"),
    "refuses": fault("refusal"),
    "says nothing": reply(""),
}
"""What a model may do instead of an answer."""
SHORT = Helping(timeout=1.5)
"""Long enough for an answer, and too short for what stalls."""


class Models:
    """`small` answers over Ollama's wire, `peer` over Gemini's, `third` over Anthropic's and `large` over OpenAI's."""

    def __init__(self, fakes: FakeProviders) -> None:
        self.small, self.peer, self.third, self.large = fakes.ollama, fakes.gemini, fakes.anthropic, fakes.openai
        self.all = (self.small, self.peer, self.third, self.large)
        self._openai = fakes.environment["OPENAI_BASE_URL"]
        for fake in self.all:
            fake.always("The answer is 18.")

    def client(self, fake: FakeProvider) -> ModelClient:
        """The provider's own client, which asks once."""
        url = self._openai if fake is self.large else fake.url
        made: ModelClient = import_module(f"ai_battle.providers.{fake.name}").create(
            "a-model", base_url=url, api_key="test-key"
        )
        return made

    @property
    def calls(self) -> tuple[int, ...]:
        """How often each was asked, in the order small, peer, third, large."""
        return tuple(len(fake.questions) for fake in self.all)


@asynccontextmanager
async def running() -> AsyncIterator[Models]:
    async with FakeProviders() as fakes:
        yield Models(fakes)


def model_request(text: str = QUESTION, **details: object) -> ModelRequest:
    return ModelRequest((user(text),), **details)  # type: ignore[arg-type]
