"""Every client of this package keeps the contract that `ai_battle.testing.contract` publishes."""

from collections.abc import AsyncIterator, Callable, Mapping
from importlib import import_module
from pathlib import Path

import pytest
import pytest_asyncio

from ai_battle.core.client import ModelClient
from ai_battle.providers._adapting import Adapting
from ai_battle.providers._metered import Metered
from ai_battle.providers._retry import Retrying
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import FakeProviders, contract, fault, reply
from ai_battle.testing.contract import Check, Subject

ANSWER = reply("An answer of several words.", thinking="Let me see")
Subjects = Mapping[str, Callable[[FakeProviders], Subject]]


def over_http(wire: str, transport: str) -> Callable[[FakeProviders], Subject]:
    """The client of a provider, led to a fake that answers, fails or stalls."""

    def subject(fakes: FakeProviders) -> Subject:
        fake = getattr(fakes, wire)
        base_url = fakes.environment["OPENAI_BASE_URL"] if wire == "openai" else fake.url
        create = import_module(f"ai_battle.providers.{wire}").create

        def meeting(what: object) -> ModelClient:
            fake.always(what)
            client: ModelClient = create("a-model", base_url=base_url, api_key="test-key", transport=transport)
            return client

        return Subject(
            answers=lambda: meeting(ANSWER),
            fails=lambda: meeting(fault("http_400")),
            stalls=lambda: meeting(fault("stall_mid_stream")),
        )

    return subject


def wrapped(wrap: Callable[[ModelClient], ModelClient]) -> Callable[[FakeProviders], Subject]:
    return lambda _: contract.wrapper(wrap)


SUBJECTS: Subjects = {
    "scripted": lambda _: Subject(
        answers=lambda: ScriptedClient("An answer.", loop=True),
        fails=lambda: ScriptedClient({"say": "An ans", "fail": "cut"}),
        stalls=lambda: ScriptedClient({"say": "too late", "delay": 60}),
    ),
    **{f"{wire}-aiohttp": over_http(wire, "aiohttp") for wire in ("openai", "anthropic", "ollama", "gemini")},
    **{f"{wire}-sdk": over_http(wire, "sdk") for wire in ("openai", "anthropic", "ollama")},
    "retrying": wrapped(lambda inner: Retrying(inner, "scripted/inner")),
    "adapting": wrapped(lambda inner: Adapting(inner, "scripted", "inner")),
    "metered": wrapped(lambda inner: Metered(inner, "scripted/inner")),
}


@pytest_asyncio.fixture
async def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeProviders]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    async with FakeProviders() as running:
        yield running


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("name", SUBJECTS)
async def test_each_client_keeps_the_contract(name: str, check: Check, fakes: FakeProviders) -> None:
    await check(SUBJECTS[name](fakes))
