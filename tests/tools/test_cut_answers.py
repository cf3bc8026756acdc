"""An answer that ended at its length limit: what stands last in it may have gone on, so it is not run."""

from collections.abc import Callable
from typing import Any

import pytest

from ai_battle import ToolCapableClient, tool
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import assistant, user
from ai_battle.tools.formats.text import TextTools

RAN: list[str] = []


@tool
def remove(path: str) -> str:
    """Removes a file."""
    RAN.append(path)
    return "removed"


class CutClient(ModelClient):
    """Says one text, which ended as told; then that all is well."""

    def __init__(self, text: str, stop: Any) -> None:
        self.replies = [ModelResponse(assistant(text), stop=stop), ModelResponse(assistant("All is well."))]

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@pytest.mark.parametrize("wrap", [lambda client: client, TextTools], ids=["leaked", "text"])
async def test_a_call_at_the_end_of_a_cut_answer_is_not_run(wrap: Callable[[ModelClient], ModelClient]) -> None:
    said = '{"name": "remove", "arguments": {"path": "/var/log"}}'
    client = ToolCapableClient(wrap(CutClient(said, "length")), [remove])

    await client.complete(ModelRequest((user("Clean up."),)))

    assert RAN == []


@pytest.mark.parametrize("wrap", [lambda client: client, TextTools], ids=["leaked", "text"])
async def test_the_same_call_is_run_where_the_answer_is_whole(wrap: Callable[[ModelClient], ModelClient]) -> None:
    said = '{"name": "remove", "arguments": {"path": "/var/log"}}'
    client = ToolCapableClient(wrap(CutClient(said, "end")), [remove])

    await client.complete(ModelRequest((user("Clean up."),)))

    assert RAN == ["/var/log"]


async def test_calls_before_the_last_one_of_a_cut_answer_are_run() -> None:
    written = '<tool_call>{"name": "remove", "arguments": {"path": "X"}}</tool_call>'
    first, second = (written.replace("X", path) for path in "ab")
    client = ToolCapableClient(TextTools(CutClient(f"{first}\n{second}", "length")), [remove])

    await client.complete(ModelRequest((user("Clean up."),)))

    assert RAN == ["a"]
