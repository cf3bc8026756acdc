"""The Vercel AI SDK as a client: the advisor is a tool of its Anthropic provider, run by the server."""

import json
import shutil
from pathlib import Path

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, call, reply

from ..serving import serving
from .conftest import ADVISOR, Write
from .node import install, run

PACKAGES = ("ai@6.0.326", "@ai-sdk/anthropic@3.0.139")
SCRIPT = Path(__file__).with_name("vercel.mjs")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = install(tmp_path_factory.mktemp("vercel"), *PACKAGES)
    return Path(shutil.copy(SCRIPT, there)).parent


@pytest.mark.slow
async def test_its_tool_is_asked_and_its_result_goes_back_in_the_next_turn(
    fakes: FakeProviders, write: Write, folder: Path, is_streamed: bool
) -> None:
    fakes.openai.says(
        reply("Let me ask.", calls=[call("advisor")], usage=Usage(400, 9)),
        reply("It is line 3.", usage=Usage(600, 40)),
        "b.py is fine.",
    )
    fakes.ollama.says(reply("Look at the loop.", usage=Usage(800, 160)))
    file = write("server: {routes: {worker: openai/gpt-4o}, advisors: {'claude-opus-*': ollama/qwen3}}")
    async with serving(fakes, file) as address:
        way = "streamed" if is_streamed else "whole"
        told = await run("node", SCRIPT.name, address, way, cwd=folder, AI_SDK_LOG_WARNINGS="false")
    first, second = json.loads(told)

    assert [part["type"] for part in first["parts"]] == ["text", "tool-call", "tool-result", "text"]
    assert first["parts"][2]["output"] == {"type": "advisor_result", "text": "Look at the loop."}
    assert (first["text"], first["finishReason"]) == ("Let me ask.It is line 3.", "stop")
    rows = first["usage"]["iterations"]
    assert [(row["type"], row["output_tokens"]) for row in rows] == [
        ("message", 9),
        ("advisor_message", 160),
        ("message", 40),
    ]
    assert rows[1]["model"] == ADVISOR
    assert second["text"] == "b.py is fine."
    assert "Look at the loop." in fakes.openai.questions[2].raw.decode()
