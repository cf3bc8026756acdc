"""A reader of a helped run follows each dollar: who was asked, what they were shown and said, what became of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager, ConversationManager, Participant
from ai_battle.collaboration import rescue
from ai_battle.conversation.reading import read
from ai_battle.conversation.replay import replay
from ai_battle.core.events import Event, EventLog, ModelReplied, TurnFinished
from ai_battle.core.exchange import NOTHING_USED
from ai_battle.core.helping import AnswerChecked, BoostStep, DraftDropped, HelpFailed, ModelConsulted
from ai_battle.reporting.exports import export
from ai_battle.testing import FakeProviders, ScriptedClient, fault

from ..cli.conftest import Run
from .test_collaboration import STUCK, discussion

ADVICE = "Count the dwarfs."
GOOD = "The number is seven."


async def run(tmp_path: Path, source: dict[str, Any]) -> Path:
    manager = CollaborativeConversationManager.from_config(source, out=tmp_path / "run")
    return (await manager.run_discussion()).run_dir


def events(run_dir: Path, kind: type) -> list[Any]:
    return [event for _, event in read(run_dir) if isinstance(event, kind)]


@pytest.fixture
async def rescued_run(fakes: FakeProviders, tmp_path: Path) -> Path:
    fakes.ollama.says(STUCK, GOOD)
    fakes.openai.says(ADVICE)
    return await run(tmp_path, discussion({}))


async def test_the_journal_has_what_a_helper_was_shown_and_said_and_what_that_cost(rescued_run: Path) -> None:
    [told] = events(rescued_run, ModelConsulted)
    [paid] = [event for event in events(rescued_run, ModelReplied) if event.role == "helper"]

    assert (told.strategy, told.role, told.speaker, told.model, told.text) == (
        "rescue", "helper", "small", "gpt-4o", ADVICE,
    )  # fmt: skip
    assert "Find the number." in told.shown
    assert "<attempt>\nassistant: I do not know." in told.shown
    assert told.usage == paid.usage


async def test_the_journal_has_the_draft_that_was_dropped(rescued_run: Path) -> None:
    [draft] = events(rescued_run, DraftDropped)

    assert draft.text == STUCK
    assert draft.attempt == 1


@pytest.mark.parametrize("shape", ["md", "html"])
async def test_transcript_and_report_tell_it_in_the_order_in_which_it_happened(rescued_run: Path, shape: str) -> None:
    page = "".join(export(rescued_run, shape))
    page = page[page.index("1. small" if shape == "md" else 'id="turn-1"') :]

    told = ["small is stuck", "A draft of small is dropped", "I do not know. I do not", "gets help by rescue",
            "gpt-4o answers as the helper of small", "small goes on from it", "&lt;attempt" if shape == "html" else
            "<attempt", ADVICE, GOOD]  # fmt: skip
    places = [page.find(words, 0) for words in told]
    assert -1 not in places, dict(zip(told, places, strict=True))
    assert places == sorted(places)


async def test_the_report_begins_with_who_was_called_in_and_for_which_turns(rescued_run: Path) -> None:
    page = "".join(export(rescued_run, "html"))
    assert 'Called in: openai/gpt-4o, for <a href="#turn-1">turn 1, small</a>' in page[: page.index('id="turn-1"')]


def test_show_tells_what_led_to_an_answer(ai_battle: Run, rescued_run: Path) -> None:
    shown = ai_battle("show", rescued_run, 1).out

    assert "gpt-4o answers as the helper of small" in shown
    assert f"  | {ADVICE}\n" in shown
    assert shown.rstrip().endswith(GOOD)
    kinds = [event["type"] for event in json.loads(ai_battle("show", rescued_run, 1, "--json").out)["led_to_by"]]
    assert kinds == ["stuck_found", "draft_dropped", "help_asked", "model_consulted", "answers_compared"]


async def test_a_helper_that_answers_in_place_is_told_to_have_become_the_answer(
    fakes: FakeProviders, tmp_path: Path
) -> None:
    fakes.ollama.says(STUCK)
    fakes.openai.says(GOOD)
    page = "".join(export(await run(tmp_path, discussion({"strategy": "takeover"})), "md"))

    assert "gpt-4o answers as the helper of small" in page
    assert "; it becomes the answer" in page


async def test_peers_and_those_whose_answer_is_not_used_are_told_apart(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.ollama.says("The number is eight.")
    fakes.openai.always(GOOD)
    pair = {"strategy": "council", "peers": ["gpt-4o", "gpt-4o-mini"]}
    page = "".join(export(await run(tmp_path, discussion(pair)), "md"))

    assert page.count("answers as the peer of small") == 2
    assert (page.count("; it becomes the answer"), page.count("; it is not used: another answer was served")) == (1, 1)
    assert "The number is eight." in page, "the participant's own answer, which was outvoted"


async def test_what_a_judge_said_is_kept_with_what_it_was_shown(fakes: FakeProviders, tmp_path: Path) -> None:
    source = discussion({"judge": "gpt-4o-mini"})
    fakes.ollama.always("Seven times 24 is 158, I believe.")
    fakes.openai.always("Verdict: wrong")
    run_dir = await run(tmp_path, source)

    told = [event for event in events(run_dir, ModelConsulted) if event.role == "judge"]
    assert told
    assert {event.text for event in told} == {"Verdict: wrong"}
    assert "158, I believe." in told[0].shown
    assert events(run_dir, AnswerChecked)


async def test_of_a_helper_that_is_away_it_is_told_what_it_was_sent(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.ollama.always(STUCK)
    fakes.openai.always(fault("http_500"))
    run_dir = await run(tmp_path, discussion({}))

    [told], [failed] = events(run_dir, ModelConsulted), events(run_dir, HelpFailed)
    assert (told.text, told.usage) == ("", NOTHING_USED)
    assert "Find the number." in told.shown
    page = "".join(export(run_dir, "md"))
    assert page.index("The helper of small gives no answer") < page.index("A call to help small by rescue failed")
    assert failed.reason.split(":")[0] in page


async def test_a_long_text_is_bounded_and_its_end_is_kept(fakes: FakeProviders, tmp_path: Path) -> None:
    long = f"first {'word ' * 20_000} last"
    fakes.ollama.says(STUCK, GOOD)
    fakes.openai.says(long)
    [told] = events(await run(tmp_path, discussion({})), ModelConsulted)

    assert len(told.text) < 17_000
    assert told.text.startswith("first word")
    assert told.text.endswith("word  last")
    assert "characters left out" in told.text


async def test_texts_can_be_kept_out_of_the_journal(fakes: FakeProviders, tmp_path: Path) -> None:
    fakes.ollama.says(STUCK, GOOD)
    fakes.openai.says(ADVICE)
    run_dir = await run(tmp_path, discussion({}, journal={"drafts": False}))

    written = (run_dir / "journal.jsonl").read_text()
    assert ADVICE not in written
    assert "I do not know." not in written
    assert [event.model for event in events(run_dir, ModelConsulted)] == ["gpt-4o"]
    assert "gpt-4o answers as the helper of small" in "".join(export(run_dir, "md"))


async def test_texts_can_be_kept_out_from_python_too(tmp_path: Path) -> None:
    helped = rescue.create(ScriptedClient(STUCK, GOOD), ScriptedClient(ADVICE))
    speakers = [Participant("small", helped), Participant("other", ScriptedClient("Yes."))]
    manager = ConversationManager(speakers, goal="Count.", turns=1, out=tmp_path / "run", keep_drafts=False)
    run_dir = (await manager.run_discussion()).run_dir

    assert [event.text for event in events(run_dir, ModelConsulted)] == [""]
    assert ADVICE not in (run_dir / "journal.jsonl").read_text()


@pytest.mark.parametrize("drafts", [True, False])
async def test_a_run_is_replayed_and_resumed_with_and_without_them(
    fakes: FakeProviders, tmp_path: Path, drafts: bool
) -> None:
    fakes.ollama.says(STUCK, GOOD, STUCK, GOOD)
    fakes.openai.always(ADVICE)
    source = discussion({}, turns=2, journal={"drafts": drafts})
    source["discussion"]["stop"] = {"any": [{"max_messages": 2}]}
    run_dir = await run(tmp_path, source)
    lines = (run_dir / "journal.jsonl").read_text().splitlines(keepends=True)
    cut = max(at for at, line in enumerate(lines) if '"turn_finished"' in line)
    (run_dir / "journal.jsonl").write_text("".join(lines[: cut + 1]))

    manager = CollaborativeConversationManager.from_config(source)
    assert (await manager.resume(run_dir)).status == "done"
    await replay(run_dir, log := EventLog())
    assert [type(event) for event in log.events if isinstance(event, ModelConsulted | TurnFinished)] == [
        ModelConsulted, TurnFinished, TurnFinished,
    ]  # fmt: skip


async def test_a_secret_in_a_helpers_words_is_masked(
    fakes: FakeProviders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_API_KEY", "orchid-4711-verbena")
    fakes.ollama.says(STUCK, GOOD)
    fakes.openai.says("The key is orchid-4711-verbena.")
    run_dir = await run(tmp_path, discussion({}))

    assert "orchid-4711-verbena" not in (run_dir / "journal.jsonl").read_text()
    assert events(run_dir, ModelConsulted)[0].text == "The key is ${HOUSE_API_KEY}."


async def test_a_boost_models_plan_is_told_once(fakes: FakeProviders, tmp_path: Path) -> None:
    plan = "GUIDANCE: Count the dwarfs of the tale."
    fakes.openai.always(plan)
    fakes.ollama.always(GOOD)
    run_dir = await run(tmp_path, discussion({"strategy": "boost"}))

    told: list[Event] = [*events(run_dir, ModelConsulted), *events(run_dir, BoostStep)]
    assert [type(event) for event in told] == [ModelConsulted, BoostStep]
    assert "".join(export(run_dir, "md")).count(plan) == 1


@pytest.mark.parametrize(("typed", "whole"), [((), False), (("--verbose",), True)])
def test_the_terminal_folds_what_helpers_said_unless_all_is_asked_for(
    ai_battle: Run, folder: Path, typed: tuple[str, ...], whole: bool
) -> None:
    advice = f"{'Count the beds first, then the pots. ' * 5}\nThen say the sum."
    talk = {
        "goal": "Count.",
        "turns": 1,
        "models": {
            "Small": {"type": "scripted", "script": [STUCK, GOOD]},
            "Other": {"type": "scripted", "script": ["Well."]},
        },
    }
    pair = {"primary": "Small", "secondary": {"type": "scripted", "script": [advice]}}
    (folder / "talk.json").write_text(json.dumps({"discussion": {**talk, "collaboration": {"pairs": [pair]}}}))
    shown = ai_battle("run", "talk.json", "--out", "run", *typed).out

    assert "answers as the helper of Small" in shown
    assert "Count the beds first" in shown
    assert ("  | Then say the sum.\n" in shown) == whole
