"""The ready configurations: each is known to editors, validates, and runs to its end against fake providers."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ai_battle.cli import run_command
from ai_battle.config.packaged import packaged_config, packaged_names
from ai_battle.testing import FakeProvider, FakeProviders
from tests.scenarios.terminal import begin

FOLDER = Path(__file__).parent.parent / "configs"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
WITH_A_PERSON, WITH_A_SERVER = "with-you", "mcp-time"
SERVER = "mcp-server-time"
SCHEMA_LINE = "# yaml-language-server: $schema=../ai_battle/config/schemas/discussion.json"

every_config = pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield fakes


def events(run_dir: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (run_dir / "journal.jsonl").read_text(encoding="utf-8").splitlines()]


def require_server(config: Path) -> None:
    if SERVER in config.read_text(encoding="utf-8") and not shutil.which(SERVER):
        pytest.skip(f"{SERVER} is not installed")


def question_bodies(fake: FakeProvider) -> list[str]:
    return [json.dumps(request.body) for request in fake.questions]


def test_there_are_eight_and_more() -> None:
    assert len(CONFIGS) >= 8


@every_config
def test_an_editor_finds_the_schema(config: Path) -> None:
    first, second, third = config.read_text(encoding="utf-8").splitlines()[:3]
    assert first == SCHEMA_LINE
    assert (FOLDER / first.rpartition("$schema=")[2]).resolve().is_file()
    assert second == "#"
    assert third.startswith("# "), "says what it is and what it needs"


@every_config
def test_it_validates_without_a_note(config: Path, fakes: FakeProviders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["validate", str(config)]) == 0
    assert capsys.readouterr().out == f"{config}: ok\n"


@every_config
def test_it_is_known_by_its_name(config: Path) -> None:
    assert config.stem in packaged_names()
    found = packaged_config(config.stem)
    assert found
    assert found.samefile(config)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(config, marks=pytest.mark.slow if config.stem == WITH_A_SERVER else (), id=config.stem)
        for config in CONFIGS
        if config.stem != WITH_A_PERSON
    ],
)
def test_it_runs_to_its_end(config: Path, fakes: FakeProviders) -> None:
    require_server(config)
    discussion = yaml.safe_load(config.read_text(encoding="utf-8"))["discussion"]
    if config.stem == "council":  # whoever is asked ranks two answers
        for fake in (fakes.openai, fakes.anthropic, fakes.ollama):
            fake.always('{"why": "It is clear.", "ranking": ["A", "B"]}')
    scripted = [name for name, model in discussion["models"].items() if "pace" in model]

    code = run_command(
        [
            "run",
            config.stem,
            "--out",
            "here",
            "--quiet",
            "--trust",
            *(f"--set=discussion.models.{name}.pace=0" for name in scripted),
        ]
    )

    assert code == 0
    *_, end = told = events(Path("here"))
    assert (end["type"], end["status"]) == ("run_finished", "done")
    spoke = {event["speaker"] for event in told if event["type"] == "turn_finished"}
    assert spoke >= set(discussion["models"])
    trouble = ("turn_failed", "attempt_failed", "retrying", "warned")
    assert [event for event in told if event["type"] in trouble] == []


def test_the_picture_is_in_the_first_request_of_each(fakes: FakeProviders) -> None:
    assert run_command(["run", "vision", "--quiet"]) == 0
    assert "data:image/png;base64," in question_bodies(fakes.openai)[0]
    assert "image/png" in question_bodies(fakes.gemini)[0]


def test_the_file_and_the_facts_are_in_the_first_requests(fakes: FakeProviders) -> None:
    assert run_command(["run", "code-review", "--quiet"]) == 0
    assert "price_after_discount" in question_bodies(fakes.anthropic)[0]
    assert run_command(["run", "panel", "--quiet"]) == 0
    assert "14 days above 35 degrees" in question_bodies(fakes.gemini)[0]


def test_a_person_takes_part_and_may_leave(fakes: FakeProviders) -> None:
    fakes.ollama.says("What did we forget?")

    done = begin("run", WITH_A_PERSON, "--json").end("Should I learn to sail?\n\nThank you.\n")

    assert done.code == 0, done.err
    said = [(message.get("name"), message["parts"][0]["content"]) for message in json.loads(done.out)["messages"]]
    assert [text for name, text in said if name == "You"] == ["Should I learn to sail?", "Thank you."]
    assert said[3] == ("Sceptic", "What did we forget?")
    assert "Should I learn to sail?" in question_bodies(fakes.anthropic)[0]
    assert "Should I learn to sail?" in question_bodies(fakes.ollama)[0]
