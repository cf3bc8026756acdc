"""An upstream of Anthropic's that asks advisors itself: it gets the client's tool, and what that costs is booked."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ai_battle import ConversationManager
from ai_battle.core.errors import ConfigError
from ai_battle.server.config import ConfigSource
from ai_battle.server.running import listening

from .protocol.speaking import message_of, speaking

TOOL = {"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-4-8", "max_uses": 2, "x_new": [1]}
BETA = {"anthropic-beta": "advisor-tool-2026-03-01", "anthropic-version": "2023-06-01"}
CONTENT = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "advisor", "input": {}},
    {
        "type": "advisor_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "advisor_redacted_result", "encrypted_content": "c2VjcmV0"},
    },
    {"type": "text", "text": "It is b.py."},
]
ITERATIONS = [
    {"type": "message", "input_tokens": 100, "output_tokens": 10},
    {"type": "advisor_message", "model": "claude-opus-4-8", "input_tokens": 1000, "output_tokens": 500},
    {"type": "message", "input_tokens": 200, "output_tokens": 20},
]
USAGE = {"input_tokens": 300, "output_tokens": 30, "iterations": ITERATIONS}
FILE = """
server: {{routes: {{worker: anthropic/claude-haiku-4-5}}{}}}
prices:
  anthropic/claude-haiku-4-5: {{input: 1.0, output: 5.0}}
  anthropic/claude-opus-4-8: {{input: 5.0, output: 25.0}}
"""
COST = (300 * 1 + 30 * 5 + 1000 * 5 + 500 * 25) / 1e6


class Upstream:
    """Answers as the API does when its model has asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.betas: list[str] = []

    async def answer(self, http: web.Request) -> web.StreamResponse:
        asked = await http.json()
        self.asked.append(asked)
        self.betas.append(http.headers.get("anthropic-beta", ""))
        frame = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "stop_sequence": None}
        if not asked.get("stream"):
            return web.json_response({**frame, "content": CONTENT, "stop_reason": "end_turn", "usage": USAGE})
        started = {**frame, "content": [], "stop_reason": None, "usage": {"input_tokens": 300, "output_tokens": 1}}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": started}]
        for index, block in enumerate(CONTENT):
            events.append({"type": "content_block_start", "index": index, "content_block": block})
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USAGE})
        events.append({"type": "message_stop"})
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return web.Response(text="".join(lines), content_type="text/event-stream")


@pytest.fixture
async def upstream() -> AsyncIterator[tuple[Upstream, str]]:
    answers = Upstream()
    app = web.Application()
    app.router.add_post("/v1/messages", answers.answer)
    async with TestServer(app) as server:
        yield answers, str(server.make_url("/"))


def load_config(folder: Path, url: str, section: str = "") -> Any:
    (folder / "server.yaml").write_text(FILE.format(section))
    environment = {"ANTHROPIC_AUTH_TOKEN": "k", "ANTHROPIC_BASE_URL": url, "XDG_STATE_HOME": str(folder)}
    return ConfigSource(str(folder / "server.yaml"), environment, {"port": 0}).load()


def body(**more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "Find the fault."}]
    return {"model": "worker", "max_tokens": 100, "tools": [TOOL], "messages": said, **more}


@pytest.mark.parametrize("stream", [False, True])
async def test_tool_blocks_and_iterations_pass_untouched_and_each_model_is_paid_for(
    upstream: tuple[Upstream, str], tmp_path: Path, stream: bool
) -> None:
    answers, url = upstream
    log: list[bytes] = []
    async with listening(load_config(tmp_path, url), log.append) as (_, address), speaking(address, "worker") as client:
        if stream:
            message = message_of(await client.stream("messages", body(), BETA))
            content, usage = message.content, message.usage
        else:
            answer = (await client.post("messages", body(), BETA)).body
            content, usage = answer["content"], answer["usage"]

    assert answers.asked[0]["tools"] == [TOOL]
    assert answers.betas == [BETA["anthropic-beta"]]
    assert content == CONTENT
    assert usage["iterations"] == ITERATIONS
    assert (usage["input_tokens"], usage["output_tokens"]) == (300, 30)
    assert json.loads(log[-1])["cost_usd"] == pytest.approx(COST, abs=1e-9)


async def test_encrypted_advice_goes_back_to_the_upstream_that_made_it(
    upstream: tuple[Upstream, str], tmp_path: Path
) -> None:
    answers, url = upstream
    said = [{"role": "user", "content": "Find the fault."}, {"role": "assistant", "content": CONTENT}]
    sent = body(messages=[*said, {"role": "user", "content": "And now?"}])
    async with listening(load_config(tmp_path, url)) as (_, address), speaking(address, "worker") as client:
        answer = await client.post("messages", sent, BETA)

    assert answer.status == 200
    assert answers.asked[0]["messages"] == sent["messages"]


async def test_an_operator_who_bounds_an_advisor_has_it_asked_by_the_server(
    upstream: tuple[Upstream, str], tmp_path: Path
) -> None:
    answers, url = upstream
    config = load_config(tmp_path, url, ', advisors: {"*": {max_tokens: 2000}}')
    async with listening(config) as (_, address), speaking(address, "worker") as client:
        await client.post("messages", body(), BETA)

    assert [tool["name"] for tool in answers.asked[0]["tools"]] == ["advisor"]
    assert "input_schema" in answers.asked[0]["tools"][0]


DISCUSSION = """
discussion:
  turns: 4
  initial_prompt: Find the fault.
  models:
    worker: {type: anthropic/claude-haiku-4-5}
    other: {type: anthropic/claude-haiku-4-5}
  collaboration:
    pairs:
      - {primary: worker, secondary: HELPER, strategy: advisor, options: {native: true, max_uses: 2, caching: 5m}}
prices:
  anthropic/claude-haiku-4-5: {input: 1.0, output: 5.0}
  anthropic/claude-opus-4-8: {input: 5.0, output: 25.0}
"""


async def test_a_discussion_leaves_the_asking_to_an_upstream_that_can(
    upstream: tuple[Upstream, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, url = upstream
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    file = tmp_path / "plan.yaml"
    file.write_text(DISCUSSION.replace("HELPER", "anthropic/claude-opus-4-8"))
    result = await ConversationManager.from_config(str(file), out=tmp_path / "run").run_discussion()

    asked = [question for question in answers.asked if question.get("tools")]
    assert 1 < len(asked) < len(answers.asked)
    assert {each["type"] for each in asked[0]["tools"]} == {"advisor_20260301"}
    assert {"model": "claude-opus-4-8", "max_uses": 2}.items() <= asked[0]["tools"][0].items()
    assert answers.betas[0] == "advisor-tool-2026-03-01"
    assert CONTENT[0] in asked[1]["messages"][-2]["content"]
    assert CONTENT[1] in asked[1]["messages"][-2]["content"]
    assert result.usage.cost_usd == pytest.approx(len(answers.asked) * COST, abs=1e-9)


async def test_asking_is_left_to_no_upstream_of_another_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    file = tmp_path / "plan.yaml"
    file.write_text(DISCUSSION.replace("HELPER", "openai/gpt-4o"))

    with pytest.raises(ConfigError, match="native needs two models of one provider"):
        ConversationManager.from_config(str(file))
