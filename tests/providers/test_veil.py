"""What is private stays here: a model elsewhere is sent placeholders, and its answer has the values again."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConfigError, ConversationManager
from ai_battle.core.errors import ProviderError
from ai_battle.core.events import EventLog, ToolCallDelta, Warned
from ai_battle.core.exchange import ModelRequest, ToolSpec
from ai_battle.core.helping import Veiled
from ai_battle.core.messages import Image, Message, Text, ToolCall, ToolResult, user
from ai_battle.providers import ollama
from ai_battle.providers._private import VeilRules
from ai_battle.providers._veil import Veil, VeiledClient
from ai_battle.testing import FakeProviders, fault, reply
from tests.growing import IN_PROPORTION, growth

RULES = VeilRules(names=("Anna Schmidt", "Zoë Park"), terms=("Project Heron",))
SECRETS = (
    "anna.schmidt@example.org", "+49 170 1234567", "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111",
    "sk-proj-abcdefghijkl", "Anna Schmidt", "project heron", "Lindenstraße 12",
)  # fmt: skip
LETTER = "Write to " + ", then ".join(SECRETS) + "."


def veil_client(rules: VeilRules = RULES) -> VeiledClient:
    return VeiledClient(ollama.create("phi4"), "ollama/phi4", rules)


def sent_text(fakes: FakeProviders) -> str:
    return json.dumps(fakes.ollama.requests[-1].body, ensure_ascii=False)


def placeholders(fakes: FakeProviders) -> str:
    """The last message as the fake cloud has read it."""
    text: str = fakes.ollama.requests[-1].body["messages"][-1]["content"]
    return text


async def test_nothing_private_leaves_and_the_answer_has_it_again(fakes: FakeProviders) -> None:
    client, log = veil_client(), EventLog()
    await client.complete(ModelRequest((user(LETTER),), system="You help Zoë Park."), log)
    letter = placeholders(fakes)
    assert not [secret for secret in (*SECRETS, "Zoë", "Park", "Schmidt") if secret.lower() in sent_text(fakes).lower()]
    assert [event.text for event in log.events if isinstance(event, Veiled)] == [letter]

    fakes.ollama.says(reply(letter.lower()))
    answer = await client.complete(ModelRequest((user(LETTER),)))
    assert answer.text == LETTER.replace("Write", "write")


async def test_a_placeholder_is_put_back_wherever_a_stream_is_cut(fakes: FakeProviders) -> None:
    client = veil_client()
    await client.complete(ModelRequest((user(LETTER),)))
    letter = placeholders(fakes)
    for size in (1, 2, 5):
        fakes.ollama.says(reply(letter, chunks=-(-len(letter) // size)))
        answer = await client.complete(ModelRequest((user(LETTER),)), log := EventLog())
        assert (answer.text, log.text) == (LETTER, LETTER)


async def test_one_value_has_one_placeholder_in_a_run(fakes: FakeProviders) -> None:
    client = veil_client()
    await client.complete(ModelRequest((user("Anna Schmidt met Zoë Park."),)))
    first = placeholders(fakes)
    await client.complete(ModelRequest((user("Zoë Park thanked Anna Schmidt."),)))
    assert (first, placeholders(fakes)) == ("PERSON_1 met PERSON_2.", "PERSON_2 thanked PERSON_1.")


async def test_tools_are_veiled_and_their_arguments_put_back(fakes: FakeProviders) -> None:
    client = veil_client(VeilRules(names=('Anna "Ann" Lee',)))
    call = ToolCall("mail", {"to": "lee@example.org"}, "c1")
    result = Message("tool", (ToolResult(call, (Text('Sent to Anna "Ann" Lee, lee@example.org.'),)),))
    asked = ModelRequest(
        (user("Mail lee@example.org."), Message("assistant", (call,)), result), tools=(ToolSpec("mail"),)
    )
    fakes.ollama.says(reply(calls=(ToolCall("mail", {"to": "EMAIL_1", "dear": "PERSON_1"}),)))
    answer = await client.complete(asked, log := EventLog())

    assert "lee@" not in sent_text(fakes)
    assert "Ann" not in sent_text(fakes)
    assert answer.tool_calls[0].arguments == {"to": "lee@example.org", "dear": 'Anna "Ann" Lee'}
    pieces = "".join(event.arguments for event in log.events if isinstance(event, ToolCallDelta))
    assert not pieces or json.loads(pieces) == answer.tool_calls[0].arguments


async def test_an_invented_placeholder_stays_and_is_told_and_never_stands_for_another_s_value(
    fakes: FakeProviders,
) -> None:
    client = veil_client()
    await client.complete(ModelRequest((user("Anna Schmidt called."),)))
    fakes.ollama.says("PERSON_1 and PERSON_12, as EMAIL_9.")
    answer = await client.complete(ModelRequest((user("Who called?"),)), log := EventLog())

    assert answer.text == "PERSON_1 and PERSON_12, as EMAIL_9."
    (told,) = [event.message for event in log.events if isinstance(event, Warned)]
    assert "EMAIL_9, PERSON_1, PERSON_12, but was sent no such placeholder" in told


async def test_what_looks_like_a_placeholder_already_comes_back_as_it_was(fakes: FakeProviders) -> None:
    client = veil_client()
    await client.complete(ModelRequest((user("person_1 is Anna Schmidt."),)))
    assert placeholders(fakes) == "TERM_1 is PERSON_1."
    fakes.ollama.says("TERM_1, PERSON_1")
    answer = await client.complete(ModelRequest((user("person_1 is Anna Schmidt."),)))
    assert answer.text == "person_1, Anna Schmidt"


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("请问王小明的电话: +86 138 0013 8000。", "请问PERSON_1的电话: PHONE_1。"),
        ("王小明的手机是138 0013 8000。账号是DE89370400440532013000的", "PERSON_1的手机是PHONE_1。账号是IBAN_1的"),
        ("携帯 090-1234-5678 03-1234-5678", "携帯 PHONE_1 PHONE_2"),
        ("密钥是sk-proj-abc123DEF456ghi789", "密钥是KEY_1"),
        ("jürgen weiss and JÜRGEN WEISS", "PERSON_1 and PERSON_2"),
        ("Frau Ursula von der Leyen met Sr. João da Silva.", "Frau PERSON_1 met Sr. PERSON_2."),
        ("Pani Anna Nowak, ul. Długa 5/7, 31-147 Kraków", "Pani PERSON_1, ADDRESS_1"),
        ("Write to 221B Baker Street, London NW1 6XE.", "Write to ADDRESS_1."),
        ("The phone number is 5551234567, teléfono 915 22 33 44.", "The phone number is PHONE_1, teléfono PHONE_2."),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = KEY_1"),
    ],
)
async def test_what_is_private_is_found_in_the_ways_of_several_languages(
    fakes: FakeProviders, text: str, leaves: str
) -> None:
    rules = VeilRules(names=("王小明", "Jürgen Weiß"))
    await veil_client(rules).complete(ModelRequest((user(text),)))
    assert placeholders(fakes) == leaves


@pytest.mark.parametrize(
    "text",
    [
        "The build 2024-11-23 14:05 took 1,234.56 s on 10.0.0.5.", "Order 4111 1111 1111 1112 of 2,000 pieces.",
        "He will park the car; mark it.", "Version 3.12.1 of the API, RFC 2616, § 0815.",
        "The secret is revealed later.", "Due 04/29 or 05/06, at the latest 01/02/23.",
        "max_tokens: 100000; key: customer_id", "Call order 1234567 of 3 rows.",
    ],
)  # fmt: skip
async def test_ordinary_numbers_and_words_are_sent_as_they_are(fakes: FakeProviders, text: str) -> None:
    await veil_client(VeilRules(names=("Mark Park", "Will Stone"))).complete(ModelRequest((user(text),)))
    assert placeholders(fakes) == text


async def test_pictures_are_refused_or_sent_with_a_warning(fakes: FakeProviders) -> None:
    shown = ModelRequest((Message("user", (Text("What is this?"), Image("image/png", b"\x89PNG"))),))
    with pytest.raises(ProviderError, match="ollama/phi4: 1 picture or document can't be veiled, and nothing was sent"):
        await veil_client().complete(shown)
    assert not fakes.ollama.requests

    await veil_client(VeilRules(sends_files=True)).complete(shown, log := EventLog())
    assert [event.option for event in log.events if isinstance(event, Warned)] == ["veil"]


def discussion(model: str, veil: Any) -> dict[str, Any]:
    people = {"ann": {"type": model, "role": "human", "veil": veil}, "bob": {"type": "scripted", "script": ["Fine."]}}
    return {"discussion": {"goal": "Ask Anna Schmidt about lee@example.org.", "turns": 1, "models": people}}


async def test_a_discussion_takes_a_veil_and_its_journal_says_what_left(
    fakes: FakeProviders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fakes.ollama.always("I asked PERSON_1 by EMAIL_1.")
    config = discussion("ollama/phi4:cloud", {"names": "Anna Schmidt"})
    result = await ConversationManager.from_config(config).run_discussion()

    assert "Anna" not in sent_text(fakes)
    assert "lee@" not in sent_text(fakes)
    journal = (tmp_path / result.run_dir / "journal.jsonl").read_text(encoding="utf-8")
    (left,) = [each["text"] for each in map(json.loads, journal.splitlines()) if each["type"] == "veiled"]
    assert "Ask PERSON_1 about EMAIL_1." in left
    assert result.messages[1].text == "I asked Anna Schmidt by lee@example.org."


async def test_what_has_a_form_of_ones_own_is_found_by_a_pattern_and_named_after_it(
    fakes: FakeProviders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fakes.ollama.always("TICKET_1 is older than TICKET_2.")
    config = discussion("ollama/phi4:cloud", {"patterns": {"ticket": "TCK-[0-9]{6}"}})
    config["discussion"]["goal"] = "Which is older: TCK-480021 or TCK-480022? " + "See both. " * 200 + "TCK-480021"
    result = await ConversationManager.from_config(config).run_discussion()

    assert "TCK-" not in sent_text(fakes)
    assert "TICKET_1 or TICKET_2?" in sent_text(fakes)
    assert result.messages[1].text == "TCK-480021 is older than TCK-480022."


LETTERS = (
    "Dear all, Mr Oduya of Kite & Sons moved to 5 Whitstable Rise, Leeds.",
    "Ring the clinic: file 88-K, born 3 May 1981.",
)
FOUND = {LETTERS[0]: ["Kite & Sons", "Leeds", "the"], LETTERS[1]: ["file 88-K", "3 May 1981", "not there"]}


def with_finder(fakes: FakeProviders, found: Any, **more: Any) -> dict[str, Any]:
    """A discussion in which a model of this machine looks for what is private, before one elsewhere answers."""

    def answer(body: Any) -> Any:
        return found(body["messages"][-1]["content"]) if body["model"] == "qwen3:4b" else "TERM_1 and TERM_2, then."

    fakes.ollama.always(answer)
    config = discussion("ollama/phi4:cloud", {"finder": "ollama/qwen3:4b", **more})
    config["discussion"] |= {"goal": LETTERS[0], "turns": 2}
    config["discussion"]["models"]["bob"]["script"] = [LETTERS[1], "Fine."]
    return config


def questions_to(fakes: FakeProviders, model: str) -> list[str]:
    return [json.dumps(each.body, ensure_ascii=False) for each in fakes.ollama.questions if each.body["model"] == model]


async def test_what_no_rule_finds_a_model_of_this_machine_does_once_for_each_text(
    fakes: FakeProviders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = with_finder(fakes, lambda text: json.dumps({"private": FOUND.get(text, [])}))
    result = await ConversationManager.from_config(config).run_discussion()

    left = "\n".join(questions_to(fakes, "phi4:cloud"))
    assert not [each for each in ("Kite", "Oduya", "Leeds", "88-K", "1981") if each in left]
    assert "the clinic" in left
    assert result.messages[1].text == "Kite & Sons and Leeds, then."
    looked_at = [each for each in questions_to(fakes, "qwen3:4b") for letter in LETTERS if f'"{letter}"' in each]
    assert len(looked_at) == 2
    journal = (tmp_path / result.run_dir / "journal.jsonl").read_text(encoding="utf-8")
    replied = [each for each in map(json.loads, journal.splitlines()) if each["type"] == "model_replied"]
    assert "judge" in {each["role"] for each in replied}


@pytest.mark.parametrize("failing", [fault(400), "No, I won't.", '{"private": 3}'])
async def test_nothing_is_sent_when_nobody_looked_for_what_is_private(
    fakes: FakeProviders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    result = await ConversationManager.from_config(with_finder(fakes, lambda text: failing)).run_discussion()
    assert not questions_to(fakes, "phi4:cloud")
    assert "ollama/qwen3:4b, which looks for what is private, brought no answer, so nothing was sent" in str(result)

    config = with_finder(fakes, lambda text: failing, without_finder="send")
    result = await ConversationManager.from_config(config).run_discussion()
    assert "Oduya" not in "".join(questions_to(fakes, "phi4:cloud"))
    assert "Kite" in "".join(questions_to(fakes, "phi4:cloud"))


async def test_the_helper_of_a_pair_takes_a_veil(
    fakes: FakeProviders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fakes.ollama.always("Ask PERSON_1.")
    helper = {"type": "ollama/phi4:cloud", "veil": {"names": "Anna Schmidt"}}
    models = {
        "ann": {"type": "scripted", "role": "human", "script": ["I don't know."], "loop": True},
        "bob": {"type": "scripted", "script": ["Fine, Anna Schmidt: 0170/1234567."], "loop": True},
    }
    pairs = {"pairs": [{"primary": "ann", "secondary": helper}]}
    goal = "Ask Anna Schmidt about lee@example.org."
    config = {"discussion": {"goal": goal, "turns": 2, "models": models, "collaboration": pairs}}
    await ConversationManager.from_config(config).run_discussion()

    assert "PERSON_1" in sent_text(fakes)
    assert not [secret for secret in ("Anna", "lee@", "1234567") if secret in sent_text(fakes)]


HOSTILE = ("a.", "Aa-", "Aa ", "1 ", "1.", "de12 abcd ", "eyJ.", "a(at)", "a@a.a-", "Dr. Aa ", "+1 ", "0 1 ", "Bearer ")


@pytest.mark.parametrize("piece", HOSTILE)
async def test_looking_takes_time_that_grows_with_the_text_only(piece: str) -> None:
    veil = Veil(RULES)
    assert growth(lambda size: veil.cover(piece * (size // len(piece)), {}), 1 << 11) < IN_PROPORTION


@pytest.mark.parametrize(
    ("model", "veil", "said"),
    [
        ("ollama/phi4", True, "veil does nothing for ollama/phi4, which is on this machine"),
        ("ollama/phi4:cloud", {"name": "Anna"}, "did you mean 'names'"),
        ("ollama/phi4:cloud", {"files": "maybe"}, "'refuse' or 'send'"),
        ("ollama/phi4:cloud", {"patterns": {"ticket": "TCK-["}}, "veil.patterns.ticket: .*is not a regular expression"),
        (
            "ollama/phi4:cloud",
            {"patterns": {"all": r"\w*"}},
            "patterns.all matches nearly every text, or an empty",
        ),
        ("ollama/phi4:cloud", {"patterns": {"word": r"\S+"}}, "patterns.word matches nearly every text"),
        (
            "ollama/phi4:cloud",
            {"patterns": {"card": "[0-9]{4}"}},
            "patterns.card is the name of a built-in pattern",
        ),
        ("ollama/phi4:cloud", {"finder": "ollama/phi4:cloud"}, "veil.finder: ollama/phi4:cloud is not on this machine"),
    ],
)
def test_a_veil_that_can_not_be_is_an_error(fakes: FakeProviders, model: str, veil: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ConversationManager.from_config(discussion(model, veil))


@pytest.mark.slow
def test_a_pattern_that_takes_for_ever_on_some_texts_is_an_error(fakes: FakeProviders) -> None:
    for pattern in (r"(a+)+$", r"(\w+\s?)*!"):
        with pytest.raises(ConfigError, match=r"veil\.patterns\.nested takes longer than 5 s on some texts"):
            ConversationManager.from_config(discussion("ollama/phi4:cloud", {"patterns": {"nested": pattern}}))
