"""A deliberation wherever a pair may stand: in a discussion and its views, as a served model, in a suite."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager
from ai_battle.benchmark.forecast import forecast as suite_forecast
from ai_battle.benchmark.loading import load
from ai_battle.benchmark.run import begin, run
from ai_battle.benchmark.summary import summary_of
from ai_battle.conversation.forecast import forecast
from ai_battle.conversation.reading import read
from ai_battle.conversation.replay import replay
from ai_battle.conversation.setup import load_checked
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import EventLog, ModelReplied, TurnFinished, Warned
from ai_battle.core.helping import AnswersMerged, AnswersRanked
from ai_battle.reporting.exports import export
from ai_battle.testing import FakeProviders

from ..cli.conftest import Run
from ..collaboration.deliberating import member
from ..server.protocol.speaking import speaking
from ..server.serving import serving
from ..server.test_optimistic import text_of

PARIS, LYON, NICE = OPINION = ("It is Paris.", "It is Lyon.", "It is Nice.")
PEERS = ["gpt-4o", "claude-sonnet-4-5"]


def discussion(**pair: Any) -> dict[str, Any]:
    pair = {"primary": "small", "peers": PEERS, "strategy": "deliberation", **pair}
    models = {"small": {"type": "ollama/phi4"}, "other": {"type": "scripted", "script": ["Well."]}}
    said = {"goal": "Which is the capital?", "turns": 1, "models": models, "timeouts": {"retry_count": 0}}
    return {"discussion": {**said, "collaboration": {"pairs": [pair]}}}


@pytest.fixture
def council(fakes: FakeProviders) -> FakeProviders:
    fakes.ollama.always(member(LYON, OPINION))
    fakes.openai.always(member(PARIS, OPINION))
    fakes.anthropic.always(member(NICE, OPINION))
    return fakes


async def deliberate(tmp_path: Path, **pair: Any) -> Path:
    manager = CollaborativeConversationManager.from_config(discussion(**pair), out=tmp_path / "run")
    return (await manager.run_discussion()).run_dir


def events(run_dir: Path, kind: type) -> list[Any]:
    return [event for _, event in read(run_dir) if isinstance(event, kind)]


async def test_the_journal_has_the_ranking_and_each_member_s_cost(council: FakeProviders, tmp_path: Path) -> None:
    run_dir = await deliberate(tmp_path)

    (ranked,), (merged,) = events(run_dir, AnswersRanked), events(run_dir, AnswersMerged)
    assert ranked.speaker == merged.speaker == "small"
    assert [row["member"] for row in ranked.rows] == [2, 1, 3]
    assert events(run_dir, TurnFinished)[0].message.text == f"In the end: {PARIS}"
    assert {event.role for event in events(run_dir, ModelReplied)} == {"own", "peer", "judge", "chair"}
    (summed,) = (line for line in _records(run_dir) if line["type"] == "help_summed")
    assert {row["role"] for row in summed["rows"]} >= {"peer", "judge", "chair"}
    assert summed["helped"] == 1


def _records(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "journal.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("shape", ["md", "html"])
async def test_transcript_and_report_tell_it_in_its_order(council: FakeProviders, tmp_path: Path, shape: str) -> None:
    page = "".join(export(await deliberate(tmp_path), shape))
    told = [
        "answers as the peer of small", "A member is asked to rank the answers for small",
        "answers as the judge of small", "The answers for small are ranked, best first",
        "answers as the chair of small", "answer of small is made of",
    ]  # fmt: skip
    places = [page.find(words) for words in told]
    assert -1 not in places, dict(zip(told, places, strict=True))
    assert places == sorted(places)


async def test_show_has_it_too(ai_battle: Run, council: FakeProviders, tmp_path: Path) -> None:
    shown = ai_battle("show", await deliberate(tmp_path), 1).out
    assert "The answers for small are ranked, best first" in shown
    assert PARIS in shown
    assert NICE in shown


async def test_a_replay_ranks_as_before_without_calling_a_model(council: FakeProviders, tmp_path: Path) -> None:
    run_dir = await deliberate(tmp_path)
    before = len(council.openai.questions)
    await replay(run_dir, log := EventLog())
    assert [event for event in log.events if isinstance(event, AnswersRanked)] == events(run_dir, AnswersRanked)
    assert len(council.openai.questions) == before


async def test_a_journal_without_drafts_has_no_reasons(council: FakeProviders, tmp_path: Path) -> None:
    source = discussion()
    source["discussion"]["journal"] = {"drafts": False}
    manager = CollaborativeConversationManager.from_config(source, out=tmp_path / "run")
    run_dir = (await manager.run_discussion()).run_dir
    (merged,) = events(run_dir, AnswersMerged)
    assert set(merged.left_out.values()) == {""}


async def test_the_same_model_twice_is_told(council: FakeProviders, tmp_path: Path) -> None:
    run_dir = await deliberate(tmp_path, peers=["gpt-4o", "gpt-4o"])
    assert any("openai/gpt-4o answers 2 times" in event.message for event in events(run_dir, Warned))


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ({"peers": []}, r"takes 1 to 11 models in 'peers'"),
        ({"helper_sees": "prompt"}, "helper_sees is attempt or history"),
        ({"threshold": 0.5}, "deliberation has no such option"),
        ({"options": {"rank_own": True}}, "did you mean 'ranks_own'"),
        ({"options": {"ranks_own": "x"}}, "must be true or false"),
        ({"secondary": "gpt-4o", "models": ["gpt-4o-mini"]}, "deliberation has no such option"),
    ],
)
def test_a_pair_that_makes_no_deliberation_is_an_error(
    council: FakeProviders, pair: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        load_checked(discussion(**pair))


def test_a_dry_run_counts_answers_rankings_and_the_chair(council: FakeProviders) -> None:
    expected = forecast(load_checked(discussion()))[0]
    assert [(one.role, one.calls) for one in expected.help] == [("judge", 1), ("chair", 1), ("peer", 2), ("peer", 2)]

    chaired = forecast(load_checked(discussion(secondary="gpt-4o-mini")))[0]
    assert [(one.role, one.calls) for one in chaired.help] == [("judge", 1), ("chair", 1), ("peer", 2), ("peer", 2)]
    assert [one.model for one in chaired.help if one.role == "chair"] == ["openai/gpt-4o-mini"]


@pytest.mark.parametrize("api", ["messages", "chat", "responses"])
async def test_it_is_served_under_a_name(council: FakeProviders, tmp_path: Path, api: str) -> None:
    file = tmp_path / "server.yaml"
    route = {"model": "ollama/phi4", "peers": PEERS, "strategy": "deliberation"}
    file.write_text(json.dumps({"server": {"routes": {"council": route}}}))
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Which is the capital?"}], "max_tokens": 99}
    if api == "responses":
        body = {"input": "Which is the capital?"}
    async with serving(council, str(file)) as address, speaking(address, "council") as client:
        told = text_of(api, await client.stream(api, body))
    assert told == f"In the end: {PARIS}"


def test_the_packaged_suite_shows_what_it_costs_and_brings(tmp_path: Path) -> None:
    suite = load("council")
    store = begin(suite, tmp_path / "out")
    run(suite, store)
    try:
        rows = {row.name: row for row in summary_of(store).settings}
    finally:
        store.close()
    one, vote, deliberation, large = rows.values()
    assert (one.quality or 0) < (vote.quality or 0) < (deliberation.quality or 0) < (large.quality or 0)
    assert (one.cost_per_task or 0) < (vote.cost_per_task or 0) < (deliberation.cost_per_task or 0)
    low = {each.setting: each.low or 0 for each in suite_forecast(suite).settings}
    assert low["deliberation of three"] > 2 * low["vote of three"]
