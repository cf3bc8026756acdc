"""`stream: optimistic` at a pair of a discussion, whose listeners see drafts in any case."""

from pathlib import Path

import pytest

from ai_battle.conversation.reading import messages
from ai_battle.testing import FakeProviders

from .conftest import Run

POOR, GOOD = "I do not know.", "The tower is 96 metres tall, as its plate at the door says."
TALK = f"""\
discussion:
  turns: 2
  mode: no-meta
  goal: How tall is the tower?
  models:
    Small: {{type: scripted/small, script: [{POOR}], loop: true}}
    Asker: {{type: ollama/gemma3:1b}}
  collaboration:
    pairs:
      - primary: Small
        secondary: {{type: scripted/large, script: ["{GOOD}"], loop: true}}
        strategy: takeover
        max_retries: 1
        stream: {{stream}}
"""


@pytest.mark.parametrize(("stream", "options"), [("optimistic", []), ("optimistic", ["--quiet"]), ("judged", [])])
def test_a_poor_draft_is_no_part_of_the_conversation(
    ai_battle: Run, monkeypatch: pytest.MonkeyPatch, stream: str, options: list[str]
) -> None:
    """Whether somebody reads along or not, the other participant hears only the right answer."""
    Path("talk.yaml").write_text(TALK.replace("{stream}", stream))
    with FakeProviders.in_thread() as fakes:
        monkeypatch.setenv("OLLAMA_HOST", fakes.ollama.url)
        fakes.ollama.always("And how wide is it, then?")
        shown = ai_battle("run", "talk.yaml", "--out", "run", *options)
        heard = fakes.ollama.questions[0].body["messages"][-1]["content"]

    assert shown.code == 0
    assert heard == f"How tall is the tower?\n\n{GOOD}"
    assert [message.text for message in messages(Path("run"))].count(GOOD) == 2
    assert shown.out.count(f"Small: {GOOD}") == (0 if options else 2)
