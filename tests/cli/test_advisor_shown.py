"""An advisor is a tool, and stands among the tools wherever it is shown what a model is sent."""

import json
from pathlib import Path

import pytest

from ai_battle.testing import FakeProviders

from .conftest import Run

TALK = """\
discussion:
  turns: 1
  goal: How many pots do seven beds of 24 take?
  models:
    Asker: {{type: scripted, role: human, script: ["How many?"]}}
    Worker: {{type: ollama/qwen3}}
  tools: {tools}
  collaboration:
    pairs: [{{primary: Worker, strategy: advisor, secondary: {{type: scripted, script: [Multiply.]}}}}]
"""


@pytest.mark.parametrize("tools", ["[]", "[calculator]"], ids=["alone", "beside others"])
def test_what_is_shown_as_sent_is_what_was_sent(ai_battle: Run, monkeypatch: pytest.MonkeyPatch, tools: str) -> None:
    """Beforehand with `run --dry-run`, and afterwards with `show --request`."""
    Path("talk.yaml").write_text(TALK.format(tools=tools))
    with FakeProviders.in_thread() as fakes:
        monkeypatch.setenv("OLLAMA_HOST", fakes.ollama.url)
        fakes.ollama.says("7 * 24 = 168, so 168 pots are needed.")
        forecast = json.loads(ai_battle("run", "talk.yaml", "--dry-run", "--json").out)
        ai_battle("run", "talk.yaml", "--out", "run", "--quiet")
        shown = json.loads(ai_battle("show", "run", "2", "--request", "--json").out)
        sent = fakes.ollama.questions[0].body

    names = [tool["function"]["name"] for tool in sent["tools"]]
    assert names[-1] == "advisor"
    for request in (forecast[1], shown["request"]):
        assert [tool["name"] for tool in request["tools"]] == names
        assert request["system"] == sent["messages"][0]["content"]
