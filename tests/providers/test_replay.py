"""A recording answers the same request with the same answer, and says what differs when it can't."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_battle import ConversationManager, Participant
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import BadReply, ConfigError, CutShort, ProviderError
from ai_battle.core.events import Event, EventLog, TextDelta
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.messages import Image, Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.providers._calls import ProviderCaller, RetryPolicy
from ai_battle.providers.replay import RecordedExchanges, Recorder, RecordingClient, ReplayClient, create
from ai_battle.providers.scripted import Entry, ScriptedClient

HELLO = ModelRequest((user("Hello?"),), system="Be brief.", options={"temperature": 0.5})
CALL = ToolCall("add", {"a": 1}, id="call_1")
RICH = ModelRequest(
    (
        Message("user", (Text("Look."), Image("image/png", b"\x89PNG"))),
        Message("assistant", (CALL,)),
        Message("tool", (ToolResult(CALL, (Text("2"),)),)),
    ),
    tools=(ToolSpec("add", "Adds."),),
    output_schema={"type": "object"},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl"


async def record(path: Path, *said: tuple[ModelRequest, Entry]) -> ReplayClient:
    recorder = Recorder(path)
    client: ModelClient = RecordingClient(ScriptedClient(*(entry for _, entry in said)), recorder, "scripted/ada")
    for request, _ in said:
        try:
            await client.complete(request)
        except ProviderError:
            continue
    recorder.close()
    return create(str(path))


async def test_an_answer_that_was_cut_short_is_cut_short_again(path: Path) -> None:
    """Whoever listens has heard enough at the same word; one who reads on is told that there is no more."""
    recorder = Recorder(path)

    async def enough(event: Event) -> None:
        if isinstance(event, TextDelta) and "three" in event.text:
            raise CutShort("That is enough.", "one two three")

    with pytest.raises(CutShort, match="That is enough"):
        await RecordingClient(ScriptedClient("one two three four"), recorder, "scripted/ada").complete(HELLO, enough)
    recorder.close()

    log = EventLog()
    with pytest.raises(CutShort, match="That is enough"):
        await create(str(path)).complete(HELLO, enough)
    with pytest.raises(BadReply, match="not recorded to its end: That is enough"):
        await create(str(path)).complete(HELLO, log)
    assert log.text.split() == ["one", "two", "three"]


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


@pytest.mark.parametrize(
    ("request_", "entry"),
    [
        (HELLO, "Hello to you."),
        (RICH, {"think": "Hm.", "say": "One more.", "call": {"tool": "add", "parameters": {"a": 2}}}),
    ],
)
async def test_an_answer_comes_back_as_it_was_in_the_same_pieces(
    path: Path, request_: ModelRequest, entry: Entry
) -> None:
    expected = await ScriptedClient(entry).complete(request_, before := EventLog())
    replay = await record(path, (request_, entry))

    assert await replay.complete(request_, now := EventLog()) == expected
    assert now.events == before.events[1:], "all but how far the script is"


async def test_it_depends_on_the_request_and_not_on_the_order(path: Path) -> None:
    requests = [ModelRequest((user(f"Question {n}"),)) for n in range(20)]
    replay = await record(path, *((request, f"Answer {n}") for n, request in enumerate(requests)))

    answers = await asyncio.gather(*(replay.complete(request) for request in reversed(requests)))
    assert [answer.text for answer in answers] == [f"Answer {n}" for n in reversed(range(20))]


async def test_a_question_that_was_asked_twice_has_its_answers_in_order(path: Path) -> None:
    replay = await record(path, (HELLO, "first"), (HELLO, "second"))
    assert [(await replay.complete(HELLO)).text for _ in range(3)] == ["first", "second", "second"]


async def test_a_failure_is_played_as_well(path: Path) -> None:
    replay = await record(path, (HELLO, {"say": "Half", "fail": "cut"}))

    with pytest.raises(BadReply, match="cut off") as caught:
        await replay.complete(HELLO, log := EventLog())
    assert (caught.value.again, caught.value.partial, log.text) == ("always", "Half", "Half")


async def test_of_a_retried_call_only_the_last_attempt_is_kept(path: Path) -> None:
    recorder = Recorder(path)
    inner = ProviderCaller(ScriptedClient({"say": "Half", "fail": "cut"}, "Whole"), "s", retry=RetryPolicy(retries=1))
    await RecordingClient(inner, recorder, "scripted").complete(HELLO)
    recorder.close()

    await create(str(path)).complete(HELLO, log := EventLog())
    assert log.events == [TextDelta("Whole")]


@pytest.mark.parametrize(
    ("asked", "difference"),
    [
        (replace(HELLO, messages=(user("Hello!"),)), "message 1 of 1 was 'Hello?' and is 'Hello!' (as user)"),
        (replace(HELLO, messages=(user("Hello?"), assistant("Hi"))), "1 messages were recorded, 2 are asked"),
        (replace(HELLO, system="Be long."), "system differs"),
        (replace(HELLO, tools=(ToolSpec("add"),)), "tools differs"),
        (
            replace(HELLO, options={"temperature": 0.9}),
            'options {"temperature":0.5} was recorded, {"temperature":0.9} is asked',
        ),
    ],
)
async def test_a_request_that_was_never_recorded_is_told_what_differs(
    path: Path, asked: ModelRequest, difference: str
) -> None:
    replay = await record(path, (HELLO, "Hello to you."))
    message = f"{path} has no answer to this request: {difference}."
    with pytest.raises(ProviderError, match=re.escape(message)):
        await replay.complete(asked)


async def test_two_models_keep_their_own_answers(path: Path) -> None:
    recorder = Recorder(path)
    for name in ("ada", "bob"):
        await RecordingClient(ScriptedClient(f"I am {name}."), recorder, name).complete(HELLO)
    recorder.close()

    assert (await create(str(path), of="bob").complete(HELLO)).text == "I am bob."
    with pytest.raises(ConfigError, match=r"holds nothing of 'eve', only of ada, bob\."):
        create(str(path), of="eve")


async def test_a_long_conversation_is_written_once(path: Path) -> None:
    history = [user(f"message {n}: " + "word " * 100) for n in range(50)]
    await record(path, *((ModelRequest(tuple(history[: n + 1])), "Yes.") for n in range(50)))

    assert bytes_of(path).count(b"message 7:") == 1
    assert len(bytes_of(path)) < 200_000


async def test_a_recording_that_was_cut_off_is_good_up_to_there(path: Path) -> None:
    await record(path, (HELLO, "Hello to you."), (RICH, "Rich."))
    os.truncate(path, len(bytes_of(path)) - 30)

    assert (await create(str(path)).complete(HELLO)).text == "Hello to you."


@settings(deadline=None)
@given(cut=st.integers(0, 900), put=st.text(max_size=5), length=st.integers(0, 20))
def test_a_damaged_recording_is_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, cut: int, put: str, length: int
) -> None:
    path = tmp_path_factory.mktemp("recordings") / "recording.jsonl"
    asyncio.run(record(path, (HELLO, "Hello to you."), (HELLO, {"fail": "cut"})))
    whole = path.read_text()
    path.write_text(whole[:cut] + put + whole[cut + length :])
    with suppress(ConfigError, ProviderError):
        asyncio.run(create(str(path)).complete(HELLO))


def test_a_recording_is_never_overwritten(path: Path) -> None:
    Recorder(path).close()
    with pytest.raises(ConfigError, match="exists already"):
        Recorder(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read: No such file"),
        (b"", "is not a recording"),
        (b"discussion:\n  turns: 3\n", "recording.jsonl:1: not a line of a recording"),
        (b'{"v": 1, "type": "run_started"}\n', "is not a recording; one is written with"),
        (b'{"v": 99, "recording": "ai-battle"}\n', "recorded by a newer version"),
        (b'{"v": 1, "recording": "ai-battle"}\n{broken\n{}\n', "recording.jsonl:2: not a line of a recording"),
    ],
)
def test_what_is_no_recording_is_said_clearly(path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        RecordedExchanges.read(path)


async def test_a_whole_discussion_is_played_again_without_its_models(path: Path, tmp_path: Path) -> None:
    scripts: dict[str, list[Entry]] = {"Ada": ["One.", {"think": "Hm.", "say": "Three."}], "Bob": ["Two.", "Four."]}

    async def talk(clients: Mapping[str, ModelClient], run: str) -> Sequence[Message]:
        talkers = [Participant(name, client) for name, client in clients.items()]
        manager = ConversationManager(talkers, goal="Count.", mode="ai-ai", turns=2, out=tmp_path / run)
        return list((await manager.run_discussion()).messages)

    with closing(Recorder(path)) as recorder:
        live = {name: RecordingClient(ScriptedClient(*script), recorder, name) for name, script in scripts.items()}
        before = await talk(live, "before")
    now = await talk({name: create(str(path), of=name) for name in scripts}, "now")

    assert [message.text for message in before[-4:]] == ["One.", "Two.", "Three.", "Four."]
    assert now == before
