"""Minion: who reads and who asks, what the large model gets to see, and what happens when one of them fails."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.collaboration import Helping, HelpLimits, minion
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
PIECES = 4
QUESTION = "How large was the harvest of 1907?"
ASKS = json.dumps({"decision": "ask", "questions": ["How many bushels were harvested in 1907?"]})
INVENTS = json.dumps({"findings": [{"question": 1, "answer": "4,000 bushels", "quote": "It says so."}]})
ANSWERS = json.dumps({"decision": "answer", "answer": "It was 4,812 bushels."})
ABSTAINS = json.dumps({"decision": "abstain", "answer": "The end."})


@dataclass(frozen=True)
class Led:
    """The answer, and what the two models were sent."""

    text: str
    small: tuple[ModelRequest, ...]
    large: tuple[ModelRequest, ...]


def request_text(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


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


def large_requests(models: Models) -> list[str]:
    return [request.raw.decode() for request in models.large.questions]


# -- over real servers


async def test_the_large_model_asks_the_small_one_reads_and_the_answer_is_the_large_one_s(models: Models) -> None:
    models.large.says(ASKS, ANSWERS)
    client = of(models)
    response = await client.complete(about(REPORT, QUESTION), log := EventLog())
    await client.aclose()

    count = PIECES
    assert count > 2
    assert response.text == log.text == "It was 4,812 bushels."
    assert models.calls == (count, 0, 0, 2)
    assert "4,812 bushels" in large_requests(models)[1]
    assert [type(event) for event in log.events if isinstance(event, HelpAsked | HelpFailed)] == [HelpAsked] * 2


async def test_the_large_model_never_sees_the_document(models: Models) -> None:
    models.large.says(ASKS, ANSWERS)
    client = of(models)
    await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    for body in large_requests(models):
        assert QUESTION in body
        assert "Be exact." in body
        assert "The river rose" not in body


async def test_the_last_round_has_to_decide(models: Models) -> None:
    models.large.says(ASKS, ASKS, "It is 4,812, as far as I can see.")
    client = of(models)
    response = await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    assert response.text == "It is 4,812, as far as I can see."
    assert [("It is the last one" in body) for body in large_requests(models)] == [False, False, True]


async def test_what_the_document_does_not_say_is_said_to_be_missing(models: Models) -> None:
    models.large.says(ASKS, '{"decision": "abstain"}')
    client = of(models)
    response = await client.complete(about(REPORT, QUESTION))
    await client.aclose()
    assert response.text == "The document does not say."


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
    assert models.calls == (PIECES + 1, 0, 0, 2)


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
    assert "Ann" not in large_requests(models)[0]


def test_fewer_than_two_rounds_make_no_sense() -> None:
    with pytest.raises(ConfigError, match="two rounds or more"):
        minion.create(ScriptedClient(), ScriptedClient(), max_loops=1)


# -- documents


async def lead(request: ModelRequest, *replies: str, finds: str = '{"findings": []}', **options: Any) -> Led:
    """Returns what becomes of a request about a document, where the large model replies this."""
    small = ScriptedClient(lambda asked: finds if "<piece>" in request_text(asked) else "Alone.", loop=True)
    large = ScriptedClient(*replies)
    response = await minion.create(small, large, **options).complete(request)
    return Led(response.text, tuple(small.requests), tuple(large.requests))


@pytest.mark.parametrize("text", [f"{REPORT}\n\n{QUESTION}", f"{QUESTION}\n\n{REPORT}"])
async def test_a_question_in_the_same_text_is_found_at_its_end_or_at_its_beginning(text: str) -> None:
    found = await lead(about(text), ASKS, ANSWERS)

    for asked in found.large:
        assert QUESTION in request_text(asked)
        assert "not shown" in request_text(asked)
        assert "The river rose" not in request_text(asked)
    assert any(FACT in request_text(asked) for asked in found.small)


async def test_files_are_not_shown_either() -> None:
    request = ModelRequest((Message("user", (Document("application/pdf", b"%PDF"), Text(REPORT), Text(QUESTION))),))
    found = await lead(request, ANSWERS)
    assert not any(isinstance(part, Document) for message in found.large[0].messages for part in message.parts)


@pytest.mark.parametrize("end", ["\n\n", "\n", ". ", " ", ""])
@pytest.mark.parametrize("characters", [300, 1_000, 50_000])
async def test_pieces_leave_nothing_out_and_are_no_longer_than_asked(characters: int, end: str) -> None:
    marks = [f"<{number:04}>" for number in range(1_000)]
    document = end.join(f"{mark}{'abcdefg ' * (number % 5)}" for number, mark in enumerate(marks))
    found = await lead(about(document, QUESTION), ASKS, ANSWERS, piece_characters=characters)
    pieces = [request_text(asked).partition("<piece>\n")[2].rpartition("\n</piece>")[0] for asked in found.small]

    longest = max(characters, 2 * len(document) // minion.MOST_PIECES)
    assert all(len(piece) <= longest for piece in pieces)
    assert all(any(mark in piece for piece in pieces) for mark in marks), "nothing is cut in two in both"


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

    shown = large_requests(models)[-1]
    assert FACT in shown
    assert shown.count("without a quote") == minion.MOST_TOLD - 1
    assert "more findings are left out" in shown


@pytest.mark.parametrize("characters", [0, -5])
def test_pieces_have_a_length(characters: int) -> None:
    with pytest.raises(ConfigError, match="piece_characters is the length of a piece, 1 or more"):
        minion.create(ScriptedClient(), ScriptedClient(), piece_characters=characters)


# -- replies


@pytest.mark.parametrize(
    ("reply", "last", "kind", "text"),
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
async def test_a_decision_is_read_as_loosely_as_it_is_written(reply: str, last: bool, kind: str, text: str) -> None:
    """In the last round any text is an answer; a reply that decides nothing is passed over."""
    replies = (ASKS, reply) if last else (reply, ABSTAINS)
    found = await lead(about(REPORT, QUESTION), *replies, max_loops=2)

    assert len(found.large) == (2 if last or kind in ("ask", "unclear") else 1)
    assert found.text == (text or ("Alone." if last else "The end."))
    assert any("<piece>" in request_text(asked) for asked in found.small) == (last or kind == "ask")


async def test_a_finding_counts_as_quoted_only_when_its_quote_stands_there() -> None:
    findings = [
        {"question": 1, "answer": "4,812", "quote": "the harvest of  1907 was\n4,812 bushels"},
        {"question": "2", "answer": "x", "quote": "y"},
        {"question": 1, "answer": "a guess", "quote": "4,813 bushels"},
        {"question": 7, "answer": "of no question", "quote": ""},
        {"question": 1, "answer": "", "quote": ""},
        "nothing",
    ]
    document = FACT + "\n\n" + FILLER * 100
    found = await lead(about(document, QUESTION), ASKS, ANSWERS, finds=json.dumps({"findings": findings}))
    notes = request_text(found.large[1])

    assert '- piece 1: 4,812 ("the harvest of  1907 was\n4,812 bushels")' in notes
    assert "- piece 1: a guess (without a quote)" in notes
    assert notes.count("- piece 1") == 2


@given(st.text(max_size=200))
def test_no_reply_is_too_odd(reply: str) -> None:
    found = asyncio.run(lead(about(REPORT, QUESTION), ASKS, reply, ANSWERS, finds=reply or "-"))
    assert found.text


# -- the contract


def subject(wrap: Any) -> contract.Subject:
    plain = contract.wrapper(wrap, '{"findings": []}')
    return contract.Subject(plain.answers, plain.fails, plain.stalls, about(REPORT, QUESTION))


def asks_first(request: ModelRequest) -> str:
    return ANSWERS if "<notes>" in request.messages[-1].text else ASKS


def with_minion(inner: ModelClient) -> ModelClient:
    return minion.create(inner, ScriptedClient(asks_first, loop=True))


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("depth", [1, 3])
async def test_alone_and_nested_it_keeps_the_contract(check: contract.Check, depth: int) -> None:
    def wrap(inner: ModelClient) -> ModelClient:
        for _ in range(depth):
            inner = with_minion(inner)
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
