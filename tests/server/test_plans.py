"""Plans of a boost model that are kept."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Image, Message, assistant, user
from ai_battle.server.clients import SharedCache, plan_key
from ai_battle.testing import FakeProviders
from tests.clocks import set_forward

from .protocol.speaking import speaking
from .serving import ask_server, serving, serving_to
from .test_operating import boosting, fetch

HELLO: dict[str, Any] = {
    "model": "opus",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "What time is it?"}],
}
TOOLS = [{"name": "clock", "input_schema": {"type": "object", "properties": {}}}]


async def test_an_equal_request_is_planned_once(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("server: {plans: {size: 10}}")
    fakes.openai.always("GUIDANCE:\nLook at the clock.")
    fakes.ollama.always("It is noon.")
    async with serving_to(fakes, len, str(file), **boosting(fakes)) as (_, address):
        answers = [(await ask_server(address, "/v1/messages", HELLO))[1]["content"][0]["text"] for _ in range(3)]
        await ask_server(address, "/v1/messages", {**HELLO, "tools": TOOLS, "system": "Be brief."})
        _, text = await fetch(address, "/metrics")

    assert answers == ["It is noon."] * 3
    assert "ai_battle_plan_cache_hits_total 2" in text
    assert len(fakes.openai.questions) == 1 + 3
    assert len(fakes.ollama.questions) == 3 + 3


async def test_a_boost_route_of_the_file_keeps_plans_too(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    route = "{model: ollama/phi4, strategy: boost, secondary: openai/planner}"
    file.write_text(f"server: {{plans: {{size: 10}}, routes: {{opus: {route}}}}}")
    fakes.openai.always("SUMMARY:\nNoon.")
    async with serving_to(fakes, len, str(file)) as (_, address):
        answers = [(await ask_server(address, "/v1/messages", HELLO))[1]["content"][0]["text"] for _ in range(2)]

    assert answers == ["Noon."] * 2
    assert len(fakes.openai.questions) == 1


async def test_a_request_that_a_kept_plan_answers_costs_nothing(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    route = "{model: openai/gpt-4o-mini, strategy: boost, secondary: openai/gpt-4o}"
    file.write_text(f"server: {{plans: {{size: 10}}, routes: {{opus: {route}}}}}")
    fakes.openai.always("SUMMARY:\nNoon.")
    async with serving(fakes, str(file)) as address, speaking(address, "opus") as client:
        heads = [(await client.post("messages", HELLO)).headers for _ in range(2)]

    first, second = (float(head["x-ai-battle-cost-usd"]) for head in heads)
    assert first > second == 0


async def test_a_reply_in_no_format_is_not_kept(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("server: {plans: {size: 10}}")
    fakes.openai.says("Hm.", "SUMMARY:\nNoon.", "SUMMARY:\nOne.")
    async with serving_to(fakes, len, str(file), **boosting(fakes)) as (_, address):
        answers = [(await ask_server(address, "/v1/messages", HELLO))[1]["content"][0]["text"] for _ in range(3)]

    assert answers == ["Noon.", "One.", "One."]


async def test_without_a_size_nothing_is_kept(fakes: FakeProviders) -> None:
    fakes.openai.says("SUMMARY:\nNoon.", "SUMMARY:\nOne.")
    async with serving_to(fakes, len, **boosting(fakes)) as (_, address):
        answers = [(await ask_server(address, "/v1/messages", HELLO))[1]["content"][0]["text"] for _ in range(2)]

    assert answers == ["Noon.", "One."]


async def test_plans_are_bounded_in_number_and_in_time() -> None:
    plans = SharedCache("plan/", 2, 10.0)
    for name in ("a", "b", "c"):
        await plans.keep(name, name.encode())
        set_forward(4)

    assert [await plans.find([name]) for name in ("a", "b")] == [{}, {"b": b"b"}]
    set_forward(2)
    assert [await plans.find([name]) for name in ("b", "c")] == [{}, {"c": b"c"}]
    assert (plans.hits, plans.misses, len(plans)) == (2, 2, 1)


@pytest.mark.parametrize(
    "other",
    [
        ModelRequest((user("Hello!"),)),
        ModelRequest((user("Hello"),), system="Be brief."),
        ModelRequest((user("Hello"),), options={"temperature": 0.0}),
        ModelRequest((Message("user", (*user("Hello").parts, Image("image/png", b"2"))),)),
        ModelRequest((assistant("Hello"),)),
    ],
)
def test_whatever_a_model_is_shown_makes_a_difference(other: ModelRequest) -> None:
    same = ModelRequest((user("Hello"),))

    assert plan_key("a", same) == plan_key("a", ModelRequest((user("Hello"),)))
    assert plan_key("a", other) != plan_key("a", same)
    assert plan_key("b", same) != plan_key("a", same)
    pictures = [ModelRequest((Message("user", (Image("image/png", data),)),)) for data in (b"1", b"2")]
    assert plan_key("a", pictures[0]) != plan_key("a", pictures[1])
