"""Where nothing listens, one sentence says so before the first turn."""

import json
import signal
from pathlib import Path

import pytest
import yaml

from ai_battle.testing import FakeProviders
from tests.scenarios.terminal import begin

from .conftest import Run

CLOSED = "http://127.0.0.1:9"
PROVIDERS = {"ollama": {"base_url": CLOSED}, "openai": {"base_url": f"{CLOSED}/v1", "api_key": "k"}}


def write_config(providers: object, **models: object) -> str:
    file = {"discussion": {"goal": "Talk.", "turns": 1, "models": models}, "providers": providers}
    Path("talk.yaml").write_text(yaml.safe_dump(file))
    return "talk.yaml"


@pytest.mark.parametrize("more", [[], ["--json"], ["--quiet"], ["--set", "discussion.execution.parallel=true"]])
def test_each_address_is_told_once_with_who_needs_it_and_the_way_out(ai_battle: Run, more: list[str]) -> None:
    models = {"Ada": {"type": "ollama/phi4"}, "Bob": {"type": "ollama/gemma3"}, "Eve": {"type": "openai/gpt-4o"}}

    said = ai_battle("run", write_config(PROVIDERS, **models), *more)

    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        f"error: Ada, Bob: ollama at {CLOSED}: nothing listens there (connection refused). Is the base_url of ollama "
        "right? Is Ollama running? Start it with: ollama serve",
        f"Eve: openai at {CLOSED}/v1: nothing listens there (connection refused). Is the base_url of openai right?",
    ]
    assert not Path("runs").exists()


def test_the_variable_is_named_that_the_address_comes_from(ai_battle: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    script = {"type": "scripted/bob", "script": ["Hello."]}

    assert "Is OLLAMA_HOST right?" in ai_battle("run", write_config({}, Ada={"type": "ollama/phi4"}, Bob=script)).err


def test_a_helper_that_is_not_there_is_a_warning(ai_battle: Run) -> None:
    ada = {"type": "scripted/ada", "script": ["Good morning to all of you."]}
    bob = {"type": "scripted/bob", "script": ["The same to you, and a good day."]}
    pairs = "discussion.collaboration.pairs=[{primary: Ada, secondary: openai/gpt-4o}]"

    said = ai_battle("run", write_config(PROVIDERS, Ada=ada, Bob=bob), "--set", pairs)

    assert said.code == 0
    assert said.out.count("Ada.secondary: openai at http://127.0.0.1:9/v1: nothing listens there") == 1


def test_a_run_whose_server_went_away_is_told_so_when_it_is_resumed(ai_battle: Run) -> None:
    with FakeProviders.in_thread() as fakes:
        fakes.ollama.says("Good morning.")
        providers = {"ollama": {"base_url": fakes.ollama.url}}
        bob = {"type": "scripted/bob", "script": [{"fail": "unauthorized"}]}
        run = ai_battle(
            "run", write_config(providers, Ada={"type": "ollama/gemma3:1b"}, Bob=bob), "--out", "run", "--json"
        )
    before = Path("run/journal.jsonl").read_bytes()

    said = ai_battle("resume", "run")

    assert json.loads(run.out)["turns"] == 1
    assert (said.code, said.err.count("Ada: ollama at")) == (1, 1)
    assert Path("run/journal.jsonl").read_bytes() == before


def test_a_server_warns_at_its_start(folder: Path) -> None:
    """A model of two routes is named once."""
    routes = {"a": "ollama/phi4", "b": "openai/gpt-4o", "c": "openai/gpt-4o"}
    file = {"server": {"port": 0, "routes": routes}, "providers": PROVIDERS}
    (folder / "server.yaml").write_text(yaml.safe_dump(file))
    server = begin("serve", "server.yaml")
    warnings = [next(line for line in server.stderr if line.startswith("Warning: ")) for _ in range(2)]
    server.process.send_signal(signal.SIGTERM)
    server.end()

    assert warnings[0].startswith(f"Warning: ollama/phi4: ollama at {CLOSED}: nothing listens there")
    assert warnings[1].startswith(f"Warning: openai/gpt-4o: openai at {CLOSED}/v1: nothing listens there")
