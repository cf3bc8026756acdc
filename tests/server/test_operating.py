"""What those see that run the server."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import Usage
from ai_battle.server.config import ConfigSource
from ai_battle.server.running import startup_lines
from ai_battle.testing import FakeProviders, fault, reply

from .serving import ask_server, connect, serving, serving_to

HELLO: dict[str, Any] = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello, my secret-word?"}]}
TOOLS = [{"name": "add", "input_schema": {"type": "object", "properties": {}}}]
FILE = """
server:
  log_content: {content}
  keys: [{{key: key-of-team, name: team}}]
  routes: {{large: openai/gpt-4o, down: ollama/phi4}}
prices: {{openai/gpt-4o: {{input: 1.0, output: 2.0, cache_read: 0.25}}}}
"""
TEAM = {"x-api-key": "key-of-team"}


def write_config(folder: Path, content: str = "false") -> str:
    path = folder / "server.yaml"
    path.write_text(FILE.format(content=content))
    return str(path)


def boosting(fakes: FakeProviders) -> dict[str, str]:
    return {
        "BIG_MODEL": "ollama/phi4",
        "BOOST_BASE_URL": f"{fakes.openai.url}/v1",
        "BOOST_API_KEY": "key-of-boost",
        "BOOST_MODEL": "planner",
        "ENABLE_BOOST_SUPPORT": "BIG_MODEL",
    }


HEAVY = ("genai_prices", "ai_battle.config.discussion", "ai_battle.judging.detector", "ai_battle.tools.client")


def test_a_server_listens_before_it_loads_what_it_may_never_need() -> None:
    plan = "ConfigSource('', {'BIG_MODEL': 'openai/gpt-4o', 'OPENAI_API_KEY': 'k'}).load()"
    code = f"import sys; from ai_battle.server.config import ConfigSource; {plan}; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "ai_battle.server.config" in loaded
    assert [name for name in HEAVY if f"'{name}'" in loaded] == []


async def fetch(address: str, path: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession(address) as session, session.get(path, headers=headers) as answer:
        return answer.status, await answer.text()


async def test_metrics_count_requests_tokens_dollars_and_errors_by_route(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.openai.says(reply("One two.", usage=Usage(1000, 500)), fault(500))
    async with serving(fakes, write_config(tmp_path)) as address:
        for body in ({"stream": True}, {}):
            await ask_server(address, "/v1/messages", {"model": "large", **HELLO, **body}, TEAM)
        await ask_server(address, "/v1/chat/completions", {"model": "openai/made-up-name", **HELLO}, TEAM)
        await ask_server(address, "/v1/chat/completions", {"model": "nobody", **HELLO}, TEAM)
        _, text = await fetch(address, "/metrics", **TEAM)

    for line in (
        'ai_battle_requests_total{api="messages",route="large",status="200"} 1',
        'ai_battle_requests_total{api="messages",route="large",status="500"} 1',
        'ai_battle_requests_total{api="chat",route="other",status="200"} 1',
        'ai_battle_requests_total{api="chat",route="",status="404"} 1',
        'ai_battle_tokens_total{route="large",kind="input"} 1000',
        'ai_battle_tokens_total{route="large",kind="output"} 500',
        'ai_battle_cost_usd_total{route="large"} 0.002',
        'ai_battle_upstream_errors_total{route="large",kind="http_500"} 1',
        'ai_battle_request_seconds_count{route="large"} 2',
        'ai_battle_first_token_seconds_count{route="large"} 1',
        'ai_battle_first_token_seconds_bucket{route="large",le="+Inf"} 1',
        "ai_battle_requests_in_flight 0",
        "# TYPE ai_battle_request_seconds histogram",
    ):
        assert line in text.splitlines()
    assert "made-up-name" not in text


async def test_metrics_and_names_of_upstreams_are_for_those_with_a_key(fakes: FakeProviders, tmp_path: Path) -> None:
    async with serving(fakes, write_config(tmp_path)) as address:
        closed, _ = await fetch(address, "/metrics")
        _, shy = await fetch(address, "/readyz")
        _, open_ = await fetch(address, "/readyz", **TEAM)

    assert closed == 401
    assert json.loads(shy) == {"status": "ready"}
    assert json.loads(open_)["upstreams"] == {"openai/gpt-4o": {"up": True}, "ollama/phi4": {"up": True}}


@pytest.mark.parametrize(
    ("helper", "pair", "key", "kind"),
    [
        (fault(503), "{}", "rich", "http_503"),
        (fault("reset_before_headers"), "{}", "rich", "connection"),
        (fault("stall_before_headers"), "{helper_timeout: 0.2}", "rich", "timeout"),
        (fault("malformed_json"), "{}", "rich", "bad_reply"),
        (reply(""), "{}", "rich", "nothing_usable"),
        ("Seven.", "{limits: {calls: 0}}", "rich", "limit"),
        ("Seven.", "{}", "poor", "budget"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_the_log_says_why_a_helper_was_of_no_use(
    fakes: FakeProviders, tmp_path: Path, helper: Any, pair: str, key: str, kind: str
) -> None:
    """The model that it helps answers in each case; the client sees only that it had no help.

    Only a connection that failed is counted as one: an answer that says nothing is no failed call.
    """
    path, log = tmp_path / "server.yaml", list[bytes]()
    route = {"primary": "ollama/phi4", "secondary": "openai/gpt-4o", "strategy": "takeover", **yaml.safe_load(pair)}
    keys = [{"key": "rich", "name": "rich"}, {"key": "poor", "name": "poor", "budget_usd": 1e-6}]
    path.write_text(yaml.safe_dump({"server": {"keys": keys, "routes": {"pair": route}}}))
    fakes.ollama.always("I do not know. I do not know. I do not know. I do not know.")
    fakes.openai.always(helper)
    async with serving_to(fakes, log.append, str(path)) as (_, address):
        status, _ = await ask_server(address, "/v1/messages", {"model": "pair", **HELLO}, {"x-api-key": key})
        _, metrics = await fetch(address, "/metrics", **{"x-api-key": key})

    counted = set(re.findall(r'upstream_errors_total{route="pair",kind="(\w+)"}', metrics))
    assert counted == {kind} & {"http_503", "connection", "bad_reply"}
    line = json.loads(log[-1])
    assert (status, line["level"], line["helped"], line["help_failed"]) == (200, "warning", False, kind)


async def test_boost_loops_are_counted_by_their_outcome_and_told_in_headers(fakes: FakeProviders) -> None:
    fakes.openai.says("Hm, no idea.", "SUMMARY:\nIt is seven.")
    async with (
        serving(fakes, **boosting(fakes)) as address,
        aiohttp.ClientSession(address) as session,
        session.post("/v1/messages", json={"model": "opus", **HELLO, "tools": TOOLS}) as answer,
    ):
        headers = answer.headers
        _, text = await fetch(address, "/metrics")

    assert headers["x-ai-battle-route"] == "claude-opus"
    assert headers["x-ai-battle-strategy"] == "boost"
    assert headers["x-ai-battle-helped"] == "true"
    assert headers["x-ai-battle-loops"] == "2"
    assert 'ai_battle_boost_loops_total{route="claude-opus",outcome="other"} 1' in text
    assert 'ai_battle_boost_loops_total{route="claude-opus",outcome="summary"} 1' in text
    assert 'ai_battle_helped_total{route="claude-opus"} 1' in text


async def test_a_helper_that_failed_is_no_help(fakes: FakeProviders) -> None:
    fakes.openai.says(fault(500), "It is seven.")
    async with (
        serving(fakes, **boosting(fakes)) as address,
        aiohttp.ClientSession(address) as session,
        session.post("/v1/messages", json={"model": "opus", **HELLO, "tools": TOOLS}) as answer,
    ):
        _, text = await fetch(address, "/metrics")

    assert (answer.status, answer.headers["x-ai-battle-helped"]) == (200, "false")
    assert "ai_battle_helped_total{" not in text


async def test_peers_that_agree_are_no_help(fakes: FakeProviders, tmp_path: Path) -> None:
    file = tmp_path / "council.yaml"
    route = "{model: ollama/phi4, strategy: council, peers: [ollama/gemma3, ollama/llama3.2], secondary: openai/gpt-4o}"
    file.write_text(f"server: {{routes: {{three: {route}}}}}")
    fakes.ollama.always("It is seven.\n#### 7")
    async with (
        serving(fakes, str(file)) as address,
        aiohttp.ClientSession(address) as session,
        session.post("/v1/messages", json={"model": "three", **HELLO}) as answer,
    ):
        await answer.read()

    assert (answer.status, answer.headers["x-ai-battle-helped"]) == (200, "false")
    assert (len(fakes.ollama.questions), len(fakes.openai.questions)) == (3, 0)


async def test_headers_tell_the_route_the_cost_and_an_id(fakes: FakeProviders, tmp_path: Path) -> None:
    """A cheap request costs a few millionths of a dollar."""
    heads = []
    fakes.openai.always(reply("Hi.", usage=Usage(5, 1, cache_read_tokens=5)))
    async with (
        serving(fakes, write_config(tmp_path)) as address,
        aiohttp.ClientSession(address, headers=TEAM) as session,
    ):
        for stream in (False, True):
            async with session.post("/v1/messages", json={"model": "large", **HELLO, "stream": stream}) as answer:
                await answer.read()
                heads.append(answer.headers)

    assert heads[0]["x-ai-battle-cost-usd"] == "0.00000325"
    assert "x-ai-battle-helped" not in heads[0]
    assert {head["x-ai-battle-route"] for head in heads} == {"large"}
    assert len({head["request-id"] for head in heads} | {head["x-request-id"] for head in heads}) == 2


async def test_each_request_is_one_line_without_content_and_secrets(fakes: FakeProviders, tmp_path: Path) -> None:
    lines: list[bytes] = []
    fakes.openai.says("My secret-word is out.")
    async with serving_to(fakes, lines.append, write_config(tmp_path)) as (_, address):
        await ask_server(address, "/v1/messages", {"model": "large", **HELLO, "stream": True}, TEAM)
        await ask_server(address, "/v1/chat/completions", {"model": "nobody", **HELLO}, TEAM)
        await ask_server(address, "/v1/messages", {"model": "large", **HELLO}, {"x-api-key": "wrong-key"})

    good, unknown, refused = (json.loads(line) for line in lines)
    assert {"api": "messages", "key": "team", "model": "large", "route": "large", "status": 200}.items() <= good.items()
    assert good["stream"] is True
    assert 0 < good["first_token_seconds"] <= good["seconds"]
    assert good["input_tokens"] > 0
    assert good["cost_usd"] > 0
    assert (unknown["status"], unknown["error"], unknown["level"]) == (404, "NoRoute", "warning")
    assert (refused["status"], refused["error"]) == (401, "Denied")
    for secret in (b"secret-word", b"key-of-team", b"wrong-key", b"test-key"):
        assert secret not in b"".join(lines)


@pytest.mark.parametrize(
    "sent",
    [
        b"my secret-word\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: " + b"secret-word" * 2000 + b"\r\n\r\n",
    ],
    ids=["no HTTP", "a head that is too long"],
)
async def test_what_is_no_request_is_one_line_without_a_word_of_it(fakes: FakeProviders, sent: bytes) -> None:
    lines: list[bytes] = []
    async with (
        serving_to(fakes, lines.append, BIG_MODEL="ollama/phi4") as (_, address),
        connect(address) as (reader, writer),
    ):
        writer.write(sent)
        answer = await reader.read()

    [line] = lines
    assert b" 400 " in answer
    assert json.loads(line)["reason"] == "A connection sent something that is not an HTTP request."
    assert b"secret-word" not in line


async def test_a_body_that_can_not_be_read_has_one_line(fakes: FakeProviders) -> None:
    lines: list[bytes] = []
    async with serving_to(fakes, lines.append, BIG_MODEL="ollama/phi4") as (_, address):
        status, told = await ask_server(address, "/v1/messages", {"model": "opus"}, {"content-encoding": "gzip"})

    assert (status, told["error"]["message"]) == (400, "The body can't be read as gzip.")
    assert [json.loads(line)["status"] for line in lines] == [400]


async def test_content_is_in_the_log_when_asked_for_and_keys_are_not(fakes: FakeProviders, tmp_path: Path) -> None:
    lines: list[bytes] = []
    body = {"model": "large", "max_tokens": 9, "messages": [{"role": "user", "content": "Is key-of-team mine?"}]}
    fakes.openai.always("Yes, it is.")
    async with serving_to(fakes, lines.append, write_config(tmp_path, "true")) as (_, address):
        for stream in (False, True):
            await ask_server(address, "/v1/messages", {**body, "stream": stream}, TEAM)

    for line in map(json.loads, lines):
        assert "mine?" in line["request"]
        assert line["answer"] == "Yes, it is."
    assert b"key-of-team" not in b"".join(lines)


async def test_the_level_of_the_log_leaves_out_what_went_well(fakes: FakeProviders) -> None:
    lines: list[bytes] = []
    fakes.openai.says("Yes.", fault(500))
    async with serving_to(fakes, lines.append, BIG_MODEL="openai/large", LOG_LEVEL="ERROR") as (_, address):
        for _ in range(2):
            await ask_server(address, "/v1/messages", {"model": "opus", **HELLO})
        await ask_server(address, "/v1/messages", {"model": "nobody", **HELLO})

    assert [json.loads(line)["status"] for line in lines] == [500]
    with pytest.raises(ConfigError, match="did you mean 'warning'"):
        ConfigSource("", {"BIG_MODEL": "ollama/phi4", "LOG_LEVEL": "warnung"}).load()


async def test_custom_headers_reach_every_upstream_and_those_of_a_route_only_its_own(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    path = tmp_path / "server.yaml"
    path.write_text("server: {routes: {a: {model: openai/a, headers: {X-Route: one}}, b: anthropic/b, c: ollama/c}}")
    async with serving(fakes, str(path), CUSTOM_HEADER_X_TEAM="blue") as address:
        for name in "abc":
            assert (await ask_server(address, "/v1/messages", {"model": name, **HELLO}))[0] == 200

    headers_sent = [provider.questions[0].headers for provider in (fakes.openai, fakes.anthropic, fakes.ollama)]
    assert [headers["X-Team"] for headers in headers_sent] == ["blue"] * 3
    assert [headers.get("X-Route") for headers in headers_sent] == ["one", None, None]


async def test_a_route_may_have_a_key_of_its_own(fakes: FakeProviders, tmp_path: Path) -> None:
    path = tmp_path / "server.yaml"
    path.write_text("server: {routes: {a: {model: openai/a, api_key: key-of-a}, b: openai/b}}")
    async with serving(fakes, str(path)) as address:
        for name in "ab":
            await ask_server(address, "/v1/messages", {"model": name, **HELLO})

    assert [q.headers["authorization"] for q in fakes.openai.questions] == ["Bearer key-of-a", "Bearer test-key"]


async def test_a_name_that_fits_in_no_header_is_answered_all_the_same(fakes: FakeProviders) -> None:
    async with (
        serving(fakes, BIG_MODEL="openai/large") as address,
        aiohttp.ClientSession(address) as session,
        session.post("/v1/messages", json={"model": "openai/a\r\nx-evil: 1", **HELLO}) as answer,
    ):
        assert answer.status in (200, 404)
        assert "x-evil" not in answer.headers


async def test_a_log_that_nobody_reads_stops_nobody(fakes: FakeProviders) -> None:
    def raise_broken_pipe(line: bytes) -> None:
        raise BrokenPipeError

    async with serving_to(fakes, raise_broken_pipe, BIG_MODEL="openai/large") as (_, address):
        status, _ = await ask_server(address, "/v1/messages", {"model": "opus", **HELLO})

    assert status == 200


def test_who_may_ask_and_what_may_be_spent_is_told_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "server.yaml"
    path.write_text(
        f"server: {{state: {tmp_path}, keys: [{{key: key-of-team, name: team, budget_usd: 5}}],"
        " limits: {unpriced: allow}, routes: {a: openrouter/some/model, b: openai/o3-mini}}"
    )
    said = "\n".join(
        startup_lines(
            ConfigSource(str(path), {"OPENROUTER_API_KEY": "key", "OPENAI_API_KEY": "key"}).load(), "http://x"
        )
    )

    assert "Clients need a key: team" in said
    assert (
        f"Budgets hold for all workers of this machine; what is spent is kept in {tmp_path / 'counts.sqlite'}." in said
    )
    assert "No price is known of openrouter/some/model" in said
    assert "'o3-mini' is retired; its successor" in said
    assert "key-of-team" not in said
    assert "need no key" in startup_lines(ConfigSource("", {"BIG_MODEL": "ollama/phi4"}).load(), "http://x")[-1]
