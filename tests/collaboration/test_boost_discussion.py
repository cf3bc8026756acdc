"""The boost loop in discussions from a YAML: tools run here, and the journal tells of each round."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.conversation.manager import RunResult
from ai_battle.core.errors import ConfigError
from ai_battle.testing import FakeProviders, call, fault, reply

from .boosting import OTHER, text_of

MULTIPLY = call("calculator", expression="6 * 7")
PLAN = "ANALYSIS:\nA product is wanted.\n\nGUIDANCE:\nCall calculator with expression: '6 * 7'"


@pytest.fixture
def fakes(here: Path, fakes: FakeProviders) -> FakeProviders:
    fakes.gemini.always("How much is it?")
    return fakes


def discussion(turns: int = 1, **pair: Any) -> dict[str, Any]:
    """Gemini asks, a model of Anthropic answers with a calculator, and one of OpenAI plans for it."""
    return {
        "discussion": {
            "goal": "Compute six times seven.",
            "turns": turns,
            "models": {
                "Asker": {"type": "gemini/gemini-2.5-flash", "role": "human"},
                "Doer": {"type": "anthropic/claude-haiku-4-5", "role": "assistant", "persona": "You are exact."},
            },
            "tools": ["calculator"],
            "timeouts": {"retry_count": 0},
            "collaboration": {"pairs": [{"primary": "Doer", "secondary": "gpt-4o", "strategy": "boost", **pair}]},
        }
    }


async def play(source: dict[str, Any]) -> tuple[RunResult, list[dict[str, Any]]]:
    result = await ConversationManager.from_config(source).run_discussion()
    return result, [json.loads(line) for line in (result.run_dir / "journal.jsonl").read_text().splitlines()]


async def test_the_plan_is_carried_out_with_tools_that_run_here(fakes: FakeProviders) -> None:
    fakes.openai.says(PLAN)
    fakes.anthropic.says(MULTIPLY, "It is 42.")
    result, journal = await play(discussion())

    assert result.messages[-1].text == "It is 42."
    assert (len(fakes.openai.questions), len(fakes.anthropic.questions)) == (1, 2)
    assert "tools" not in fakes.openai.questions[0].body
    assert "calculator: " in text_of(fakes.openai.questions[0].body)
    assert "You are exact." in text_of(fakes.openai.questions[0].body)
    assert [tool["name"] for tool in fakes.anthropic.questions[0].body["tools"]] == ["calculator"]
    assert "Call calculator with expression: '6 * 7'" in text_of(fakes.anthropic.questions[0].body)
    kinds = [line["type"] for line in journal]
    assert kinds.index("boost_step") < kinds.index("tool_called") < kinds.index("tool_returned")


async def test_the_plan_is_no_part_of_what_the_others_hear(fakes: FakeProviders) -> None:
    fakes.openai.says(PLAN, "SUMMARY: Still 42.")
    fakes.anthropic.says(MULTIPLY, "It is 42.")
    result, _ = await play(discussion(turns=2))

    assert [message.text for message in result.messages[-3:]] == ["It is 42.", "How much is it?", "Still 42."]
    assert "A product is wanted" not in text_of([question.body for question in fakes.gemini.questions])
    second = text_of(fakes.openai.questions[1].body)
    assert "It is 42." in second
    assert 'calculator returned: {"expression": "6 * 7"' in second


async def test_each_round_and_its_cost_are_in_the_journal(fakes: FakeProviders) -> None:
    fakes.openai.says(OTHER, PLAN, PLAN)
    fakes.anthropic.says("I can do that in my head: 41.", MULTIPLY, "It is 42.")
    result, journal = await play(discussion())
    steps = [line for line in journal if line["type"] == "boost_step"]
    roles = [line.get("role") for line in journal if line["type"] == "model_replied" and line["speaker"] == "Doer"]

    assert [(step["loop"], step["outcome"], step["speaker"]) for step in steps] == [
        (0, "other", "Doer"), (1, "guidance", "Doer"), (2, "guidance", "Doer"),
    ]  # fmt: skip
    assert [role or "own" for role in roles] == ["boost", "boost", "own", "boost", "own", "own"]
    assert result.help is not None
    assert (result.help.turns, result.help.helped) == (1, 1)
    assert {row["role"] for row in result.help.rows} == {"own", "boost", "wasted"}
    assert result.help.cost_usd
    assert result.help.all_large_usd


async def test_a_turn_that_the_boost_model_answers_has_a_price_on_the_large_model_too(fakes: FakeProviders) -> None:
    fakes.openai.says("SUMMARY: It is 42.")
    result, _ = await play(discussion())

    assert result.help is not None
    assert result.help.all_large_usd == pytest.approx(result.help.cost_usd)


@pytest.mark.parametrize(
    "failure",
    [fault(500), fault("refusal"), fault("html_200"), reply(" ")],
    ids=["http_500", "refusal", "html_200", "blank"],
)
async def test_a_boost_model_that_fails_costs_no_turn(fakes: FakeProviders, failure: Any) -> None:
    fakes.openai.says(failure)
    fakes.anthropic.says(MULTIPLY, "It is 42.")
    result, journal = await play(discussion())

    assert result.messages[-1].text == "It is 42."
    assert len(fakes.openai.questions) == 1
    assert [line["outcome"] for line in journal if line["type"] == "boost_step"] == ["fallback"]
    assert "help_failed" in [line["type"] for line in journal]


async def test_the_number_of_rounds_and_the_time_are_those_of_the_file(fakes: FakeProviders) -> None:
    fakes.openai.says(OTHER, OTHER)
    fakes.anthropic.says("Directly.")
    result, _ = await play(discussion(max_loops=1, helper_timeout=5, limits={"calls": 5}))

    assert result.messages[-1].text == "Directly."
    assert len(fakes.openai.questions) == 1


async def test_a_template_can_be_given_in_the_file(fakes: FakeProviders) -> None:
    fakes.openai.says("SUMMARY: It is 42.")
    await play(discussion(options={"template": "Plan this:\n$request\nwith $tools"}))

    asked = text_of(fakes.openai.questions[0].body["messages"][-1])
    assert asked.startswith("user\nPlan this:\n")
    assert "How much is it?\nwith calculator: " in asked


async def test_a_template_without_a_place_for_the_request_is_told_before_anybody_is_asked(fakes: FakeProviders) -> None:
    with pytest.raises(ConfigError, match="no place for the request"):
        await play(discussion(options={"template": "Plan:\n$tools"}))
    assert fakes.gemini.questions == []
