"""Code that a file names is trusted once for each content: that of the file and that of the code."""

from pathlib import Path

import pytest
import yaml

from tests.scenarios.terminal import terminal

from .conftest import Run

STRATEGY = """\
def create(primary, secondary):
    return secondary
"""
TOOL = '''\
from ai_battle import tool

@tool
async def ring(times: int) -> str:
    """Rings."""
    return "ding " * times
'''
ANN = {"type": "scripted/ann", "script": ["What is it?"]}
BOB = {"type": "scripted/bob", "script": ["A bell."]}
LARGE = {"type": "scripted/large", "script": ["It is a large bell."], "loop": True}
MINE = {"secondary": LARGE, "strategy": "mine"}
TALK = {"discussion": {"turns": 1, "goal": "Talk.", "models": {"Ann": ANN, "Bob": BOB}}}
SUITE = {
    "benchmark": {
        "datasets": [{"path": "tasks.jsonl"}],
        "scorers": ["contains"],
        "settings": [{"name": "pair", "primary": BOB, **MINE}],
    }
}


def with_tools(path: str) -> dict[str, object]:
    return {"discussion": {**TALK["discussion"], "tools": {"paths": [path]}}}


PAIRED = {"discussion": {**TALK["discussion"], "collaboration": {"pairs": [{"primary": "Bob", **MINE}]}}}
CASES = {
    "strategy": ("run", PAIRED, "mine.py", STRATEGY),
    "tool": ("run", with_tools("bell.py"), "bell.py", TOOL),
    "folder of tools": ("run", with_tools("bells"), "bells/bell.py", TOOL),
    "strategy of a benchmark": ("bench run", SUITE, "mine.py", STRATEGY),
}


def write_config(content: object) -> str:
    Path("bells").mkdir()
    Path("tasks.jsonl").write_text('{"prompt": "What is it?", "reference": "large"}\n')
    Path("own.yaml").write_text(yaml.safe_dump(content))
    return "own.yaml"


@pytest.mark.parametrize(("command", "content", "file", "source"), CASES.values(), ids=CASES)
def test_who_changes_the_code_is_asked_again(
    ai_battle: Run, command: str, content: object, file: str, source: str
) -> None:
    own = write_config(content)
    Path(file).write_text(source)
    dry = (*command.split(), own, "--dry-run")

    with terminal(*dry) as you:
        you.read_until("Do you trust it?")
        you.press("y\n")
        assert you.end() == 0
    again = ai_battle(*dry)
    Path("beside.py").write_text("# nobody names it")
    beside = ai_battle(*dry)
    Path(file).write_text(f"{source}\n# and more\n")
    changed = ai_battle(*dry)

    assert (again.code, beside.code, changed.code) == (0, 0, 2)
    assert "runs code of its own" in changed.err
    assert file.partition("/")[0] in changed.err
    assert "--trust" in changed.err


def test_a_strategy_in_a_file_answers_in_a_benchmark(ai_battle: Run) -> None:
    Path("mine.py").write_text(STRATEGY)

    shown = ai_battle("bench", "run", write_config(SUITE), "--trust", "--out", "out")

    assert shown.code == 0
    assert "100.0 %" in shown.out


@pytest.mark.parametrize(
    "section",
    [
        {"server": {"routes": {"pair": {"primary": BOB, "secondary": LARGE, "lessons": {"embeddings": "own.code/x"}}}}},
        {"server": {"routes": {"veiled": {"model": {"type": "gpt-4o", "veil": {"finder": "own.code/x"}}}}}},
        {
            "discussion": {
                **TALK["discussion"],
                "collaboration": {
                    "pairs": [{"primary": "Bob", "secondary": LARGE, "lessons": {"embeddings": "own.code/x"}}]
                },
            }
        },
    ],
    ids=["embeddings of a route", "finder of a route", "embeddings of a pair"],
)
def test_code_cannot_come_in_as_a_finder_or_an_embedding_model(
    ai_battle: Run, monkeypatch: pytest.MonkeyPatch, section: object
) -> None:
    """Nobody is asked to trust it there, so it is refused before it is imported."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("own").mkdir()
    Path("own/__init__.py").write_text("raise SystemExit('it ran')")

    shown = ai_battle("validate", write_config(section))

    assert shown.code == 2
    assert "own.code/x is made by code of your own" in shown.out
