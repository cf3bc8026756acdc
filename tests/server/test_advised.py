"""A route whose model has an advisor, of which its clients know nothing: they get its answers and their own calls."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.testing import FakeProviders, call

from .serving import ask_server, server_config, serving

FILE = "server: {routes: {advised: {model: ollama/qwen3, advisor: anthropic/claude-sonnet-4-5}}}"
READ = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = {
    "/v1/messages": {"name": "read_file", "description": "Reads.", "input_schema": READ},
    "/v1/chat/completions": {"type": "function", "function": {"name": "read_file", "parameters": READ}},
    "/v1/responses": {"type": "function", "name": "read_file", "parameters": READ},
}


def body(path: str, **more: Any) -> dict[str, Any]:
    said = "Find the fault in a.py."
    talk = {"input": said} if path.endswith("responses") else {"messages": [{"role": "user", "content": said}]}
    return {"model": "advised", "max_tokens": 100, "tools": [TOOLS[path]], **talk, **more}


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "server.yaml").write_text(FILE)
    return str(tmp_path / "server.yaml")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [*TOOLS])
async def test_only_the_calls_of_its_own_tools_reach_a_client(
    fakes: FakeProviders, file: str, path: str, stream: bool
) -> None:
    fakes.ollama.says(call("advisor", question="Where do I look?"), call("read_file", path="a.py"))
    fakes.anthropic.says("Read a.py.")
    async with serving(fakes, file) as address:
        status, answer = await ask_server(address, path, body(path, stream=stream))

    told = answer if stream else json.dumps(answer)
    assert status == 200
    assert "read_file" in told
    assert "a.py" in told
    assert "advisor" not in told
    assert "Read a.py." in json.dumps(fakes.ollama.questions[1].body)


async def test_trouble_is_met_once_though_its_client_knows_of_no_advice(fakes: FakeProviders, file: str) -> None:
    """Each step comes as a request of its own, in which what went wrong before still stands."""
    steps: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault in a.py."}]
    fakes.ollama.always("Go on.")
    fakes.anthropic.always("Look into b.py.")
    async with serving(fakes, file) as address:
        for number, result in enumerate(["Error: no a.py", "Error: no b.py", "ok", "fine"]):
            use = {"type": "tool_use", "id": f"t{number}", "name": "read_file", "input": {"path": f"{number}.py"}}
            back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
            steps += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
            fakes.ollama.says(call("read_file", path=f"{number + 1}.py"))
            await ask_server(address, "/v1/messages", {**body("/v1/messages"), "messages": steps})
        fakes.ollama.says("All is fine in 3.py.")
        _, answered = await ask_server(address, "/v1/messages", {**body("/v1/messages"), "messages": steps})

    assert answered["content"][0]["text"] == "All is fine in 3.py."  # the answer is not doubted for what was overcome
    assert len(fakes.anthropic.questions) == 1
    assert "Error: no b.py" in json.dumps(fakes.anthropic.questions[0].body)


async def test_a_route_says_its_advisor_in_one_way(fakes: FakeProviders, tmp_path: Path) -> None:
    route = "{model: ollama/qwen3, advisor: openai/gpt-4o, secondary: openai/gpt-4o}"
    (tmp_path / "server.yaml").write_text(f"server:\n  routes:\n    advised: {route}")

    with pytest.raises(ConfigError, match=r"3:\d+.*advised.*leave one of the two out"):
        server_config(fakes, str(tmp_path / "server.yaml"))
