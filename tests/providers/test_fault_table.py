"""Whatever goes wrong between a client and its provider ends as docs/reference/faults.md says.

Each fault is met by each client as it is assembled: metered, retried, adapted; once in passing, and for good.
"""

import asyncio

import pytest

from ai_battle import create_client
from ai_battle.core.errors import Refused, Unreachable
from ai_battle.core.events import EventLog, Warned
from ai_battle.core.exchange import ModelRequest
from ai_battle.testing import FAULTS, FakeProviders, fault

from .fault_scenes import ASKED, WHOLE, Scene, answer, failures, for_good, in_passing, scenes
from .fault_table import EXPECTED, PAGE, page

QUICK = {"rate_limited": 0.05, "rate_limited_date": 0.3, "slow_drip": 0.05, "ping_for_ever": 0.05}
PASSING = [name for name, row in EXPECTED.items() if row.error and row.again != "never"]
SURFACING = [name for name, row in EXPECTED.items() if row.error]
LARGE = ("huge_answer", "gzip_bomb")
ANSWERED = [name for name, row in EXPECTED.items() if not row.error and row.again == "never"]


def of(name: str) -> list[Scene]:
    return [*scenes(fault(name, seconds=QUICK.get(name)), EXPECTED[name])]


def test_the_table_has_every_fault_once() -> None:
    assert sorted(EXPECTED) == sorted(FAULTS)


def test_the_page_is_made_from_the_table() -> None:
    """When this fails: python -m tests.providers.fault_table"""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if number % 3 else ()) for number, name in enumerate(PASSING)]
)
async def test_a_fault_that_passes_costs_no_turn_and_nothing_is_said_twice(name: str) -> None:
    wrong = await asyncio.gather(*map(in_passing, of(name)))
    assert not [text for text in wrong if text]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if number % 2 or name in LARGE else ())
        for number, name in enumerate(SURFACING)
    ],
)
async def test_a_fault_that_stays_is_told_and_retries_never_multiply(name: str) -> None:
    wrong = await asyncio.gather(*map(for_good, of(name)))
    assert not [text for text in wrong if text]


@pytest.mark.parametrize("name", [name for name in ANSWERED if name != "refusal"])
async def test_what_spoils_no_answer_is_one(name: str) -> None:
    stops = {"length": "length", "content_filter": "content_filter", "duplicate_tool_ids": "tool_calls"}
    stops["missing_tool_ids"] = "tool_calls"
    for scene in of(name):
        response, log = await answer(scene)
        assert response.stop == stops.get(name, "end"), str(scene)
        assert log.text == response.text
        assert response.text or len({call.id for call in response.tool_calls} - {""}) == 2, str(scene)
        assert name != "invalid_utf8" or "caf\ufffd" in response.text


async def test_a_refusal_is_marked_and_not_asked_again() -> None:
    """Gemini says nothing when it refuses, so that there is no message to mark."""
    for scene in of("refusal"):
        if scene.wire == "gemini":
            with pytest.raises(Refused, match="PROHIBITED_CONTENT"):
                await answer(scene)
        else:
            response, _ = await answer(scene)
            assert (response.stop, response.text) == ("refusal", "I can't help with that."), str(scene)


async def test_a_refused_parameter_is_left_out_with_one_warning() -> None:
    request = ModelRequest(ASKED.messages, options={"temperature": 0.5, "reasoning": "low"})
    for scene in of("parameter_refused"):
        async with scene.meet() as (client, fake, _):
            fake.says(fault("parameter_refused"), WHOLE)
            response = await client.complete(request, log := EventLog())
            again = await client.complete(request, second := EventLog())
            warnings = [e.message for e in log.events if isinstance(e, Warned) and "refuses" in e.message]

            assert (response.text, len(warnings), failures(log)) == (WHOLE, 1, []), str(scene)
            assert again.text
            assert len(fake.questions) == 3
            assert not [e for e in second.events if isinstance(e, Warned)]


async def test_redirects_in_a_circle_end() -> None:
    async with of("redirect_same_origin")[0].meet() as (client, fake, _):
        fake.always(fault("redirect_same_origin"))
        with pytest.raises(Unreachable, match="redirects more than 3 times"):
            await client.complete(ASKED)
        assert len(fake.questions) == 4


async def test_the_clients_of_a_run_are_put_together_in_this_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same fault, met through `create_client`."""
    async with FakeProviders() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.says(fault("end_mid_stream"), WHOLE)
        client = create_client("openai/gpt-4o")
        response = await client.complete(ASKED, log := EventLog())

        assert (response.text, log.text, len(fakes.openai.questions)) == (WHOLE, WHOLE, 2)
        assert (response.usage.cost_usd or 0) > 0
