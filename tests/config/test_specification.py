"""The configurations of the specification load as they are written there."""

from collections.abc import Callable
from typing import Any

import pytest

from ai_battle.config.loading import LoadedDiscussion, load

FRAGMENT = """\
discussion:
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

  turns: 2
  goal: Plan a garden.
  models:
    model1: {type: ollama-gemma3-1b, role: human}
    model2: {type: ollama-phi4, role: assistant}
"""

GENERATION: dict[str, Any] = {
    "discussion": {
        "turns": 5,
        "models": {
            "model1": {"type": "ollama-phi4", "role": "human"},
            "model2": {"type": "claude-3-sonnet", "role": "assistant"},
        },
        "tools": {
            "enabled": True,
            "registry": [{"name": "code_execution", "enabled": True, "parameters": {"timeout": 15}}],
        },
        "collaboration": {
            "enabled": True,
            "pairs": [
                {"primary": "ollama-phi4", "secondary": "claude-3-sonnet", "threshold": 0.7, "max_retries": 2},
            ],
        },
        "goal": "Write a Python script to analyze a CSV file and generate a summary report.",
    }
}

RESEARCH: dict[str, Any] = {
    "discussion": {
        "turns": 8,
        "models": {
            "model1": {"type": "ollama-gemma3-1b", "role": "human"},
            "model2": {"type": "gpt-4o", "role": "assistant"},
        },
        "tools": {
            "enabled": True,
            "registry": [
                {"name": "web_search", "enabled": True, "parameters": {"api_key": "${WEB_SEARCH_API_KEY}"}},
            ],
        },
        "collaboration": {
            "enabled": True,
            "pairs": [{"primary": "ollama-gemma3-1b", "secondary": "gpt-4o", "threshold": 0.6, "max_retries": 3}],
        },
        "goal": "Research the latest advancements in quantum computing and summarize the key findings.",
    }
}


def test_the_fragment_completed_with_turns_models_and_a_goal_loads(load_text: Callable[..., LoadedDiscussion]) -> None:
    here = load_text(FRAGMENT, {"WEB_SEARCH_API_KEY": "brave-key"})
    tools, collaboration = here.file.discussion.tools, here.file.discussion.collaboration

    assert tools is not None
    assert collaboration is not None
    assert tools.registry[1].parameters == {"api_key": "brave-key"}
    assert [tool.enabled for tool in tools.registry] == [True, True, False]
    assert [(pair.secondary[0].type, pair.threshold, pair.max_retries) for pair in collaboration.pairs] == [
        ("claude-3-sonnet", 0.7, 2),
        ("gpt-4o", 0.6, 3),
    ]
    assert {*here.redactor.secrets} == {"brave-key"}


@pytest.mark.parametrize(("source", "turns"), [(GENERATION, 5), (RESEARCH, 8)], ids=["generation", "research"])
def test_the_two_dictionaries_load_as_they_are(source: dict[str, Any], turns: int) -> None:
    assert load(source, {}).file.discussion.turns == turns
