"""A stage for the boost loop: a model that plans and one that has tools, each on a real server of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ai_battle import create_client
from ai_battle.assembly.models import RetryPolicy
from ai_battle.collaboration import Helping
from ai_battle.collaboration.boost import BoostLoop
from ai_battle.core.client import ModelClient
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.helping import BoostStep
from ai_battle.core.messages import ToolCall, user
from ai_battle.testing import FakeProvider, FakeProviders
from ai_battle.tools.base import Tool
from ai_battle.tools.calls import RunnerLimits
from ai_battle.tools.client import ToolCapableClient

from .acting import HelpLog

SUMMARY = "SUMMARY:\nThe answer to your question is 42. No tools needed for this query."
GUIDANCE = "ANALYSIS:\nThe file has to be read.\n\nGUIDANCE:\n1. Call read_file with path: '/data/sales_2024.csv'"
OTHER = "I would rather talk about the weather."
ONCE = RetryPolicy(retries=0, seconds=10)
QUICK = RunnerLimits(backoff_seconds=0)


def spec(name: str, description: str, *arguments: str) -> ToolSpec:
    properties = {argument: {"type": "string"} for argument in arguments}
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": list(arguments)})


READ = spec("read_file", "Reads a file and returns its text.", "path")
WRITE = spec("write_file", "Writes a text to a file.", "path", "content")


class File(Tool):
    """A file of three words, and which paths were read."""

    name = "read_file"
    description = "Reads a file and returns its text."
    parameters = {"path": {"type": "string", "required": True}}  # noqa: RUF012

    def __init__(self) -> None:
        self.read: list[str] = []

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        self.read.append(parameters["path"])
        return {"text": "sales rose sharply"}


def model_request(text: str = "Analyze the sales.", *tools: ToolSpec, **details: Any) -> ModelRequest:
    return ModelRequest((user(text),), tools=tools, **details)


@dataclass
class LoggedAnswer:
    """An answer, and all that was heard on the way to it."""

    response: ModelResponse
    heard: HelpLog

    @property
    def text(self) -> str:
        return self.response.text

    @property
    def outcomes(self) -> list[str]:
        return [step.outcome for step in self.heard.of(BoostStep)]

    @property
    def called(self) -> list[ToolCall]:
        steps = [*self.response.steps, self.response.message]
        return [call for step in steps for call in step.tool_calls]


@dataclass
class TwoModels:
    """The boost model speaks OpenAI's API, the auxiliary model Anthropic's."""

    fakes: FakeProviders

    @property
    def boost(self) -> FakeProvider:
        return self.fakes.openai

    @property
    def auxiliary(self) -> FakeProvider:
        return self.fakes.anthropic

    @property
    def calls(self) -> tuple[int, int]:
        """How often the boost model and the auxiliary model were asked."""
        return len(self.boost.questions), len(self.auxiliary.questions)

    def says(self, boost: Sequence[Any], auxiliary: Sequence[Any] = ()) -> None:
        self.boost.says(*boost)
        self.auxiliary.says(*auxiliary)

    def boost_text(self, number: int = -1) -> str:
        """All that the boost model was sent, as text."""
        return text_of(self.boost.questions[number].body)

    def auxiliary_body(self, number: int = -1) -> dict[str, Any]:
        """The body of a request to the auxiliary model."""
        return self.auxiliary.questions[number].body


@dataclass
class Stage(TwoModels):
    """The loop over both, as a client of its own."""

    helping: Helping = field(default_factory=Helping)
    retry: RetryPolicy = ONCE

    def clients(self) -> tuple[ModelClient, ModelClient]:
        url = self.fakes.environment["OPENAI_BASE_URL"]
        boost = create_client("openai/gpt-4o", retry=self.retry, base_url=url, api_key="test-key")
        auxiliary = create_client(
            "anthropic/claude-haiku-4-5", retry=self.retry, base_url=self.auxiliary.url, api_key="test-key"
        )
        return boost, auxiliary

    async def ask(self, request: ModelRequest, *tools: Tool, **options: Any) -> LoggedAnswer:
        """An answer of the loop; with `tools` they run here, else the answer's calls are the client's to run."""
        boost, auxiliary = self.clients()
        if tools:
            auxiliary = ToolCapableClient(auxiliary, tools, QUICK)
        loop = BoostLoop(boost, auxiliary, helping=self.helping, **options)
        try:
            response = await loop.complete(request, heard := HelpLog())
        finally:
            await loop.aclose()
        assert heard.text == response.text, "the deltas add up to the answer"
        return LoggedAnswer(response, heard)


def text_of(body: Any) -> str:
    """Every text in a body, without what JSON does to line ends and quotes."""
    match body:
        case str():
            return body
        case dict():
            return "\n".join(map(text_of, body.values()))
        case list():
            return "\n".join(map(text_of, body))
    return json.dumps(body)
