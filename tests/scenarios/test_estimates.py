"""What was estimated is marked wherever it is shown: an answer broke off before its usage, and was asked for again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.cli import run_command
from ai_battle.testing import FakeProviders, fault


@pytest.fixture
def fakes_that_break(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProviders]:
    with FakeProviders.in_thread() as fakes:
        for name, value in fakes.environment.items():
            monkeypatch.setenv(name, value)
        fakes.openai.says(fault("close_mid_stream"))
        fakes.openai.always("The answer is 4.")
        yield fakes


def test_of_a_discussion(fakes_that_break: FakeProviders, capsys: pytest.CaptureFixture[str]) -> None:
    models = {"Ann": {"type": "gpt-4o"}, "Bob": {"type": "anthropic/claude-sonnet-4-5"}}
    Path("talk.yaml").write_text(json.dumps({"discussion": {"goal": "Talk.", "turns": 1, "models": models}}))
    run_command(["run", "talk.yaml", "--out", "left"])
    run_command(["show", "left", "1"])
    run_command(["show", "left", "2"])
    summary, ann, bob = (line for line in capsys.readouterr().out.splitlines() if " in, " in line)

    assert "≈ " in summary
    assert "≈ " in ann
    assert "≈ " not in bob
    rows = [line for line in Path("left/transcript.md").read_text().splitlines() if line.startswith("| ")]
    assert ["≈ " in row for row in rows] == [False, True, False, True]
    assert "≈ " in Path("left/report.html").read_text()


def test_of_a_benchmark(fakes_that_break: FakeProviders, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sums.jsonl").write_text('{"id": "1", "prompt": "2 + 2?", "reference": "4"}\n')
    settings = [{"name": name, "model": name} for name in ("gpt-4o", "anthropic/claude-sonnet-4-5")]
    suite = {"datasets": [{"path": "sums.jsonl"}], "scorers": ["contains"], "settings": settings}
    Path("suite.yaml").write_text(json.dumps({"benchmark": suite}))
    run_command(["bench", "run", "suite.yaml", "--out", "left"])
    run_command(["bench", "report", "left"])

    rows = [line for line in capsys.readouterr().out.splitlines() if "100.0 %" in line and "$" in line]
    assert max(("gpt" in row, "≈ $" in row) for row in rows) == (True, True)
    assert not any("≈ $" in row for row in rows if "claude" in row)
    assert "≈ $" in Path("left/report.html").read_text()
