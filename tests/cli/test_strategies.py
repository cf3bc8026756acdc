"""A strategy that a package brings is known wherever ours are: all that others know of it stands in its file."""

import json
from pathlib import Path

from tests.scenarios.terminal import run_in_turn

from .conftest import Run

STRATEGY = '''
"""Echoes: the large model answers whenever the small one repeats the prompt."""

from ai_battle.core.client import ClientWrapper
from ai_battle.core.events import drafting, ignore
from ai_battle.core.traits import CalledModel, StrategyTraits

TRAITS = StrategyTraits("a thousand echoes", models={"secondary": CalledModel("where {name} echoes", "each turn")})


class Echoes(ClientWrapper):
    def __init__(self, primary, secondary):
        super().__init__(primary)
        self.secondary = secondary

    async def complete(self, request, emit=ignore):
        draft = await self.client.complete(request, drafting(emit))
        return draft if draft.text not in request.messages[-1].text else await self.secondary.complete(request, emit)


def create(primary, secondary):
    return Echoes(primary, secondary)
'''
TALK = """
discussion:
  turns: 1
  goal: Talk.
  models:
    Ann: {type: scripted/ann, script: [What is it?], role: human}
    Bob: {type: scripted/bob, script: [What is it?]}
  collaboration:
    pairs: [{primary: Bob, secondary: {type: scripted/large, script: [A farm.]}, strategy: echoes}]
"""
SUITE = """
benchmark:
  datasets: [{path: tasks.jsonl}]
  scorers: [contains]
  settings:
    - name: helped
      model: {type: scripted/small, script: [What?]}
      secondary: {type: scripted/large, script: [A farm.]}
      strategy: echoes
"""


def test_it_is_known_to_every_command(folder: Path) -> None:
    """The strategy comes with a package of this machine."""
    place = folder / "site"
    info = place / "echoes-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "echoing.py").write_text(STRATEGY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echoes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ai_battle.collaboration]\nechoes = echoing\n")
    (folder / "talk.yaml").write_text(TALK)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "tasks.jsonl").write_text(json.dumps({"prompt": "What?", "reference": "farm"}) + "\n")

    shown, _, forecast, printed, table = run_in_turn(
        folder,
        "run --help",
        "validate talk.yaml",
        "run talk.yaml --dry-run --json",
        "run talk.yaml --json --out runs/one",
        "bench run suite.yaml --out bench",
        PYTHONPATH=str(place),
    )

    assert "council, echoes, handover" in " ".join(shown.split()).partition("; experimental")[0]
    assert "where Bob echoes" in forecast
    result = json.loads(printed)
    assert result["messages"][-1]["parts"][0]["content"] == "A farm."
    assert result["collaboration"]["helped"] == 1
    assert "echoes" in (folder / "runs/one/journal.jsonl").read_text()
    assert "echoes" in (folder / "runs/one/report.html").read_text()
    assert "helped" in table
    assert "echoes" in (folder / "bench/report.html").read_text()


def test_a_mistake_is_told_with_its_name_among_the_others(ai_battle: Run, folder: Path) -> None:
    (folder / "talk.yaml").write_text(TALK.replace("echoes", "takeovr"))
    assert "did you mean 'takeover'?" in ai_battle("validate", "talk.yaml").out
