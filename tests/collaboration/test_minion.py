"""Minion: who reads and who asks, what the large model gets to see, and what happens when one of them fails."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.collaboration import Helping, HelpLimits, minion
from ai_battle.collaboration._documents import NOT_SAID, lead_decision, piece_findings, pieces, split_request
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import HelpAsked, HelpFailed
from ai_battle.core.messages import Document, Message, Text, assistant, user
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import contract, fault

from .models import SHORT, USELESS, Models

FACT = "The harvest of 1907 was 4,812 bushels of barley."
FILLER = "The river rose and fell again, and nobody wrote down by how much. "
REPORT = "\n\n".join([FILLER * 40] * 8 + [FACT] + [FILLER * 40] * 8)
QUESTION = "How large was the harvest of 1907?"
ASKS = json.dumps({"decision": "ask", "questions": ["How many bushels were harvested in 1907?"]})
INVENTS = json.dumps({"findings": [{"question": 1, "answer": "4,000 bushels", "quote": "It says so."}]})
ANSWERS = json.dumps({"decision": "answer", "answer": "It was 4,812 bushels."})


def about(*parts: str) -> ModelRequest:
    return ModelRequest((Message("user", tuple(map(Text, parts))),), system="Be exact.")


def reads(body: Any) -> str:
    """A reader that finds the fact where it stands."""
    if FACT not in (shown := str(body)):
        return '{"findings": []}' if "You read one piece" in shown else "About 4,000 bushels, I believe."
    finding = {"question": 1, "answer": "4,812 bushels", "quote": FACT}
    return f"Here it is:\n```json\n{json.dumps({'findings': [finding]})}\n```"


def of(models: Models, **options: Any) -> ModelClient:
    models.small.always(reads)
    return minion.create(models.client(models.small), models.client(models.large), **options)


def seen(models: Models) -> list[str]:
    return [request.raw.decode() for request in models.large.questions]


# -- over real servers


async def test_the_large_model_asks_the_small_one_reads_and_the_answer_is_the_large_one_s(models: Models) -> None:
    models.large.says(ASKS, ANSWERS)
    client = of(models)
    response = await client.complete(about(REPORT, QUESTION), log := EventLog())
    await client.aclose()

    count = len(list(pieces(REPORT, minion.PIECE)))
    assert count > 2
    assert response.text == log.text == "It was 4,812 bushels."
    assert models.calls == (count, 0, 0, 2)
    assert "4,812 bushels" in seen(models)[1]
    assert [type(event) for event in log.events if isinstance(event, HelpAsked | HelpFailed)] == [HelpAsked] * 2


async def test_the_large_model_never_sees_the_document(models: Models) -> None:
    models.large.says(ASKS, ANSWERS)
    client = of(models)
    await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    for body in seen(models):
        assert QUESTION in body
        assert "Be exact." in body
        assert "The river rose" not in body


async def test_the_last_round_has_to_decide(models: Models) -> None:
    models.large.says(ASKS, ASKS, "It is 4,812, as far as I can see.")
    client = of(models)
    response = await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    assert response.text == "It is 4,812, as far as I can see."
    assert [("It is the last one" in body) for body in seen(models)] == [False, False, True]


async def test_what_the_document_does_not_say_is_said_to_be_missing(models: Models) -> None:
    models.large.says(ASKS, '{"decision": "abstain"}')
    client = of(models)
    response = await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    assert response.text == NOT_SAID


@pytest.mark.parametrize("useless", USELESS)
async def test_without_the_large_model_the_small_one_answers_from_what_was_found(models: Models, useless: str) -> None:
    models.large.says(ASKS, USELESS[useless])
    client = of(models, helping=SHORT)
    response = await client.complete(about(REPORT, QUESTION), log := EventLog())
    await client.aclose()
    last = models.small.questions[-1].raw.decode()
    assert FACT in last
    assert "The river rose" not in last
    assert response.text == log.text
    assert models.calls == (len(list(pieces(REPORT, minion.PIECE))) + 1, 0, 0, 2)


@pytest.mark.parametrize("useless", USELESS)
async def test_when_nothing_was_asked_the_small_model_answers_the_request_as_it_came(
    models: Models, useless: str
) -> None:
    models.large.says(USELESS[useless])
    client = of(models, helping=SHORT)
    await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    assert models.calls == (1, 0, 0, 1)
    assert "The river rose" in models.small.questions[0].raw.decode()


async def test_a_model_that_never_decides_is_helped_out(models: Models) -> None:
    models.large.says("Hm.", "Hm.", '{"decision": "ask", "questions": ["More?"]}')
    client = of(models)
    response = await client.complete(about(REPORT, QUESTION), log := EventLog())
    await client.aclose()
    assert response.text
    assert [event.reason for event in log.events if isinstance(event, HelpFailed)] == [minion.UNDECIDED]
    assert models.calls == (1, 0, 0, 3)


async def test_pieces_that_are_not_read_are_told(models: Models) -> None:
    models.large.says(ASKS, ANSWERS)
    client = of(models)
    models.small.says(fault("http_500"))
    response = await client.complete(about(REPORT, QUESTION), log := EventLog())
    await client.aclose()
    assert response.text == "It was 4,812 bushels."
    assert any("pieces were not read" in str(event) for event in log.events)


async def test_a_reader_that_always_fails_is_the_turn_failing(models: Models) -> None:
    models.large.says(ASKS, ANSWERS)
    client = of(models)
    models.small.always(fault("http_400"))
    with pytest.raises(ProviderError):
        await client.complete(about(REPORT, QUESTION))
    await client.aclose()


async def test_a_request_without_a_long_text_is_the_small_model_s_own(models: Models) -> None:
    client = of(models)
    await client.complete(about(QUESTION))
    await client.aclose()
    assert models.calls == (1, 0, 0, 0)


async def test_limits_end_the_rounds_and_the_small_model_answers(models: Models) -> None:
    models.large.always(ASKS)
    client = of(models, helping=Helping(limits=HelpLimits(calls=1)))
    response = await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    assert response.text
    assert models.calls[3] == 1


async def test_the_history_stays_here_where_helpers_see_the_prompt_alone(models: Models) -> None:
    models.large.says(ANSWERS)
    client = of(models, helping=Helping(sees="prompt"))
    earlier = (user("My name is Ann."), assistant("Hello Ann."))
    await client.complete(ModelRequest((*earlier, *about(REPORT, QUESTION).messages)))
    await client.aclose()
    assert "Ann" not in seen(models)[0]


def test_fewer_than_two_rounds_make_no_sense() -> None:
    with pytest.raises(ConfigError, match="two rounds or more"):
        minion.create(ScriptedClient(), ScriptedClient(), max_loops=1)


# -- documents


def test_a_question_in_the_same_text_is_found_at_its_end_or_at_its_beginning() -> None:
    for text in (f"{REPORT}\n\n{QUESTION}", f"{QUESTION}\n\n{REPORT}"):
        reading = split_request(about(text))
        assert QUESTION in reading.question.messages[0].text
        assert "not shown" in reading.question.messages[0].text
        assert len(reading.documents) == 1
        assert QUESTION not in reading.documents[0] or text.startswith(REPORT)


def test_files_are_not_shown_either() -> None:
    request = ModelRequest((Message("user", (Document("application/pdf", b"%PDF"), Text(REPORT), Text(QUESTION))),))
    shown = split_request(request).question.messages[0]
    assert not any(isinstance(part, Document) for part in shown.parts)


@given(st.text(alphabet="ab. \n", max_size=400), st.integers(30, 90))
def test_pieces_leave_nothing_out_and_are_no_longer_than_asked(document: str, characters: int) -> None:
    cut = list(pieces(document, characters, overlap=5))
    assert all(len(piece) <= characters for piece in cut)
    place = 0
    for piece in cut:
        start = document.index(piece, max(0, place - characters))
        assert start <= place
        place = max(place, start + len(piece))
    assert place == len(document)


@pytest.mark.parametrize("characters", [1, 50, 200, 203, 300, 5_000])
def test_pieces_of_any_length_are_few(characters: int) -> None:
    document = "word " * 2_000

    assert len(list(pieces(document, characters))) <= 8 * len(document) / (3 * characters) + 1


async def test_a_long_document_in_short_pieces_takes_no_thousands_of_calls(models: Models) -> None:
    models.large.says(ASKS, ANSWERS)
    await of(models, piece_characters=100).complete(about("word " * 2_000, QUESTION))

    assert len(models.small.questions) <= 2 * minion.MOST_PIECES


async def test_of_many_findings_those_with_a_quote_are_told_and_the_others_counted(models: Models) -> None:
    """A small model that answers each question from each piece can't flood the large one."""
    report = "\n\n".join([FILLER * 40] * 40 + [FACT])
    models.small.always(lambda body: reads(body) if FACT in str(body) else INVENTS)
    models.large.says(ASKS, ANSWERS)
    client = minion.create(models.client(models.small), models.client(models.large), piece_characters=3_000)
    await client.complete(about(report, QUESTION))

    shown = seen(models)[-1]
    assert FACT in shown
    assert shown.count("without a quote") == minion.MOST_TOLD - 1
    assert "more findings are left out" in shown


