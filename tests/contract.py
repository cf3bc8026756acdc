"""Every client of this package keeps the contract that `ai_battle.testing.contract` publishes."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module

import pytest

from ai_battle import create_client
from ai_battle.core.client import ModelClient
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import FakeProviders, contract, fault, reply
from ai_battle.testing.contract import Check, Subject

ANSWER = reply("An answer of several words.", thinking="Let me see")
Subjects = Mapping[str, Callable[[FakeProviders], Subject]]


def over_http(wire: str, create: Callable[..., ModelClient]) -> Callable[[FakeProviders], Subject]:
    """Returns what `create` makes, led to a fake that answers, fails or stalls."""

    def subject(fakes: FakeProviders) -> Subject:
        fake = getattr(fakes, wire)
        base_url = fakes.environment["OPENAI_BASE_URL"] if wire == "openai" else fake.url

        def meeting(what: object) -> ModelClient:
            fake.always(what)
            return create(base_url=base_url, api_key="test-key")

        return Subject(
            answers=lambda: meeting(ANSWER),
            fails=lambda: meeting(fault("http_400")),
            stalls=lambda: meeting(fault("stall_mid_stream")),
        )

    return subject


def bare(wire: str, transport: str) -> Callable[[FakeProviders], Subject]:
    """The client of a provider alone."""
    return over_http(wire, partial(import_module(f"ai_battle.providers.{wire}").create, "a-model", transport=transport))


def assembled_stack(wire: str) -> Callable[[FakeProviders], Subject]:
    """The whole stack as a discussion has it: metered, retried, adapted."""
    return over_http(wire, partial(create_client, f"{wire}/a-model"))


def wrapped_model(wrap: Callable[[ModelClient], ModelClient]) -> Callable[[FakeProviders], Subject]:
    return lambda _: contract.wrapper(wrap)


SUBJECTS: Subjects = {
    "scripted": lambda _: Subject(
        answers=lambda: ScriptedClient("An answer.", loop=True),
        fails=lambda: ScriptedClient({"say": "An ans", "fail": "cut"}),
        stalls=lambda: ScriptedClient({"say": "too late", "delay": 60}),
    ),
    **{f"{wire}-aiohttp": bare(wire, "aiohttp") for wire in ("openai", "anthropic", "ollama", "gemini")},
    **{f"{wire}-sdk": bare(wire, "sdk") for wire in ("openai", "anthropic", "ollama")},
    **{f"{wire}-assembled": assembled_stack(wire) for wire in ("openai", "anthropic", "ollama", "gemini")},
    "called": wrapped_model(lambda inner: create_client("tests.providers.plugin/inner", inner=inner)),
}


@pytest.fixture
def fakes() -> Iterator[FakeProviders]:
    """In a thread of their own: what still runs in the loop of a check is the client's."""
    with FakeProviders.in_thread() as running:
        yield running


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("name", SUBJECTS)
async def test_each_client_keeps_the_contract(name: str, check: Check, fakes: FakeProviders) -> None:
    await check(SUBJECTS[name](fakes))
