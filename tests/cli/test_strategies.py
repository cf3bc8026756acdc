"""A strategy that a package brings is known wherever ours are: all that others know of it stands in its file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.fixture
def run_with_package(folder: Path) -> Run:
    """The command line of a machine on which a package brings the strategy."""
    place = folder / "site"
    info = place / "echoes-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "echoing.py").write_text(STRATEGY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echoes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ai_battle.collaboration]\nechoes = echoing\n")
    (folder / "talk.yaml").write_text(TALK)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "tasks.jsonl").write_text(json.dumps({"prompt": "What?", "reference": "farm"}) + "\n")
    program = f"import sys; sys.path.insert(0, {str(place)!r}); from ai_battle.cli import main; main()"

    def run(*arguments: object) -> str:
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    return run  # type: ignore[return-value]


def test_it_is_known_to_every_command(run_with_package: Run, folder: Path) -> None:
    shown = " ".join(str(run_with_package("run", "--help")).split())
    assert "council, echoes, handover" in shown.partition("; experimental")[0]
    run_with_package("validate", "talk.yaml")
    assert "where Bob echoes" in str(run_with_package("run", "talk.yaml", "--dry-run", "--json"))

    result = json.loads(str(run_with_package("run", "talk.yaml", "--json", "--out", "runs/one")))
    assert result["messages"][-1]["parts"][0]["content"] == "A farm."
    assert result["collaboration"]["helped"] == 1
    assert "echoes" in (folder / "runs/one/journal.jsonl").read_text()
    assert "echoes" in (folder / "runs/one/report.html").read_text()

    assert "helped" in str(run_with_package("bench", "run", "suite.yaml", "--out", "bench"))
    assert "echoes" in (folder / "bench/report.html").read_text()


def test_a_mistake_is_told_with_its_name_among_the_others(ai_battle: Run, folder: Path) -> None:
    (folder / "talk.yaml").write_text(TALK.replace("echoes", "takeovr"))
    assert "did you mean 'takeover'?" in ai_battle("validate", "talk.yaml").out