@pytest.mark.parametrize("characters", [0, -5])
def test_pieces_have_a_length(characters: int) -> None:
    with pytest.raises(ConfigError, match="piece_characters is the length of a piece, 1 or more"):
        minion.create(ScriptedClient(), ScriptedClient(), piece_characters=characters)


# -- replies


@pytest.mark.parametrize(
    ("said", "last", "kind", "text"),
    [
        (ANSWERS, False, "answer", "It was 4,812 bushels."),
        (f"Sure!\n```json\n{ANSWERS}\n```", False, "answer", "It was 4,812 bushels."),
        ("{'decision': 'answer', 'answer': 4812}", False, "answer", "4812"),
        (ASKS, False, "ask", ""),
        ('{"questions": ["When?"]}', False, "ask", ""),
        ('{"decision": "ASK", "questions": "When?"}', False, "ask", ""),
        ('{"decision": "ask", "questions": []}', False, "unclear", ""),
        (ASKS, True, "unclear", ""),
        ('{"decision": "ask", "questions": ["When?"], "answer": "In 1907."}', True, "answer", "In 1907."),
        ('{"decision": "Abstain", "answer": "No date."}', True, "abstain", "No date."),
        ("It was in 1907.", True, "answer", "It was in 1907."),
        ("It was in 1907.", False, "unclear", ""),
        ("", True, "unclear", ""),
        ('{"decision": {"a": 1}, "questions": [[1], null, true], "answer": []}', True, "unclear", ""),
    ],
)
def test_a_decision_is_read_as_loosely_as_it_is_written(said: str, last: bool, kind: str, text: str) -> None:
    decision = lead_decision(said, last=last)
    assert (decision.kind, decision.text) == (kind, text)


