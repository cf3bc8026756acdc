"""Servers whose worker is behind one API and whose advisor is behind another, and clients that bring the advisor."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProvider, FakeProviders

from ..protocol.conftest import MODELS
from ..protocol.sent import Sent, read_sent
from ..protocol.speaking import AnsweredQuestion, Message, Speaker, message_of, speaking
from ..serving import serving

ADVISOR = "claude-opus-4-8"
BETA = {"anthropic-beta": "advisor-tool-2026-03-01"}
TOOL: dict[str, Any] = {"type": "advisor_20260301", "name": "advisor", "model": ADVISOR}
READ: dict[str, Any] = {
    "name": "read_file",
    "description": "Reads a file of the project.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
USER = {"role": "user", "content": "Find the fault in a.py."}
ASKED: dict[str, Any] = {"max_tokens": 4096, "messages": [USER], "tools": [READ, TOOL]}
OTHERS = {"openai": "ollama", "anthropic": "openai", "ollama": "openai", "gemini": "ollama"}
"""Behind which API the advisor of a worker is."""
ADVISORS = {"ollama": "ollama/qwen3:32b", "openai": "openai/gpt-4o-large", "anthropic": "anthropic/claude-opus-4-8"}
FILE = "server: {routes: {worker: %s}, advisors: {'claude-opus-*': %s}}"


@dataclass
class Stage:
    """A worker that clients ask for as `worker`, and the advisor that stands behind the name which they bring."""

    client: Speaker
    worker: FakeProvider
    advisor: FakeProvider
    wire: str
    is_streamed: bool

    async def answer(self, **body: Any) -> Message:
        """The message that came, however it came."""
        return await answer_of(self.client, self.is_streamed, body)

    async def refusal(self, **body: Any) -> str:
        """The words of the error that came before any model was asked."""
        answered = await self.client.post("messages", {**ASKED, "stream": self.is_streamed, **body}, BETA)
        assert (answered.status, answered.body["type"]) == (400, "error"), answered.body
        assert answered.body["error"]["type"] == "invalid_request_error"
        assert not self.worker.questions
        return str(answered.body["error"]["message"])

    def worker_request(self, number: int = -1) -> Sent:
        """Returns what the worker was sent."""
        return read_sent(self.wire, self.worker.questions[number].body)

    def advisor_request(self, number: int = -1) -> Sent:
        """Returns what its advisor was sent."""
        return read_sent(self.advisor.name, self.advisor.questions[number].body)


async def answer_of(client: Speaker, is_streamed: bool, body: Mapping[str, Any]) -> Message:
    """The message that answers the usual question, in which `body` changes what it says."""
    if is_streamed:
        return message_of(await client.stream("messages", {**ASKED, **body}, BETA))
    answered = await client.post("messages", {**ASKED, **body}, BETA)
    assert answered.status == 200, answered.body
    told = answered.body
    return Message(told["content"], told["stop_reason"], told["usage"], told["model"], [])


Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a server file and returns its path."""

    def write(text: str) -> str:
        (tmp_path / "server.yaml").write_text(text)
        return str(tmp_path / "server.yaml")

    return write


@pytest.fixture(params=["whole", "streamed"])
def is_streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "streamed")


QUICK = ("openai", "anthropic")


@pytest.fixture(params=[name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in OTHERS])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def stage(wire: str, is_streamed: bool, fakes: FakeProviders, write: Write) -> AsyncIterator[Stage]:
    """The worker behind each API, streamed and not."""
    async for one in _stage(wire, is_streamed, fakes, write):
        yield one


@pytest.fixture
async def one(is_streamed: bool, fakes: FakeProviders, write: Write) -> AsyncIterator[Stage]:
    """The worker behind one API, for points in which those of the upstreams make no difference."""
    async for stage in _stage("openai", is_streamed, fakes, write):
        yield stage


async def _stage(wire: str, is_streamed: bool, fakes: FakeProviders, write: Write) -> AsyncIterator[Stage]:
    other = OTHERS[wire]
    file = write(FILE % (MODELS[wire], ADVISORS[other]))
    async with serving(fakes, file) as address, speaking(address, "worker") as client:
        yield Stage(client, getattr(fakes, wire), getattr(fakes, other), wire, is_streamed)


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*blocks]}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks]}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(id_: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": id_, "name": "advisor", "input": {}}


def result(content: dict[str, Any], id_: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "advisor_tool_result", "tool_use_id": id_, "content": content}


def advice(words: str) -> dict[str, Any]:
    return {"type": "advisor_result", "text": words}


def results_in(message: Message) -> list[dict[str, Any]]:
    """The contents of the results of an advisor, in their order."""
    return [block["content"] for block in message.content if block["type"] == "advisor_tool_result"]


def codes_in(message: Message) -> list[str | None]:
    """The error code of each result; None for one with advice."""
    return [content.get("error_code") for content in results_in(message)]


def words_of(answered: AnsweredQuestion) -> str:
    return str(answered.body["error"]["message"])
