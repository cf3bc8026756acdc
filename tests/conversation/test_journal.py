"""The journal: what is written, when, and what of it can be read back."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ai_battle.conversation.journal import Journal
from ai_battle.conversation.reading import messages, read
from ai_battle.core.errors import JournalError
from ai_battle.core.events import (
    AttemptFailed,
    BudgetReached,
    DraftDelta,
    Event,
    ModelReplied,
    Retrying,
    RunFinished,
    RunResumed,
    RunStarted,
    SpeakerSelected,
    Summarised,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Warned,
)
from ai_battle.core.exchange import ToolSpec, Usage
from ai_battle.core.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, assistant
from ai_battle.core.tooling import ToolCalled, ToolDecided, ToolReturned, ToolsOffered

from .runs import turn

CALL = ToolCall("add", {"a": 1, "nested": {"b": [1, None, "é"]}}, "call_1")
RESULT = ToolResult(CALL, (Text("2"), Image("image/png", b"\x89PNG")))
USAGE = Usage(10, 5, 3, 2, 1, 0.25)
DETAILED = Message("assistant", (Thinking("hm", "signature"), Text("Yes"), CALL), "ann", extra={"openai": {"x": 1}})
EVERY_EVENT: tuple[Event, ...] = (
    RunStarted("debate", "runs/x", {"ann": "openai/gpt-4o"}, {"config": "discussion: {}"}),
    RunResumed(3, 4711, {"config": "changed"}),
    SpeakerSelected("ann", "near match", "Ann!"),
    TurnStarted(1, 1, "ann"),
    ModelReplied("gpt-4o", USAGE, 0.5, "length", True, "ann"),
    AttemptFailed("gpt-4o", 1, "cut off", 0.1, 503, "req-1", "He", "{", "ann"),
    Retrying("gpt-4o", 2, 0.5, "cut off"),
    Warned("temperature was dropped"),
    ToolCalled(CALL),
    ToolReturned(RESULT, 0.01),
    TurnFinished(1, 1, "ann", DETAILED, USAGE, "gpt-4o", 1.5, 2, "end", (Message("tool", (RESULT,)),), "wrap_up"),
    TurnFailed(2, 1, "bob", "no connection", "skip", USAGE, "He"),
    Summarised(1, "They agreed.", USAGE, "gpt-4o"),
    BudgetReached("cost_usd", 0.9, 1.0),
    RunFinished("limit", "cost_usd", 2, Usage()),
)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    opened = Journal.create(tmp_path / "run")
    yield opened
    await opened.close()


def records(journal: Journal) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (journal.run_dir / "journal.jsonl").read_bytes().splitlines()]


async def test_every_event_is_read_back_as_it_was(journal: Journal) -> None:
    for event in EVERY_EVENT:
        await journal(event)

    assert list(EVERY_EVENT) == [event for _, event in read(journal.run_dir)]


async def test_what_is_said_of_tools_is_read_back_as_it_was(journal: Journal) -> None:
    """These came later than the golden file of the first version."""
    spec = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
    events: list[Event] = [ToolsOffered((spec,), "ann"), ToolDecided(CALL, "denied", "person", "too costly", "ann")]
    for event in events:
        await journal(event)

    assert events == [event for _, event in read(journal.run_dir)]


async def test_a_journal_of_an_earlier_version_is_read_as_what_it_said() -> None:
    """One golden file for each format that was released; they are never written anew."""
    assert list(EVERY_EVENT) == [event for _, event in read(Path(__file__).parent / "data" / "run-v1")]


async def test_a_line_has_version_number_time_and_type(journal: Journal) -> None:
    await journal(Warned("one"))
    await journal(TurnStarted(1, 1, "ann"))

    first, second = records(journal)
    assert {"v": 1, "seq": 0, "type": "warned", "message": "one"}.items() <= first.items()
    assert {"v": 1, "seq": 1, "type": "turn_started", "speaker": "ann"}.items() <= second.items()
    assert first["time"].endswith("+00:00")


async def test_a_finished_turn_has_the_documented_fields(journal: Journal) -> None:
    await journal(turn(1, "ann", "Hello."))

    [record] = records(journal)
    assert record["speaker"] == "ann"
    assert record["message"]["role"] == "assistant"
    assert record["message"]["name"] == "ann"
    assert record["message"]["parts"] == [{"type": "text", "content": "Hello."}]
    assert {
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "cost_usd",
    } == set(record["usage"])
    assert {"model", "seconds", "attempts"} <= record.keys()


async def test_deltas_are_not_journalled(journal: Journal) -> None:
    for delta in (TextDelta("a"), ThinkingDelta("b"), DraftDelta("c"), ToolCallDelta(0)):
        await journal(delta)

    assert records(journal) == []


async def test_an_event_can_be_read_as_soon_as_it_was_heard(journal: Journal) -> None:
    """No close, no sync and no tick of the event loop in between."""
    await journal(turn(1, "ann", "Hello."))

    assert [message.text for message in messages(journal.run_dir)] == ["Hello."]


async def test_what_json_can_not_say_never_stops_a_run(journal: Journal) -> None:
    """Half a surrogate pair in a text, a number that is none, a value of a caller's own type among the settings."""
    await journal(turn(1, "ann", "whole \U0001f600, half \ud83d."))
    await journal(Retrying("m", 1, float("nan"), "?"))
    await journal(RunStarted("x", "run", {}, {"path": Path("a"), "own": EVERY_EVENT.__len__}))

    assert messages(journal.run_dir)[0].text == "whole \U0001f600, half \ufffd."
    assert [records(journal)[1]["delay"], records(journal)[2]["settings"]["path"]] == [None, "a"]


