"""Talks of coding clients, as they send them: the shape of each request is recorded, its words are ours.

Recorded with Claude Code, Codex, opencode, aider and llm from their package indices, on loopback: each was asked for a
height that stands in a file, read the file with a tool of its own, and was told the answer. Of their tools a few are
kept. aider has none: it sends the file, and is answered in text, or with a block that changes the file.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, call, reply

from .protocol.speaking import speaking
from .serving import serving

pytestmark = pytest.mark.slow

TALKS: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "talks.json").read_text(encoding="utf-8"))
ROUTES = {
    "direct": "openai/small",
    "pair": "{model: openai/small, secondary: openai/large}",
    "takeover": "{model: openai/small, secondary: openai/large, strategy: takeover, stream: optimistic}",
    "draft-verify": "{model: openai/small, secondary: openai/large, strategy: draft_verify}",
    "boost": "{model: openai/small, secondary: openai/planner, strategy: boost}",
}
ANSWER = "The tower is 96 metres tall."
ANSWERS = {
    "aider-edit": "notes.txt\n```\n<<<<<<< SEARCH\nThe tower is 96 metres tall.\n=======\n"
    "The tower is 98 metres tall.\n>>>>>>> REPLACE\n```\n"
}
CALLS = {
    "claude-code": call("Read", file_path="notes.txt"),
    "codex": call("exec_command", cmd="cat notes.txt"),
    "opencode": call("read", filePath="notes.txt"),
}
UPSTREAMS = ("openai", "anthropic")


def write_config(folder: Path, route: str, upstream: str) -> str:
    file = folder / "server.yaml"
    models = ROUTES[route].replace("openai/", f"{upstream}/")
    file.write_text(f"server: {{routes: {{claude-opus-4: {models}}}}}")
    return str(file)


def says(fakes: FakeProviders, upstream: str, answer: Any) -> list[str]:
    """The names of the models that are called, as they are."""
    called: list[str] = []

    def plan_or_answer(body: dict[str, Any]) -> Any:
        called.append(body["model"])
        return "GUIDANCE:\nRead the file, then answer." if body["model"] == "planner" else answer

    getattr(fakes, upstream).always(plan_or_answer)
    return called


async def raw_answer(address: str, request: dict[str, Any]) -> str:
    async with (
        speaking(address) as client,
        client.session.post(address + request["path"], json=request["body"], headers=request["headers"]) as answer,
    ):
        assert answer.status == 200, await answer.text()
        return await answer.text()


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("client", TALKS)
async def test_a_right_final_answer_costs_one_call(
    fakes: FakeProviders, tmp_path: Path, client: str, route: str, upstream: str
) -> None:
    """A boost route asks its planner before; what carries its plan out is called once, too."""
    called = says(fakes, upstream, ANSWERS.get(client, ANSWER))
    async with serving(fakes, write_config(tmp_path, route, upstream)) as address:
        said = await raw_answer(address, TALKS[client][-1])

    assert "96" in said
    assert "Correction" not in said
    assert called == (["planner", "small"] if route == "boost" else ["small"])


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("client", [client for client in TALKS if client in CALLS])
async def test_a_call_of_a_clients_own_tool_goes_out_once(
    fakes: FakeProviders, tmp_path: Path, client: str, route: str, upstream: str
) -> None:
    called = says(fakes, upstream, reply(calls=[CALLS[client]]))
    async with serving(fakes, write_config(tmp_path, route, upstream)) as address:
        said = await raw_answer(address, TALKS[client][0])

    assert CALLS[client].name in said
    assert called == (["planner", "small"] if route == "boost" else ["small"])
