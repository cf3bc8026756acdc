"""The three configurations of the specification run to their end, with the models that they name."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ai_battle import CollaborativeConversationManager, ConversationManager, RunResult
from ai_battle.core.events import EventLog, Warned
from ai_battle.testing import FakeProviders

FRAGMENT = """\
discussion:
  # Existing fields...
  turns: 2
  goal: Plan a garden for a school.
  models:
    model1:
      type: "ollama-gemma3-1b"
      role: human
    model2:
      type: "ollama-phi4"
      role: assistant
    model3:
      type: "claude-3-sonnet"
      role: assistant
    model4:
      type: "gpt-4o"
      role: assistant

  # Tool configuration
  tools:
    enabled: true
    registry:
      - name: "code_execution"
        enabled: true
        parameters:
          timeout: 15
      - name: "web_search"
        enabled: true
        parameters:
          api_key: "${WEB_SEARCH_API_KEY}"
      - name: "file_manipulation"
        enabled: false

  # Model collaboration configuration
  collaboration:
    enabled: true
    pairs:
      - primary: "ollama-gemma3-1b"
        secondary: "claude-3-sonnet"
        threshold: 0.7
        max_retries: 2
      - primary: "ollama-phi4"
        secondary: "gpt-4o"
        threshold: 0.6
        max_retries: 3
