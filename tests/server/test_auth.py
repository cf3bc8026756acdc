"""Who may ask, and how those are told who may not."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ai_battle.config.server import ServeKey
from ai_battle.core.errors import ConfigError
from ai_battle.server.config import ConfigSource
from ai_battle.server.errors import Denied
from ai_battle.server.keys import Keys
from ai_battle.server.running import listening
from ai_battle.testing import FakeProviders

from .serving import ask_server, serving

HELLO: dict[str, Any] = {"model": "claude-opus-4", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
BIG = {"BIG_MODEL": "openai/large"}


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": "second-key"},
        {"Authorization": "Bearer second-key"},
        {"authorization": "bearer second-key"},
        {"AUTHORIZATION": "BEARER  second-key"},
        {"x-api-key": "wrong", "authorization": "Bearer first-key"},
    ],
)
async def test_any_of_the_keys_is_taken_in_either_header(fakes: FakeProviders, headers: dict[str, str]) -> None:
    async with serving(fakes, AI_BATTLE_SERVE_KEYS="first-key, second-key", **BIG) as address:
        status, _ = await ask_server(address, "/v1/messages", HELLO, headers)

    assert status == 200


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "wrong"}, {"authorization": "Basic first-key"}])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/messages/count_tokens"])
async def test_without_the_right_key_nothing_is_asked(fakes: FakeProviders, headers: dict[str, str], path: str) -> None:
    async with serving(fakes, AI_BATTLE_SERVE_KEYS="first-key", **BIG) as address:
        status, answer = await ask_server(address, path, HELLO, headers)

    assert (status, answer["error"]["type"]) == (401, "authentication_error")
    assert ("type" in answer) == path.startswith("/v1/messages")
    assert not fakes.openai.requests


async def test_a_key_says_nothing_about_other_keys() -> None:
    keys = Keys.of([ServeKey(key="first-key"), ServeKey(key="schlüssel", name="team")])

    assert keys.holder({"x-api-key": "schlüssel"}).name == "team"
    assert keys.holder({"x-api-key": "first-key"}).name.startswith("key-")
    assert "first" not in repr(keys) + keys.holder({"x-api-key": "first-key"}).name
    for wrong in ("first-ke", "first-key ", "FIRST-KEY", "\udcff"):
        with pytest.raises(Denied):
            keys.holder({"x-api-key": wrong})


async def test_health_and_head_need_no_key_and_models_do(fakes: FakeProviders) -> None:
    async with (
        serving(fakes, AI_BATTLE_SERVE_KEYS="first-key", **BIG) as address,
        aiohttp.ClientSession(address) as session,
    ):
        statuses = []
        for method, path in (("HEAD", "/"), ("GET", "/healthz"), ("GET", "/v1/models"), ("GET", "/metrics")):
            async with session.request(method, path) as answer:
                await answer.read()
                statuses.append(answer.status)

    assert statuses == [200, 200, 401, 401]


async def test_the_key_of_anthropic_is_that_of_clients_where_nobody_asks_anthropic(fakes: FakeProviders) -> None:
    environment = {**fakes.environment, **BIG}
    async with listening(ConfigSource("", environment, {"port": 0}).load()) as (_, address):
        without, _ = await ask_server(address, "/v1/messages", HELLO)
        with_it, _ = await ask_server(address, "/v1/messages", HELLO, {"x-api-key": environment["ANTHROPIC_API_KEY"]})

    assert (without, with_it) == (401, 200)


@pytest.mark.parametrize(
    "route",
    [
        "anthropic/claude-sonnet-4-5",
        "{model: ollama/phi4, secondary: ollama/gemma3, strategy: takeover, "
        "shadow: {judge: anthropic/claude-sonnet-4-5, budget: {cost_usd: 1}}}",
    ],
    ids=["by a route", "by the judge of a shadow"],
)
async def test_the_key_of_anthropic_is_no_key_of_clients_where_anthropic_is_asked(
    fakes: FakeProviders, tmp_path: Path, route: str
) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(f"server: {{state: {tmp_path}, routes: {{claude-opus-4: {route}}}}}")
    async with listening(ConfigSource(str(file), fakes.environment, {"port": 0}).load()) as (_, address):
        status, _ = await ask_server(address, "/v1/messages", HELLO)

    assert status == 200


def test_the_key_of_anthropic_opens_a_public_address_too() -> None:
    told = {"BIG_MODEL": "ollama/phi4", "HOST": "0.0.0.0"}

    with pytest.raises(ConfigError, match="clients need a key"):
        ConfigSource("", told).load()
    assert ConfigSource("", {**told, "ANTHROPIC_API_KEY": "a-key"}).load().keys
    with pytest.raises(ConfigError, match="clients need a key"):
        ConfigSource("", {**told, "BIG_MODEL": "anthropic/claude-opus-4-1", "ANTHROPIC_API_KEY": "a-key"}).load()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
    ],
)
async def test_without_keys_web_pages_of_others_can_not_ask(fakes: FakeProviders, headers: dict[str, str]) -> None:
    async with serving(fakes, **BIG) as address:
        status, answer = await ask_server(address, "/v1/messages", HELLO, headers)

    assert (status, answer["error"]["type"]) == (403, "permission_error")
    assert not fakes.openai.requests


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "localhost:8787"},
        {"Host": "[::1]:8787"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "vscode-webview://abc"},
    ],
)
async def test_without_keys_programs_and_pages_of_this_machine_can_ask(
    fakes: FakeProviders, headers: dict[str, str]
) -> None:
    async with serving(fakes, **BIG) as address:
        status, _ = await ask_server(address, "/v1/messages", HELLO, headers)

    assert status == 200


async def test_with_a_key_any_name_of_the_server_will_do(fakes: FakeProviders) -> None:
    async with serving(fakes, AI_BATTLE_SERVE_KEYS="first-key", **BIG) as address:
        status, _ = await ask_server(
            address,
            "/v1/messages",
            HELLO,
            {"Host": "ai.example", "Origin": "https://ai.example", "x-api-key": "first-key"},
        )

    assert status == 200
