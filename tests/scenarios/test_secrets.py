"""Keys and other values from the environment: they reach the provider, and no file, report or error."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_battle.cli import run_command
from ai_battle.conversation.reading import messages
from ai_battle.testing import FakeProviders, fault, reply

from .bodies import TYPES, WIRES, received_requests

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
SECRET = 'sk-company-"z-y-x"'  # no digest of a run has such letters by chance


@dataclass(frozen=True)
class Around:
    """The command line among fake providers, and all that it shows and leaves."""

    fakes: FakeProviders
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: object) -> tuple[int, str]:
        code = run_command(list(map(str, arguments)))
        shown = self.capsys.readouterr()
        return code, shown.out + shown.err

    @property
    def left(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("left/*")))


@pytest.fixture
def around(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Around]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        yield Around(fakes, here, capsys)


def talk(path: str, wire: str = "openai", persona: str = "", **sections: Any) -> str:
    models = {"Ann": {"type": TYPES[wire], "persona": persona}, "Bob": {"type": TYPES[wire]}}
    discussion = {"turns": 2, "mode": "ai-ai", "goal": "Talk.", "models": models, "allow_secrets": ["COMPANY_KEY"]}
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(json.dumps({"discussion": discussion, **sections}))
    return path


def test_a_key_in_the_env_file_beside_the_yaml_is_used_now_and_after_a_resume(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    path = talk("deep/talk.yaml")
    Path("deep/.env").write_text("OPENAI_API_KEY='sk-from-the-file-1'\n")
    around.fakes.openai.says("One.", fault("http_401"), "Two.", "Three.", "Four.")

    failed, told = around.run("run", path, "--out", "left")
    resumed, more = around.run("resume", "left")

    assert (failed, resumed) == (1, 0)
    assert {r.headers["authorization"] for r in around.fakes.openai.questions} == {"Bearer sk-from-the-file-1"}
    assert "sk-from-the-file-1" not in around.left + told + more
    assert [m.text for m in messages(Path("left"))] == ["Talk.", "One.", "Two.", "Three.", "Four."]


@pytest.mark.parametrize("wire", KEYS)
def test_a_key_that_is_not_accepted_is_told_by_its_name(
    around: Around, monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    monkeypatch.setenv(KEYS[wire], "sk-usual-12345")
    getattr(around.fakes, wire).says(fault("http_401"))

    code, told = around.run("run", talk("talk.yaml", wire), "--out", "left")

    assert code == 1
    assert KEYS[wire] in told
    assert "sk-usual-12345" not in around.left + told


@pytest.mark.parametrize("wire", WIRES)
def test_what_came_from_the_environment_is_sent_and_named_in_everything_that_is_left(
    around: Around, monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    """Also where a model repeats it, thinks it, or says one half of it before a fault."""
    monkeypatch.setenv("COMPANY_KEY", SECRET)
    fake = getattr(around.fakes, wire)
    cut = fault("close_mid_stream", reply=reply(f"It is {SECRET}, or so I was told by those who know.", chunks=2))
    fake.says(f"It is {SECRET}.", cut, reply("Hm.", thinking=f"Why {SECRET}?"))
    path = talk("talk.yaml", wire, "Your key is ${COMPANY_KEY}.", established_facts={"key": "${COMPANY_KEY}"})

    code, _ = around.run("run", path, "--out", "left")

    assert code == 0
    first = received_requests(around.fakes, wire)[0]
    assert f"Your key is {SECRET}." in first.system
    assert {path.name for path in Path("left").iterdir()} == {
        "config.yaml",
        "journal.jsonl",
        "report.html",
        "transcript.md",
    }
    assert "z-y-x" not in around.left
    assert around.left.count("${COMPANY_KEY}") > 5


def test_a_key_and_headers_of_the_file_come_from_the_environment(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPANY_KEY", "sk-company-12345")
    section = {"api_key": "${COMPANY_KEY}", "headers": {"x-team": "${COMPANY_KEY}"}}
    path = talk("talk.yaml", providers={"openai": section})

    code, told = around.run("run", path, "--out", "left")

    assert code == 0
    (question, *_) = around.fakes.openai.questions
    assert (question.headers["authorization"], question.headers["x-team"]) == (
        "Bearer sk-company-12345",
        "sk-company-12345",
    )
    assert "sk-company" not in around.left + told


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_a_dry_run_names_it(around: Around, monkeypatch: pytest.MonkeyPatch, how: list[str]) -> None:
    monkeypatch.setenv("COMPANY_KEY", SECRET)

    code, told = around.run("run", talk("talk.yaml", persona="Your key is ${COMPANY_KEY}."), "--dry-run", *how)

    assert code == 0
    assert "Your key is ${COMPANY_KEY}." in told
    assert "z-y-x" not in told


@pytest.mark.parametrize("form", ["md", "html", "jsonl", "openai", "csv"])
def test_exports_name_it(
    around: Around, monkeypatch: pytest.MonkeyPatch, form: str, everything_in: Callable[[Path], str]
) -> None:
    monkeypatch.setenv("COMPANY_KEY", SECRET)
    around.fakes.openai.always(f"It is {SECRET}.")
    around.run("run", talk("talk.yaml", persona="Your key is ${COMPANY_KEY}."), "--out", "left")

    code, told = around.run("export", "left", "--format", form)

    assert code == 0
    assert "It is ${COMPANY_KEY}." in told
    assert "z-y-x" not in told
