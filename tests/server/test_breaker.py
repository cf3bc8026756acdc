"""Upstreams that are down, or want to be left alone."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle.testing import FakeProviders, fault, reply
from tests.clocks import set_forward

from .conftest import Upstream
from .serving import ask_server, serving, until

FAILURES, LIMITED = 5, 10
"""In a row, after which nobody calls for a while: failures, and answers that ask to come back later."""
HELLO: dict[str, Any] = {"model": "opus", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}


def tiers(upstream: Upstream) -> dict[str, str]:
    return {"BIG_MODEL": upstream.model("large"), "SMALL_MODEL": "ollama/phi4"}


async def ask(address: str, path: str, body: Any) -> tuple[int, str | None]:
    async with aiohttp.ClientSession(address) as session, session.post(path, json=body) as answer:
        return answer.status, answer.headers.get("retry-after")


async def test_one_request_is_one_call_and_retry_after_is_passed_on(fakes: FakeProviders, upstream: Upstream) -> None:
    upstream.fake.says(fault("rate_limited_long"), fault(503), fault("close_before_headers"))
    async with serving(fakes, **tiers(upstream)) as address:
        limited = await ask(address, "/v1/messages", HELLO)
        streamed = await ask(address, "/v1/chat/completions", {**HELLO, "stream": True})
        broken, _ = await ask(address, "/v1/messages", HELLO)

    assert limited == (429, "3600")
    assert streamed[0] == 503
    assert broken == 502
    assert len(upstream.fake.questions) == 3


async def test_after_failures_in_a_row_an_upstream_is_left_alone_and_the_others_are_not(
    fakes: FakeProviders, upstream: Upstream
) -> None:
    upstream.fake.says(fault(500, times=FAILURES))
    async with serving(fakes, **tiers(upstream)) as address:
        statuses = [(await ask_server(address, "/v1/messages", HELLO))[0] for _ in range(FAILURES)]
        status, wait = await ask(address, "/v1/messages", {**HELLO, "stream": True})
        _, answer = await ask_server(address, "/v1/messages", HELLO)
        other, _ = await ask_server(address, "/v1/messages", {**HELLO, "model": "haiku"})
        async with aiohttp.ClientSession(address) as session, session.get("/readyz") as page:
            ready, told = page.status, await page.json()

    assert statuses == [500] * FAILURES
    assert (status, wait) == (503, "30")
    assert f"{FAILURES} failures in a row" in answer["error"]["message"]
    assert other == 200
    assert len(upstream.fake.questions) == FAILURES
    assert ready == 200
    assert told["upstreams"][upstream.model("large")] == {"up": False, "retry_after": 30}
    assert told["upstreams"]["ollama/phi4"] == {"up": True}


async def test_a_worker_without_any_upstream_is_not_ready(fakes: FakeProviders, upstream: Upstream) -> None:
    upstream.fake.says(fault(500, times=FAILURES))
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address:
        for _ in range(FAILURES):
            await ask_server(address, "/v1/messages", HELLO)
        async with aiohttp.ClientSession(address) as session, session.get("/readyz") as page:
            assert page.status == 503


async def test_many_429_in_a_row_are_a_wish_to_be_left_alone(fakes: FakeProviders, upstream: Upstream) -> None:
    """One alone may be a matter of one client's limit; any other answer in between starts the count anew."""
    few = fault("rate_limited_long", times=LIMITED - 1)
    upstream.fake.says(few, "Yes.", few, fault(400), few, fault("rate_limited_long"), "Another model answers.")
    async with serving(fakes, **tiers(upstream), MIDDLE_MODEL=upstream.model("other")) as address:
        statuses = [(await ask_server(address, "/v1/messages", HELLO))[0] for _ in range(3 * LIMITED)]
        status, wait = await ask(address, "/v1/messages", HELLO)
        other, _ = await ask_server(address, "/v1/messages", {**HELLO, "model": "sonnet"})
        async with aiohttp.ClientSession(address) as session, session.get("/readyz") as page:
            told = (await page.json())["upstreams"]

    few_times = [429] * (LIMITED - 1)
    assert statuses == [*few_times, 200, *few_times, 400, *few_times, 429]
    assert (status, wait) == (429, "60")
    assert other == 200
    assert len(upstream.fake.questions) == 3 * LIMITED + 1
    assert told[upstream.model("large")] == {"up": False, "retry_after": 60}
    assert told[upstream.model("other")] == {"up": True}


async def test_an_upstream_whose_answers_break_off_is_not_down(fakes: FakeProviders, upstream: Upstream) -> None:
    """It has answered; only the client can tell whether to ask again."""
    upstream.fake.says(fault("close_mid_stream", times=FAILURES + 1), "Whole.")
    async with serving(fakes, **tiers(upstream)) as address:
        statuses = [(await ask(address, "/v1/messages", {**HELLO, "stream": True}))[0] for _ in range(FAILURES + 1)]
        status, answer = await ask_server(address, "/v1/messages", HELLO)

    assert statuses == [200] * (FAILURES + 1)
    assert (status, answer["content"][0]["text"]) == (200, "Whole.")


