"""An assistant holds discussions: it sees how they go, may cancel them, and nothing of them is lost."""

import asyncio
import json
from pathlib import Path

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, fault, reply

from .conftest import Mode, by_stdio, in_this_process

TEA = {"topic": "Which tea is best?", "models": ["Ann=gpt-4o", "Ben=gpt-4o"], "turns": 2}


async def test_a_packaged_discussion_is_told_turn_by_turn_and_returned_as_a_whole(folder: Path) -> None:
    async with in_this_process() as assistant:
        told = await assistant.call("discuss", config="quickstart", turns=1)

    assert (told["status"], told["turns"], told["cost_usd"], told["next_turn"]) == ("done", 2, 0, None)
    assert [said["speaker"] for said in told["messages"]] == ["", "Ada", "Ben"]
    run = told["run"]
    assert assistant.told == [
        (0, 2, f"{run}: turn 1 of 2, Ada, $0 so far"),
        (1, 2, f"{run}: turn 2 of 2, Ben, $0 so far"),
    ]
    assert "Ada" in (folder / run / "transcript.md").read_text()


async def test_models_discuss_a_topic_and_the_result_says_what_it_cost(folder: Path, fakes: FakeProviders) -> None:
    fakes.openai.always(reply("Green.", usage=Usage(1000, 100)))

    async with in_this_process(max_cost=5.0) as assistant:
        told = await assistant.call("discuss", **{**TEA, "topic": "${Tea}, or what?"}, max_cost=9)
        read = await assistant.call("read_run", run="last", part="summary")

    assert told["messages"][0]["text"] == "${Tea}, or what?"
    assert told["participants"] == {"Ann": "gpt-4o", "Ben": "gpt-4o"}
    assert told["cost_usd"] > 0
    assert told["max_cost_usd"] == read["max_cost_usd"] == 5


async def test_the_dollars_so_far_stand_in_the_progress(folder: Path, fakes: FakeProviders) -> None:
    fakes.openai.always(reply("Green.", usage=Usage(1000, 1000)))

    async with in_this_process() as assistant:
        await assistant.call("discuss", **TEA)

    assert assistant.told[-1][2].endswith("turn 4 of 4, Ben, $0.0375 so far")


async def test_it_ends_where_the_next_call_may_cost_more_than_it_may(folder: Path, fakes: FakeProviders) -> None:
    fakes.openai.always(reply("Green.", usage=Usage(1000, 1000)))

    async with in_this_process() as assistant:
        told = await assistant.call("discuss", **{**TEA, "turns": 9}, max_cost=0.1)

    assert told["status"] == "limit"
    assert told["cost_usd"] <= 0.1


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
async def test_a_cancelled_discussion_is_kept_and_goes_on_where_it_was(
    folder: Path, fakes: FakeProviders, mode: Mode
) -> None:
    fakes.openai.says("Green.", "White.", fault("stall_before_headers"), "Black.", "Red.")

    async with in_this_process(mode) as assistant:
        await assistant.cancel_at(3, "discuss", **TEA)
        (kept,) = (await assistant.call("list_runs"))["runs"]
        assert (kept["status"], kept["turns"]) == ("interrupted", 2)
        told = await assistant.call("discuss", resume="last")

    assert (told["run"], told["status"]) == (kept["run"], "done")
    assert [said["text"] for said in told["messages"][1:]] == ["Green.", "White.", "Black.", "Red."]
    assert "Red." in (folder / told["run"] / "transcript.md").read_text()


async def test_a_client_that_leaves_stops_what_it_has_begun(folder: Path, fakes: FakeProviders) -> None:
    fakes.openai.says("Green.", fault("stall_before_headers"), "White.", "Black.", "Red.")

    async with by_stdio() as assistant:
        call = await assistant.call_until(2, "discuss", TEA)
    await asyncio.wait({call})
    async with in_this_process() as assistant:
        (kept,) = (await assistant.call("list_runs"))["runs"]
        told = await assistant.call("discuss", resume=kept["run"])

    assert (kept["status"], kept["turns"]) == ("interrupted", 1)
    assert told["status"] == "done"


async def test_a_failed_discussion_is_an_error_that_says_why_and_can_be_resumed(
    folder: Path, fakes: FakeProviders
) -> None:
    fakes.openai.says("Green.", fault("http_401"), "White.", "Black.", "Red.")

    async with in_this_process() as assistant:
        words = await assistant.refusal("discuss", **TEA)
        told = await assistant.call("discuss", resume="last")

    failed = json.loads(words)
    assert (failed["status"], failed["turns"]) == ("failed", 1)
    assert "Is OPENAI_API_KEY right?" in failed["reason"]
    assert told["status"] == "done"


async def test_what_is_secret_reaches_no_result(
    folder: Path, fakes: FakeProviders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GARDEN_API_KEY", "gk-7d2f9a4c81e05b36")
    fakes.openai.always("It is gk-7d2f9a4c81e05b36.")

    async with in_this_process() as assistant:
        told = await assistant.call("ask", question="Which key?", model="gpt-4o")
        talk = await assistant.call("discuss", **TEA)

    assert "gk-7d2f9a4c81e05b36" not in str(told) + str(talk)
    assert "GARDEN_API_KEY" in told["answer"]
