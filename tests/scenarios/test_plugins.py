"""A package that brings a provider, a strategy, a format of datasets and a scorer is met wherever its kind is."""

import json
from pathlib import Path

import pytest

from .terminal import run

PACKAGE = {
    "mybirds/__init__.py": "",
    "mybirds/parrot.py": '''
"""A provider."""
from ai_battle import Message, ModelClient, ModelRequest, ModelResponse, Text, Usage
from ai_battle.core.events import Emit, TextDelta, ignore
from ai_battle.core.traits import ProviderTraits

TRAITS = ProviderTraits(local=True, lists_all=True)


async def list_models(**settings: object) -> list[str]:
    return ["grey", "green", "large"]


class Parrot(ModelClient):
    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        text = request.messages[-1].text.upper()
        await emit(TextDelta(text))
        return ModelResponse(Message("assistant", (Text(text),)), usage=Usage(3, 7, cost_usd=0.001), model="parrot")


def create(model: str) -> ModelClient:
    return Parrot()
''',
    "mybirds/twice.py": '''
"""A strategy: the other model always has the last word."""
from ai_battle import ModelClient, ModelRequest, ModelResponse
from ai_battle.core.events import Emit, drafting, ignore
from ai_battle.core.traits import CalledModel, StrategyTraits

TRAITS = StrategyTraits(
    "a thousand birds", models={"secondary": CalledModel("for a second look at what {name} says", "each turn")}
)


class Twice(ModelClient):
    def __init__(self, primary: ModelClient, secondary: ModelClient) -> None:
        self.primary, self.secondary = primary, secondary

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        await self.primary.complete(request, drafting(emit))
        return await self.secondary.complete(request, emit)


def create(primary: ModelClient, secondary: ModelClient) -> ModelClient:
    return Twice(primary, secondary)
''',
    "mybirds/quiz.py": '''
"""A format of datasets: a question and its answer on a line, with a bar between them."""
from ai_battle.benchmark.tasks import Task


class Quiz:
    scorer = "shouted"
    suffixes = (".quiz",)
    marks = ()

    def fits(self, row):
        return False

    def read(self, path):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            question, _, answer = line.partition("|")
            yield Task(f"q{number}", question, answer)


def create():
    return Quiz()
''',
    "mybirds/shouted.py": '''
"""A scorer: right is what says the reference in capitals."""
from ai_battle.benchmark.sample import AnswerScore


class Shouted:
    def lacks(self, task):
        return "" if task.reference else "a reference"

    async def score(self, task, answer):
        return AnswerScore(float(task.reference.upper() in answer.text))


def create():
    return Shouted()
''',
    "mybirds-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: mybirds\nVersion: 1.0\n",
    "mybirds-1.0.dist-info/entry_points.txt": """
[ai_battle.providers]
parrot = mybirds.parrot
[ai_battle.collaboration]
twice = mybirds.twice
[ai_battle.benchmark.datasets]
quiz = mybirds.quiz
[ai_battle.benchmark.scorers]
shouted = mybirds.shouted
""",
    "talk.yaml": """
discussion:
  turns: 1
  goal: Say something.
  local_only: true
  models:
    Polly: {type: parrot/grey, role: human}
    Coco: {type: parrot/green}
  collaboration:
    pairs: [{primary: Coco, secondary: parrot/large, strategy: twice}]
""",
    "suite.yaml": """
benchmark:
  datasets: [{path: birds.quiz}]
  settings:
    - {name: alone, model: parrot/grey}
    - {name: helped, model: parrot/grey, secondary: parrot/large, strategy: twice}
""",
    "birds.quiz": "Which bird is grey: parrot?|parrot\nWhich bird sings: lark?|owl\n",
}


@pytest.fixture
def folder(here: Path) -> Path:
    for name, text in PACKAGE.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(text)
    return here


def ai_battle(folder: Path, command: str, code: int = 0) -> str:
    ended = run(*command.split(), PYTHONPATH=str(folder), NO_COLOR="1", COLUMNS="160")
    assert ended.code == code, ended.err
    return ended.out or ended.err


def test_a_discussion_with_them_is_checked_forecast_run_and_reported(folder: Path) -> None:
    assert ai_battle(folder, "validate talk.yaml")
    forecast = ai_battle(folder, "run talk.yaml --dry-run")
    assert "parrot/large" in forecast
    assert "helper parrot/large, for a second look at what Coco says: 1 call, " in forecast

    ended = json.loads(ai_battle(folder, "run talk.yaml --out run --json"))
    assert ended["status"] == "done"
    assert [row["role"] for row in ended["collaboration"]["ledger"]].count("helper") == 1
    report = (folder / "run" / "report.html").read_text()
    assert ">Coco</b>" in report
    assert "Helped 1 of 1 turn" in report


def test_a_benchmark_with_them_needs_no_name_of_a_format_or_a_scorer(folder: Path) -> None:
    ai_battle(folder, "bench run suite.yaml --out results")
    forecast = ai_battle(folder, "bench run suite.yaml --dry-run")
    summary = json.loads((folder / "results" / "summary.json").read_text())

    assert "4 samples" in forecast
    assert {row["name"]: row["quality"] for row in summary["settings"]} == {"alone": 0.5, "helped": 0.5}
    assert [row["strategy"] for row in summary["settings"]] == ["", "twice"]
    assert "parrot/grey twice by parrot/large" in (folder / "results" / "report.html").read_text()


def test_the_machine_and_its_models_are_shown_with_them(folder: Path) -> None:
    found = {each["subject"]: each for each in json.loads(ai_battle(folder, "doctor --json"))}
    assert (found["parrot"]["state"], found["parrot"]["message"]) == ("ok", "3 models: grey, green, large")
    assert "green" in ai_battle(folder, "models list parrot")
    brought = {name: found[name]["message"] for name in ("twice", "quiz", "shouted")}
    assert brought == {
        "twice": "a strategy that comes with mybirds",
        "quiz": "a format of datasets that comes with mybirds",
        "shouted": "a scorer that comes with mybirds",
    }


def test_the_help_of_commands_lists_them(folder: Path) -> None:
    assert "takeover, twice; experimental" in " ".join(ai_battle(folder, "run --help").split())
    shown = ai_battle(folder, "bench run --help")
    assert "quiz" in shown
    assert "shouted" in shown


def test_one_that_does_not_load_is_found_by_the_doctor(folder: Path) -> None:
    (folder / "mybirds" / "twice.py").write_text("import a_package_that_is_not_there")
    found = {each["subject"]: each for each in json.loads(ai_battle(folder, "doctor --json"))}
    assert found["twice"]["state"] == "missing"
    assert "The plug-in 'twice' does not load: ModuleNotFoundError" in found["twice"]["message"]


def test_a_model_that_it_does_not_list_stops_a_benchmark_before_it_costs(folder: Path) -> None:
    suite = (folder / "suite.yaml").read_text().replace("model: parrot/grey}", "model: parrot/gray}")
    (folder / "wrong.yaml").write_text(suite)
    said = ai_battle(folder, "bench run wrong.yaml", code=2)
    assert "parrot has no model 'gray'; did you mean 'grey'?" in said


def test_what_is_misspelt_is_answered_with_their_names(folder: Path) -> None:
    wrong = (folder / "talk.yaml").read_text().replace("strategy: twice", "strategy: twce")
    (folder / "wrong.yaml").write_text(wrong)
    assert "did you mean 'twice'?" in ai_battle(folder, "validate wrong.yaml", code=2)