async def test_a_second_run_in_the_same_directory_is_refused(journal: Journal) -> None:
    await journal.close()
    with pytest.raises(JournalError, match=r"journal\.jsonl exists; go on with it \(ai-battle resume"):
        Journal.create(journal.run_dir)
    assert os.listdir(journal.run_dir) == ["journal.jsonl"]


async def test_nothing_is_written_after_the_close(journal: Journal) -> None:
    await journal.close()
    with pytest.raises(JournalError, match="is closed"):
        await journal(Warned("late"))


async def test_messages_are_read_from_the_journal(journal: Journal) -> None:
    for number in range(1, 6):
        await journal(TurnStarted(number, number, "ann"))
        await journal(turn(number, "ann", f"turn {number}"))

    said = messages(journal.run_dir)
    assert len(said) == 5
    assert said[-1].text == "turn 5"
    assert [message.text for message in said[1:3]] == ["turn 2", "turn 3"]
    assert assistant("turn 1", "ann") in said
    with pytest.raises(IndexError):
        said[5]


async def test_a_newer_journal_is_refused_with_the_way_out(journal: Journal) -> None:
    await journal(Warned("one"))
    path = journal.run_dir / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":2'))

    with pytest.raises(JournalError, match=r"journal\.jsonl:1: written in journal format 2, .* up to 1; upgrade"):
        list(read(journal.run_dir))


async def test_an_event_that_is_not_known_is_named_with_its_line(journal: Journal) -> None:
    await journal(Warned("one"))
    await journal(Warned("two"))
    path = journal.run_dir / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"seq":1,', b'"seq":1,"other":[],').replace(b"two", b"2"))
    assert Warned("2") == list(read(journal.run_dir))[1][1], "a field of a later version is passed over"

    path.write_bytes(path.read_bytes().replace(b'"warned","message":"2"', b'"warmed","message":"2"'))
    with pytest.raises(JournalError, match=r"journal\.jsonl:2: there is no event of type 'warmed'"):
        list(read(journal.run_dir))


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        (b'"parts"', b'"pasta"', "'message' of turn_finished is malformed"),
        (b'"speaker"', b'"spoken"', "turn_finished has no 'speaker'"),
        (b'"v":1', b'"w":1', "the line has no format version"),
        (b'"seq":0', b'"seq":"0"', "the line has no number 'seq'"),
        (b'"seq":0', b'"seq":-1', "the line has no number 'seq'"),
        (b'"time":"', b'"time":"noon ', "the line has no 'time', such as 2026-"),
        (b'"time"', b'"when"', "the line has no 'time', such as 2026-"),
    ],
)
async def test_a_line_that_lacks_something_says_what(
    journal: Journal, before: bytes, after: bytes, complaint: str
) -> None:
    await journal(turn(1, "ann", "Hello."))
    path = journal.run_dir / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(before, after))

    with pytest.raises(JournalError, match=rf"journal\.jsonl:1: {complaint}"):
        list(read(journal.run_dir))


def test_what_is_no_run_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"is not a run directory: it has no journal\.jsonl"):
        list(read(tmp_path))
    with pytest.raises(JournalError, match="is not a run directory"):
        Journal.reopen(tmp_path / "missing")
