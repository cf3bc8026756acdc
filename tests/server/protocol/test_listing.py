"""Points E: counting, listing and health."""

from typing import Any

import pytest

from ai_battle.testing import FakeProviders

from ..serving import serving
from .conftest import Stage
from .speaking import speaking
from .test_messages_answers import HELLO, TOOL
from .test_messages_requests import assistant, result, use, user

COUNT = "/v1/messages/count_tokens"
ANTHROPIC = {"anthropic-version": "2023-06-01"}


async def count(stage: Stage, **body: Any) -> int:
    """`max_tokens` is not said."""
    answered = await stage.client.post("", {"messages": HELLO["messages"], **body}, path=COUNT)
    assert answered.status == 200, answered.body
    tokens: int = answered.body["input_tokens"]
    return tokens


async def test_e_count(stage: Stage) -> None:
    assert await count(stage) > 0


async def test_e_count_all(stage: Stage) -> None:
    """4,000 characters more, wherever they stand, are some thousand tokens more."""
    text = "four letter word " * 235
    before = await count(stage, tools=[TOOL])

    assert 500 <= await count(stage, tools=[TOOL], system=text) - before <= 2000
    assert 500 <= await count(stage, tools=[{**TOOL, "description": text}]) - before <= 2000


async def test_e_count_blocks(stage: Stage) -> None:
    text = "four letter word " * 235
    called = [user("?"), assistant(use("toolu_1", at="Bonn")), user(result("toolu_1", "rain"))]
    before = await count(stage, messages=called)

    assert await count(stage, messages=[called[0], assistant(use("toolu_1", at=text)), called[2]]) - before >= 500
    assert await count(stage, messages=[*called[:2], user(result("toolu_1", text))]) - before >= 500


async def test_e_count_local(stage: Stage) -> None:
    await count(stage)

    assert stage.upstream.questions == []


async def test_e_count_errors(stage: Stage) -> None:
    answered = await stage.client.post("", {"messages": 7}, path=COUNT)
    unknown = await stage.client.post("", {**HELLO, "model": "nobody"}, path=COUNT)

    assert (answered.status, answered.body["error"]["type"]) == (400, "invalid_request_error")
    assert (unknown.status, unknown.body["error"]["type"]) == (404, "not_found_error")


async def test_e_models(stage: Stage) -> None:
    answered = await stage.client.get("/v1/models")

    assert answered.body["object"] == "list"
    listed = {each["id"]: each for each in answered.body["data"]}
    assert "claude-opus" in listed
    assert listed["claude-opus"]["object"] == "model"
    assert isinstance(listed["claude-opus"]["created"], int)


async def test_e_models_anthropic(stage: Stage) -> None:
    """Whoever sends a version of the Messages API; coding assistants show only names that begin with claude."""
    answered = await stage.client.get("/v1/models?limit=1000", {"anthropic-version": "2023-06-01"})
    data = answered.body["data"]

    assert data[0].keys() >= {"type", "id", "display_name", "created_at"}
    assert (data[0]["type"], answered.body["has_more"]) == ("model", False)
    assert (answered.body["first_id"], answered.body["last_id"]) == (data[0]["id"], data[-1]["id"])
    assert any(each["id"].startswith("claude") for each in data)


async def test_e_one_model(stage: Stage) -> None:
    """What SDKs retrieve by its name."""
    there = await stage.client.get("/v1/models/claude-opus")
    missing = await stage.client.get("/v1/models/nobody")

    assert (there.status, there.body["id"]) == (200, "claude-opus")
    assert (missing.status, "error" in missing.body) == (404, True)


PAGES: list[tuple[str, list[str], bool]] = [
    ("", ["opus", "sonnet", "haiku"], False),
    ("limit=2", ["opus", "sonnet"], True),
    ("limit=2&after_id=claude-sonnet", ["haiku"], False),
    ("limit=1&before_id=claude-haiku", ["sonnet"], True),
    ("after_id=claude-haiku", [], False),
]


@pytest.mark.parametrize(("query", "names", "more"), PAGES)
async def test_e_models_anthropic_pages(fakes: FakeProviders, query: str, names: list[str], more: bool) -> None:
    async with serving(fakes, BIG_MODEL="ollama/phi4") as address, speaking(address) as client:
        body = (await client.get(f"/v1/models?{query}", ANTHROPIC)).body

    ids = [f"claude-{name}" for name in names]
    assert ([each["id"] for each in body["data"]], body["has_more"]) == (ids, more)
    assert (body["first_id"], body["last_id"]) == ((ids[0], ids[-1]) if ids else (None, None))


@pytest.mark.parametrize(("path", "status"), [("/v1/models?limit=0", 400), ("/v1/models/nobody", 404), ("/v1/x", 404)])
async def test_e_models_errors(fakes: FakeProviders, path: str, status: int) -> None:
    """In the shape of the API whose client asks."""
    async with serving(fakes, BIG_MODEL="ollama/phi4") as address, speaking(address) as client:
        answered = await client.get(path, ANTHROPIC)

    assert (answered.status, answered.body["type"]) == (status, "error")


async def test_e_health(fakes: FakeProviders) -> None:
    """Without a key."""
    async with (
        serving(fakes, BIG_MODEL="ollama/phi4", AI_BATTLE_SERVE_KEYS="k") as address,
        speaking(address) as client,
    ):
        assert (await client.get("/healthz")).status == 200


async def test_e_head_root(stage: Stage) -> None:
    assert (await stage.client.get("/", method="HEAD")).status == 200