"""

GENERATION = {
    "discussion": {
        "turns": 5,
        "models": {
            "model1": {
                "type": "ollama-phi4",
                "role": "human"
            },
            "model2": {
                "type": "claude-3-sonnet",
                "role": "assistant"
            }
        },
        "tools": {
            "enabled": True,
            "registry": [
                {
                    "name": "code_execution",
                    "enabled": True,
                    "parameters": {
                        "timeout": 15
                    }
                }
            ]
        },
        "collaboration": {
            "enabled": True,
            "pairs": [
                {
                    "primary": "ollama-phi4",
                    "secondary": "claude-3-sonnet",
                    "threshold": 0.7,
                    "max_retries": 2
                }
            ]
        },
        "goal": "Write a Python script to analyze a CSV file and generate a summary report."
    }
}  # fmt: skip

RESEARCH = {
    "discussion": {
        "turns": 8,
        "models": {
            "model1": {
                "type": "ollama-gemma3-1b",
                "role": "human"
            },
            "model2": {
                "type": "gpt-4o",
                "role": "assistant"
            }
        },
        "tools": {
            "enabled": True,
            "registry": [
                {
                    "name": "web_search",
                    "enabled": True,
                    "parameters": {
                        "api_key": "${WEB_SEARCH_API_KEY}"
                    }
                }
            ]
        },
        "collaboration": {
            "enabled": True,
            "pairs": [
                {
                    "primary": "ollama-gemma3-1b",
                    "secondary": "gpt-4o",
                    "threshold": 0.6,
                    "max_retries": 3
                }
            ]
        },
        "goal": "Research the latest advancements in quantum computing and summarize the key findings."
    }
}  # fmt: skip

GARDEN = (
    "I would start with raised beds along the south wall, one for each class.",
    "Raised beds suit the wall. Keep them narrow, so that children reach the middle from both sides.",
    "Add a water barrel near the shed; carrying cans across the yard tires the small ones.",
    "Who waters in the summer holidays? Two families a week could share a rota.",
    "A rota works if the beds need little: herbs, chard and beans rather than lettuce.",
    "Beans then, and sunflowers behind them, so that the little ones see something grow fast.",
    "The barrel should have a lid, as children climb on whatever stands about.",
    "Let us begin with three beds, and ask in autumn which classes want one of their own.",
)
"""Turns of a talk in which nobody needs help."""
GAVE_WAY = "'claude-3-sonnet' is retired; its successor 'claude-sonnet-5-5' is used."
MANAGERS = (CollaborativeConversationManager, ConversationManager)


@pytest.fixture(params=MANAGERS, ids=["collaborative", "plain"])
def manager(request: pytest.FixtureRequest) -> type[ConversationManager]:
    kind: type[ConversationManager] = request.param
    return kind


async def play(manager: type[ConversationManager], source: Any) -> tuple[RunResult, list[str]]:
    """The run, and what its user was told."""
    result = await manager.from_config(source).run_discussion(log := EventLog())
    return result, [event.message for event in log.events if isinstance(event, Warned)]


def speakers(result: RunResult) -> list[str]:
    return [message.speaker for message in result.messages[1:]]


async def test_the_fragment_completed_with_turns_models_and_a_goal_runs(
    fakes: FakeProviders, here: Path, manager: type[ConversationManager]
) -> None:
    (here / "garden.yaml").write_text(FRAGMENT)
    fakes.ollama.says(*GARDEN[:2], *GARDEN[4:6])
    fakes.anthropic.says(GARDEN[2], GARDEN[6])
    fakes.openai.says(GARDEN[3], GARDEN[7])

    result, told = await play(manager, "garden.yaml")

    assert (result.status, result.turns) == ("done", 8)
    assert speakers(result) == ["model1", "model2", "model3", "model4"] * 2
    assert (len(fakes.ollama.questions), len(fakes.anthropic.questions), len(fakes.openai.questions)) == (4, 2, 2)
    assert GAVE_WAY in told


async def test_the_configuration_for_code_generation_runs_as_it_is(
    fakes: FakeProviders, manager: type[ConversationManager]
) -> None:
    result, told = await play(manager, GENERATION)

    assert (result.status, result.turns) == ("done", 10)
    assert speakers(result) == ["model1", "model2"] * 5
    assert {request.body["model"] for request in fakes.anthropic.questions} == {"claude-sonnet-5-5"}
    assert {request.body["model"] for request in fakes.ollama.questions} == {"phi4"}
    assert told.count(GAVE_WAY) == 1


async def test_the_configuration_for_research_runs_as_it_is(
    fakes: FakeProviders, manager: type[ConversationManager]
) -> None:
    result, _ = await play(manager, RESEARCH)

    assert (result.status, result.turns) == ("done", 16)
    assert speakers(result) == ["model1", "model2"] * 8
    assert {request.body["model"] for request in fakes.ollama.questions} == {"gemma3:1b"}
    assert {request.body["model"] for request in fakes.openai.questions} == {"gpt-4o"}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (GENERATION, ("code_execution",)),
        (RESEARCH, ("web_search",)),
        (yaml.safe_load(FRAGMENT), ("code_execution", "web_search")),
    ],
    ids=["4.1", "4.2", "3.3"],
)
async def test_every_participant_is_offered_the_tools(
    fakes: FakeProviders, source: dict[str, Any], names: tuple[str, ...]
) -> None:
    """By its API where that has tools, else in the system prompt. Nobody is helped: helpers hear of tools in words."""
    source = copy.deepcopy(source)
    source["discussion"]["collaboration"]["enabled"] = False
    _, told = await play(CollaborativeConversationManager, source)

    assert not any(note.startswith("discussion.tools:") for note in told)
    assert not any(note.startswith("discussion.collaboration:") for note in told)
    questions = [request for fake in fakes.all for request in fake.questions]
    assert all(name in str(request.body) for request in questions for name in names)
    assert all("tools" in request.body for request in (*fakes.openai.questions, *fakes.anthropic.questions))
    assert not any("file_manipulation" in str(request.body) for request in questions)


STUCK = "I do not know. " * 40


@pytest.mark.parametrize(
    ("source", "large"),
    [(GENERATION, "anthropic"), (RESEARCH, "openai")],
    ids=["4.1", "4.2"],
)
async def test_a_small_model_that_goes_round_in_circles_is_helped_by_the_large_one(
    fakes: FakeProviders, source: dict[str, Any], large: str
) -> None:
    """In the first turn the small model gets advice from the other wire, and its second attempt is what is said."""
    fakes.ollama.says(STUCK, "Here is a plan in three steps.")
    provider = fakes.anthropic if large == "anthropic" else fakes.openai
    provider.says("Write down three steps.")

    result, _ = await play(CollaborativeConversationManager, source)

    assert result.messages[1].text == "Here is a plan in three steps."
    advice, *_ = provider.questions
    assert "I do not know. I do not know." in str(advice.body)
    assert "Write down three steps." in str(fakes.ollama.questions[1].body)


async def test_the_search_key_is_in_no_file_of_the_run(
    fakes: FakeProviders, monkeypatch: pytest.MonkeyPatch, everything_in: Callable[[Path], str]
) -> None:
    monkeypatch.setenv("WEB_SEARCH_API_KEY", "brave-secret-1")

    result, _ = await play(CollaborativeConversationManager, RESEARCH)

    kept = everything_in(result.run_dir)
    assert "${WEB_SEARCH_API_KEY}" in kept
    assert "brave-secret-1" not in kept
