"""Anything that answers may advise: a small model with rules and tools of its own, several as one, a person."""

from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.config.problems import ConfigProblems
from ai_battle.core.events import EventLog
from ai_battle.core.helping import HelpAsked, HelpFailed, LessonKept
from ai_battle.core.tooling import ToolCalled, ToolReturned, ToolsOffered
from ai_battle.testing import FakeProviders, call

from .boosting import text_of

pytestmark = pytest.mark.usefixtures("here")

ASKED = {"type": "scripted", "script": ["How many pots do seven beds of 24 take?", "And eight beds?"]}
QUESTION = call("advisor", question="How do I begin?")
ANSWER, LATER = "7 * 24 = 168, so 168 pots are needed.", "8 * 24 = 192, so 192 pots are needed."
RULES = "Rules of the house: pots are bought by the dozen."


def discussion(*pairs: dict[str, Any], **more: Any) -> dict[str, Any]:
    models = {"Asker": {**ASKED, "tools": []}, "Worker": {"type": "openai/gpt-4o", "tools": []}}
    pairs = ({"primary": "Worker", "strategy": "advisor", **pairs[0]}, *pairs[1:])
    said = {"turns": 1, "models": models, "timeouts": {"retry_count": 0}, "goal": "Plan the garden.", **more}
    return {"discussion": {**said, "collaboration": {"pairs": [*pairs]}}}


def advice_in(log: EventLog) -> list[str]:
    results = (event.result for event in log.events if isinstance(event, ToolReturned))
    return [result.text for result in results if result.call.name == "advisor"]


async def test_a_small_model_with_rules_and_tools_of_its_own_advises_a_large_one(fakes: FakeProviders) -> None:
    """The large one is not offered these tools, and sees neither the rules nor what they return."""
    fakes.openai.says(QUESTION, ANSWER, LATER)
    fakes.ollama.says(call("calculator", expression="168 / 12"), "Say fourteen dozen.")
    keeper = {"type": "ollama/qwen3", "name": "keeper", "instructions": RULES, "tools": ["calculator"]}
    pair = {"secondary": keeper, "options": {"use_tools": True}}

    log = EventLog()
    source = discussion(pair, tools={"registry": ["calculator"]}, turns=2)
    await ConversationManager.from_config(source).run_discussion(log)

    asked = fakes.ollama.questions[0].body
    assert asked["messages"][0]["content"].startswith(RULES)
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["calculator"]
    assert "Say fourteen dozen." in advice_in(log)[0]
    assert [event.call.name for event in log.events if isinstance(event, ToolCalled)] == ["advisor", "calculator"]
    for question in fakes.openai.questions:
        assert [tool["function"]["name"] for tool in question.body["tools"]] == ["advisor"]
        assert RULES not in text_of(question.body)
        assert "14.0" not in text_of(question.body)
    offers = [event.tools for event in log.events if isinstance(event, ToolsOffered) and event.speaker == "Worker"]
    assert [[tool.name for tool in offer] for offer in offers] == [["advisor"]], "what a helper has is not its own"


async def test_several_models_advise_as_one(fakes: FakeProviders) -> None:
    """A pair whose primary is the name of a helper helps that helper: here, small ones outvote it."""
    fakes.openai.says(QUESTION, ANSWER)
    fakes.ollama.says("The answer is 158.")
    fakes.anthropic.says("The answer is 168.")
    fakes.gemini.says("The answer is 168.")
    council = {"primary": "council", "strategy": "council", "peers": ["haiku", "gemini/gemini-2.5-flash"]}

    log = EventLog()
    source = discussion({"secondary": {"type": "ollama/qwen3", "name": "council"}}, council)
    result = await ConversationManager.from_config(source).run_discussion(log)

    (advice,) = advice_in(log)
    assert "Advice of council" in advice
    assert "The answer is 168." in advice
    assert [event.role for event in log.events if isinstance(event, HelpAsked)] == ["helper", "peer", "peer"]
    assert result.help
    assert {row["role"] for row in result.help.rows if row["participant"] == "Worker"} == {"own", "peer", "wasted"}
    assert sum(row["cost_usd"] for row in result.help.rows) == pytest.approx(result.usage.cost_usd)


async def test_a_helper_that_is_helped_itself_learns_from_that(fakes: FakeProviders) -> None:
    fakes.openai.says(QUESTION, ANSWER)
    fakes.ollama.says("I do not know.")
    fakes.anthropic.says("Multiply the two numbers.")
    middle = {"primary": "middle", "secondary": "haiku", "strategy": "takeover", "threshold": 1, "max_retries": 1}

    log = EventLog()
    source = discussion({"secondary": {"type": "ollama/qwen3", "name": "middle"}}, {**middle, "lessons": {}})
    await ConversationManager.from_config(source).run_discussion(log)

    assert "Multiply the two numbers." in advice_in(log)[0]
    assert [type(event) for event in log.events].count(LessonKept) == 1


async def test_a_person_advises(fakes: FakeProviders) -> None:
    """At the end of the input the model is left to itself, and the journal says why."""
    fakes.openai.says(QUESTION, ANSWER, QUESTION, LATER)
    lines = iter(["Multiply them.", None])
    prompts: list[str] = []

    async def ask(prompt: str) -> str | None:
        prompts.append(prompt)
        return next(lines)

    log = EventLog()
    manager = ConversationManager.from_config(discussion({"secondary": "person/Ada"}, turns=2), ask=ask)
    result = await manager.run_discussion(log)

    assert prompts == ["Ada> ", "Ada> "]
    first, second = advice_in(log)
    assert "Multiply them." in first
    assert second.startswith("No advice")
    (failed,) = [event for event in log.events if isinstance(event, HelpFailed)]
    assert failed.reason == "Ada can't be asked: there is no terminal, or its input has ended."
    assert result.messages[-1].text == LATER


@pytest.mark.parametrize(
    ("pairs", "place", "words"),
    [
        (({"secondary": {"type": "haiku", "tools": ["calculato"]}},), "secondary", "calculato"),
        (({"secondary": "haiku"}, {"primary": "council", "secondary": "sonnet"}), "pairs[1].primary", "'council'"),
        (
            (
                {"secondary": {"type": "haiku", "name": "planner"}},
                {"primary": "planner", "strategy": "advisor", "secondary": {"type": "sonnet", "name": "planner"}},
            ),
            "pairs[1].primary",
            "helps itself",
        ),
        (
            ({"secondary": {"type": "haiku", "name": "few"}}, {"primary": "few", "strategy": "council", "peers": []}),
            "pairs",
            "two models or more",
        ),
    ],
)
async def test_what_makes_no_sense_is_a_mistake_with_its_place(
    fakes: FakeProviders, pairs: tuple[dict[str, Any], ...], place: str, words: str
) -> None:
    with pytest.raises(ConfigProblems) as problems:
        ConversationManager.from_config(discussion(*pairs, tools={"registry": ["calculator"]}))
    assert place in str(problems.value)
    assert words in str(problems.value)
