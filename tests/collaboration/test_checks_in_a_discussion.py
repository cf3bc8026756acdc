"""A judge and a check of a file: real servers, real programs, and what stands in the journal and the ledger."""

from typing import Any

import pytest

from ai_battle import ConversationManager, RunResult, StuckDetector
from ai_battle.conversation.reading import read
from ai_battle.core.events import EventLog
from ai_battle.core.helping import AnswerChecked, HelpFailed, StuckFound
from ai_battle.core.tooling import ToolCalled, ToolDecided
from ai_battle.testing import FakeProviders, fault

FAIR = "Farms are big."
PROGRAM = "This adds two numbers:\n```python\ndef add(a, b):\n    return a + b\n\nassert add(1, 2) == {}\n```"
STRATEGIES = ("rescue", "takeover", "ladder", "critique", "draft_verify", "cascade")


pytestmark = pytest.mark.usefixtures("here")


def discussion(pair: dict[str, Any], **more: Any) -> dict[str, Any]:
    models = {"small": {"type": "ollama/phi4"}, "other": {"type": "scripted", "script": ["Fine."], "loop": True}}
    pairs = [{"primary": "small", "secondary": "gpt-4o", "max_retries": 1, **pair}]
    return {
        "discussion": {
            "goal": "What do you think about farms?",
            "mode": "no-meta",
            "turns": 1,
            "models": models,
            "timeouts": {"retry_count": 0},
            "collaboration": {"pairs": pairs},
            **more,
        }
    }


async def play(source: dict[str, Any]) -> tuple[RunResult, EventLog]:
    log = EventLog()
    return await ConversationManager.from_config(source).run_discussion(log), log


def of(kind: type, log: EventLog) -> list[Any]:
    return [event for event in log.events if isinstance(event, kind)]


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_each_strategy_of_a_file_takes_a_judge(fakes: FakeProviders, strategy: str) -> None:
    """One call of the judge for the answer that would have been given, and no help: it is right."""
    fakes.ollama.always(FAIR)
    fakes.anthropic.always("RIGHT")

    result, log = await play(discussion({"strategy": strategy, "judge": "claude-sonnet-4-5", "threshold": 0.8}))

    assert result.messages[1].text == FAIR
    assert (len(fakes.anthropic.questions), len(fakes.openai.questions)) == (1, 0)
    assert of(AnswerChecked, log) == [
        AnswerChecked("the judge", {"judged_right": 1.0}, "it finds it right", speaker="small")
    ]


async def test_the_judge_has_rows_of_its_own_in_the_ledger(fakes: FakeProviders) -> None:
    fakes.ollama.says(FAIR)
    fakes.anthropic.says("WRONG")
    fakes.openai.says("Farms feed us all.")

    result, log = await play(discussion({"strategy": "takeover", "judge": "claude-sonnet-4-5"}))

    assert result.messages[1].text == "Farms feed us all."
    assert result.help
    rows = {row["role"]: row for row in result.help.rows}
    assert {"judge", "helper", "wasted"} <= {*rows}
    assert (rows["judge"]["calls"], rows["helper"]["calls"], result.help.helped) == (1, 1, 1)
    assert rows["judge"]["cost_usd"] > 0
    (checked,) = (event for _, event in read(result.run_dir) if isinstance(event, AnswerChecked))
    assert (checked.signals, checked.speaker) == ({"judged_wrong": 1.0}, "small")
    assert of(StuckFound, log)[0].signals["judged_wrong"] == 1.0


async def test_a_turn_that_was_only_judged_was_not_helped(fakes: FakeProviders) -> None:
    fakes.ollama.says(FAIR)
    fakes.anthropic.says("RIGHT")

    result, _ = await play(discussion({"judge": "claude-sonnet-4-5"}))

    assert result.help
    assert result.help.helped == 0


@pytest.mark.parametrize("said", [fault(500), "", "Who knows?"], ids=["500", "empty", "no verdict"])
async def test_a_judge_that_fails_breaks_no_turn(fakes: FakeProviders, said: Any) -> None:
    fakes.ollama.says(FAIR)
    fakes.anthropic.says(said)

    result, log = await play(discussion({"judge": "claude-sonnet-4-5"}))

    assert (result.status, result.messages[1].text) == ("done", FAIR)
    assert [event.strategy for event in of(HelpFailed, log)] == ["judge"]


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_each_strategy_of_a_file_takes_peers_and_samples(fakes: FakeProviders, strategy: str) -> None:
    """A peer that agrees makes the second sample superfluous."""
    fakes.ollama.always("7 + 11 = 18. The answer is 18.")
    fakes.gemini.always("#### 18")
    passes = StuckDetector().assess("7 + 11 = 18. The answer is 18.", "How many are 7 and 11?").quality - 0.02
    pair = {"strategy": strategy, "peers": ["gemini-2.5-flash"], "samples": 2, "threshold": passes}

    result, log = await play(discussion(pair, goal="How many are 7 and 11?"))

    assert result.messages[1].text == "7 + 11 = 18. The answer is 18."
    assert (len(fakes.gemini.questions), len(fakes.ollama.questions), len(fakes.openai.questions)) == (1, 1, 0)
    assert of(AnswerChecked, log)[0].by == "a peer"


@pytest.mark.usefixtures("working_fence")
@pytest.mark.parametrize(("expected", "helped"), [(3, 0), (4, 1)], ids=["runs", "fails"])
async def test_a_program_in_an_answer_is_run(fakes: FakeProviders, expected: int, helped: int) -> None:
    """What it prints goes to the helper; the model itself did not call a tool."""
    fakes.ollama.always(PROGRAM.format(expected))
    fakes.openai.always("Mend the assertion.")

    result, log = await play(discussion({"check": "code_execution"}, tools=["code_execution"]))

    signal = "program_fails" if helped else "program_runs"
    assert of(AnswerChecked, log)[0].signals == {signal: 1.0}
    assert len(fakes.openai.questions) == helped
    assert of(ToolCalled, log)[0].call.name == "code_execution"
    assert result.help
    assert result.help.helped == helped
    if helped:
        assert "AssertionError" in str(fakes.openai.questions[0].body)


@pytest.mark.usefixtures("working_fence")
async def test_an_answer_without_code_runs_nothing(fakes: FakeProviders) -> None:
    fakes.ollama.says(FAIR)

    _, log = await play(discussion({"check": "code_execution"}, tools=["code_execution"]))

    assert of(ToolCalled, log) == []
    assert of(HelpFailed, log) == []


async def test_what_may_not_run_is_not_run_to_check_either(fakes: FakeProviders) -> None:
    """The same rules as for a model's calls; the turn goes on by what the detector says."""
    fakes.ollama.always(PROGRAM.format(4))
    tools = {"registry": ["code_execution"], "approval": {"deny": ["code_execution"]}}

    result, log = await play(discussion({"check": "code_execution"}, tools=tools))

    assert [(event.call.name, event.decision) for event in of(ToolDecided, log)] == [("code_execution", "denied")]
    assert of(ToolCalled, log) == []
    assert "may not be used" in of(HelpFailed, log)[0].reason
    assert result.status == "done"
