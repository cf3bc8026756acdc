"""What is made of a discussion at its end."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager, Participant, RunResult
from ai_battle.config.loading import load
from ai_battle.conversation.outcome import file_name, json_in
from ai_battle.conversation.person import PersonClient
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import Concluded, Emit, EventLog, TextDelta, Warned, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, Usage
from ai_battle.core.ledger import SpendingLimits
from ai_battle.core.messages import assistant
from ai_battle.providers.scripted import ScriptedClient

SCHEMA = {"type": "object", "properties": {"winner": {"type": "string"}}, "required": ["winner"]}


class Costly(ModelClient):
    """Says its lines at a dollar each."""

    def __init__(self, *lines: str) -> None:
        self.lines = [*lines]
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.requests.append(request)
        text = self.lines.pop(0)
        await emit(TextDelta(text))
        return ModelResponse(assistant(text), usage=Usage(10, 5, cost_usd=1.0), model="costly")


async def run(out: Path, bob: ModelClient, **settings: Any) -> tuple[RunResult, EventLog]:
    people = [Participant("ada", Costly("One.", "Three.")), Participant("bob", bob, persona="I am Bob.")]
    manager = ConversationManager(people, goal="Who wins?", out=out, **{"turns": 1, **settings})
    return await manager.run_discussion(log := EventLog()), log


async def test_a_prompt_asks_the_last_model_for_a_text_beside_the_conversation(tmp_path: Path) -> None:
    bob = Costly("Two.", "# Bob wins")
    result, log = await run(tmp_path / "run", bob, outcome="Name the winner.")

    assert (tmp_path / "run/outcome.md").read_text() == "# Bob wins\n"
    assert [message.text for message in result.messages] == ["Who wins?", "One.", "Two."]
    asked = bob.requests[-1]
    assert "I am Bob." in asked.system
    assert [m.text.partition("\n")[0] for m in asked.messages[:-1]] == ["Who wins?", "Two."]
    assert asked.messages[-1].text.endswith("Name the winner.")
    assert (result.status, result.turns, result.usage.cost_usd) == ("done", 2, 3.0)
    assert [event.text for event in log.events if isinstance(event, TextDelta)] == ["One.", "Two."]
    assert [event for event in log.events if isinstance(event, Concluded)] == [
        Concluded("bob", "# Bob wins", Usage(10, 5, cost_usd=1.0), "costly")
    ]


async def test_a_schema_asks_for_json_and_gets_it_out_of_what_small_models_write(tmp_path: Path) -> None:
    bob = Costly("Two.", 'Sure! Here it is:\n```json\n{"winner": "böb"}\n```\nAnything else?')
    await run(tmp_path / "run", bob, outcome=SCHEMA)

    assert json.loads((tmp_path / "run/outcome.json").read_text()) == {"winner": "böb"}
    assert bob.requests[-1].output_schema == SCHEMA
    assert '"winner"' in bob.requests[-1].messages[-1].text, "for models whose API knows no schema"


async def test_what_is_no_json_is_kept_as_text_and_said(tmp_path: Path) -> None:
    _, log = await run(tmp_path / "run", Costly("Two.", "Bob, clearly."), outcome=SCHEMA)

    assert (tmp_path / "run/outcome.md").read_text() == "Bob, clearly.\n"
    assert [e.message for e in log.events if isinstance(e, Warned)] == [
        "The outcome of bob is not JSON; it is kept unchanged in outcome.md."
    ]


async def test_without_an_answer_there_is_no_file_and_the_run_is_done_all_the_same(tmp_path: Path) -> None:
    result, log = await run(tmp_path / "run", ScriptedClient("Two.", {"fail": "cut"}), outcome="Who?")

    assert result.status == "done"
    assert not [*(tmp_path / "run").glob("outcome*")]
    assert any("There is no outcome" in event.message for event in log.events if isinstance(event, Warned))


async def test_the_moderator_gives_it_and_a_person_does_not(tmp_path: Path) -> None:
    async def types(prompt: str) -> str:
        return "Me."

    you = Participant("you", PersonClient("you", types), role="user")
    for name, chair in (("with", True), ("without", False)):
        others = [Participant("bot", ScriptedClient("Hm.", "The outcome.")), you]
        if chair:
            others.append(Participant("chair", ScriptedClient("Open.", "Close.", "The outcome."), role="moderator"))
        log = EventLog()
        await ConversationManager(others, goal="Talk.", turns=1, outcome="Who?", out=tmp_path / name).run_discussion(
            log
        )

        (concluded,) = [event for event in log.events if isinstance(event, Concluded)]
        assert (concluded.speaker, concluded.text) == ("chair" if chair else "bot", "The outcome.")


@pytest.mark.parametrize(("dollars", "asked"), [(20.0, True), (2.0, False)])
async def test_near_a_limit_it_is_asked_for_beyond_it_not(dollars: float, asked: bool, tmp_path: Path) -> None:
    people = [Participant(name, Costly(*["Go on."] * 20)) for name in ("ada", "bob")]
    manager = ConversationManager(
        people, goal="Go.", turns=20, limits=SpendingLimits(cost_usd=dollars), outcome="Who?", out=tmp_path / "run"
    )
    result = await manager.run_discussion()

    assert result.status == "limit"
    assert (tmp_path / "run/outcome.md").exists() is asked


async def test_the_file_is_written_again_when_a_finished_run_is_resumed(tmp_path: Path) -> None:
    """Killed between the last line of the journal and the file."""
    await run(tmp_path / "run", Costly("Two.", "Bob."), outcome="Who?")
    (tmp_path / "run/outcome.md").unlink()

    people = [Participant(name, Costly()) for name in ("ada", "bob")]
    await ConversationManager(people, goal="Who wins?", turns=1, outcome="Who?").resume(tmp_path / "run")

    assert (tmp_path / "run/outcome.md").read_text() == "Bob.\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Result: {"a": {"b": 2}} - done', {"a": {"b": 2}}),
        ("[1, 2]", [1, 2]),
        ("{a: 1}", None),
        ("nothing", None),
        ("12", None),
    ],
)
def test_json_is_found_in_an_answer(said: str, expected: object) -> None:
    found = json_in(said)
    assert (json.loads(found) if found else None) == expected
    assert file_name(found) == ("outcome.json" if expected else "outcome.md")


@pytest.mark.parametrize("written", ["Sum up.", SCHEMA])
async def test_a_file_says_it_too(written: object, tmp_path: Path) -> None:
    models = {"ada": {"type": "scripted", "script": ["One."]}, "bob": {"type": "scripted", "script": ["Two.", "{}"]}}
    config = {"discussion": {"goal": "Talk.", "turns": 1, "models": models, "outcome": written}}
    await ConversationManager.from_config(config, out=tmp_path / "run").run_discussion()
    assert (tmp_path / "run/outcome.json").read_text() == "{}\n"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (5, "outcome: must be a prompt in quotes, or a mapping"),
        (
            {"title": "string", "plan": "string"},
            "outcome: is no JSON Schema: it has only title, plan; write {type: obj",
        ),
    ],
)
def test_anything_else_is_refused(wanted: object, words: str) -> None:
    models = {name: {"type": "scripted", "script": ["Hm."]} for name in ("ada", "bob")}
    with pytest.raises(ConfigError, match=re.escape(words)):
        load({"discussion": {"goal": "Talk.", "models": models, "outcome": wanted}})