def test_a_finding_counts_as_quoted_only_when_its_quote_stands_there() -> None:
    said = {
        "findings": [
            {"question": 1, "answer": "4,812", "quote": "the harvest of  1907 was\n4,812 bushels"},
            {"question": "2", "answer": "x", "quote": "y"},
            {"question": 2, "answer": "a guess", "quote": "4,813 bushels"},
            {"question": 7, "answer": "of no question", "quote": ""},
            {"question": 1, "answer": "", "quote": ""},
            "nothing",
        ]
    }
    read = list(piece_findings(json.dumps(said), f"... {FACT} ...", ["How much?", "When?"]))
    assert [(each.question, each.answer, each.quoted) for each in read] == [(0, "4,812", True), (1, "a guess", False)]


@given(st.text(max_size=200), st.booleans())
def test_no_reply_is_too_odd(said: str, last: bool) -> None:
    lead_decision(said, last=last)
    list(piece_findings(said, "piece", ["a", "b"]))


# -- the contract


def subject(wrap: Any) -> contract.Subject:
    plain = contract.wrapper(wrap, '{"findings": []}')
    return contract.Subject(plain.answers, plain.fails, plain.stalls, about(REPORT, QUESTION))


def asks_first(request: ModelRequest) -> str:
    return ANSWERS if "<notes>" in request.messages[-1].text else ASKS


def wrapped(inner: ModelClient) -> ModelClient:
    return minion.create(inner, ScriptedClient(asks_first, loop=True))


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("depth", [1, 3])
async def test_alone_and_nested_it_keeps_the_contract(check: contract.Check, depth: int) -> None:
    def wrap(inner: ModelClient) -> ModelClient:
        for _ in range(depth):
            inner = wrapped(inner)
        return inner

    await check(subject(wrap))
    await check(contract.wrapper(wrap))


async def test_two_hundred_runs_at_once_don_t_get_in_each_other_s_way() -> None:
    def leads(request: ModelRequest) -> str:
        notes = request.messages[-1].text
        who = next(word for word in notes.split() if word.startswith("run"))
        return json.dumps({"decision": "answer", "answer": who} if "piece 1: yes" in notes else question(who))

    def question(who: str) -> dict[str, Any]:
        return {"decision": "ask", "questions": [f"Is it {who}?"]}

    def piece(request: ModelRequest) -> str:
        return '{"findings": [{"question": 1, "answer": "yes", "quote": ""}]}'

    client = minion.create(ScriptedClient(piece, loop=True), ScriptedClient(leads, loop=True))
    requests: Iterable[ModelRequest] = [about(REPORT, f"Who is run{n} ?") for n in range(200)]
    answers = await asyncio.gather(*map(client.complete, requests))
    assert [response.text for response in answers] == [f"run{n}" for n in range(200)]
    assert len({response.usage.output_tokens for response in answers}) <= 4