async def test_after_half_a_minute_one_request_probes_and_the_others_do_not_wait(
    fakes: FakeProviders, upstream: Upstream
) -> None:
    upstream.fake.says(fault(500, times=FAILURES), reply("I am back.", delay=0.3))
    async with serving(fakes, BIG_MODEL=upstream.model("large")) as address:
        for _ in range(FAILURES):
            await ask_server(address, "/v1/messages", HELLO)
        set_forward(31)
        probe = asyncio.create_task(ask_server(address, "/v1/messages", HELLO))
        await until(lambda: len(upstream.fake.questions) == FAILURES + 1)
        meanwhile = await ask(address, "/v1/messages", HELLO)
        status, answer = await probe
        after, _ = await ask_server(address, "/v1/messages", HELLO)

    assert meanwhile == (503, "5")
    assert (status, answer["content"][0]["text"]) == (200, "I am back.")
    assert after == 200


TWO_ROUTES = """
server:
  routes:
    helped: {{model: {upstream}/small, strategy: {strategy}, secondary: {upstream}/{helper}}}
    large: {upstream}/large
    other: {upstream}/other
"""


@pytest.mark.parametrize("helper", ["large", "small-again"])
@pytest.mark.parametrize("strategy", ["boost", "takeover", "rescue"])
async def test_a_helper_that_fails_closes_nobody_but_itself(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, strategy: str, helper: str
) -> None:
    """Twenty calls of which half fail would close the circuit of a model; the helper's calls are not counted there."""
    file = tmp_path / "server.yaml"
    file.write_text(TWO_ROUTES.format(upstream=upstream.name, strategy=strategy, helper=helper))
    upstream.fake.always(lambda body: fault(500) if body["model"] == helper else reply("I do not know."))
    async with serving(fakes, str(file)) as address:
        statuses = [(await ask_server(address, "/v1/messages", {**HELLO, "model": "helped"}))[0] for _ in range(40)]
        calls = sum(question.body["model"] == helper for question in upstream.fake.questions)
        upstream.fake.always("Yes.")
        others = [
            (await ask_server(address, "/v1/messages", {**HELLO, "model": name}))[0] for name in ("large", "other")
        ]

    assert statuses == [200] * 40
    assert calls == FAILURES
    assert others == [200, 200]


async def test_a_model_with_errors_of_its_own_leaves_its_neighbours_alone(
    fakes: FakeProviders, upstream: Upstream
) -> None:
    upstream.fake.always(lambda body: fault(503) if body["model"] == "large" else reply("Yes."))
    async with serving(fakes, **tiers(upstream), MIDDLE_MODEL=upstream.model("other")) as address:
        broken = [(await ask_server(address, "/v1/messages", HELLO))[0] for _ in range(FAILURES + 1)]
        other, _ = await ask_server(address, "/v1/messages", {**HELLO, "model": "sonnet"})

    assert broken == [503] * (FAILURES + 1)
    assert len(upstream.fake.questions) == FAILURES + 1
    assert other == 200


async def test_an_upstream_that_can_not_be_reached_is_left_alone_with_all_its_models(
    fakes: FakeProviders, upstream: Upstream
) -> None:
    upstream.fake.says(fault("close_before_headers", times=FAILURES), "Yes.")
    async with serving(fakes, **tiers(upstream), MIDDLE_MODEL=upstream.model("other")) as address:
        broken = [(await ask_server(address, "/v1/messages", HELLO))[0] for _ in range(FAILURES)]
        other, wait = await ask(address, "/v1/messages", {**HELLO, "model": "sonnet"})

    assert broken == [502] * FAILURES
    assert (other, wait) == (503, "30")
    assert len(upstream.fake.questions) == FAILURES


@pytest.mark.parametrize(
    ("pair", "tools", "paid"),
    [
        ("strategy: boost, secondary: openai/gpt-4o", True, False),
        ("strategy: boost, secondary: openai/gpt-4o", False, True),
        ("strategy: peer, secondary: openai/gpt-4o, peers: [openai/gpt-4o-mini]", False, False),
        ("strategy: council, secondary: openai/gpt-4o, peers: [openai/a, openai/b]", False, False),
    ],
)
async def test_nobody_is_paid_for_what_a_small_model_that_is_out_can_not_use(
    fakes: FakeProviders, tmp_path: Path, pair: str, *, tools: bool, paid: bool
) -> None:
    fakes.ollama.always(fault(500))
    fakes.openai.always("SUMMARY: Hello.")
    path = tmp_path / "server.yaml"
    path.write_text(f"server: {{routes: {{small: ollama/phi4, pair: {{primary: ollama/phi4, {pair}}}}}}}")
    offered = {"tools": [{"name": "read", "input_schema": {"type": "object"}}]} if tools else {}
    async with serving(fakes, str(path)) as address:
        for _ in range(FAILURES):
            await ask_server(address, "/v1/messages", {**HELLO, "model": "small"})
        status, wait = await ask(address, "/v1/messages", {**HELLO, "model": "pair", **offered})

    assert (status, wait) == ((200, None) if paid else (503, "30"))
    assert bool(fakes.openai.questions) == paid
