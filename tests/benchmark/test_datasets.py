"""Datasets: each format is recognised, and its rows become tasks."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ai_battle.benchmark.loading import dataset, format_of, tasks_of
from ai_battle.benchmark.tasks import Recording, Task
from ai_battle.config.benchmark import DatasetSettings
from ai_battle.core.errors import ConfigError

from .suites import rows

CORPUS = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "cascade"
GSM8K = {"question": "Two and two?", "answer": "2 + 2 = <<2+2=4>>4\n#### 4"}
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def one():\n    '''Gives 1.'''\n",
    "canonical_solution": "    return 1\n",
    "test": "def check(candidate):\n    assert candidate() == 1",
    "entry_point": "one",
}
FUNCTION = {"name": "f", "description": "", "parameters": {"type": "dict", "properties": {"x": {"type": "float"}}}}
BFCL = {"id": "simple_0", "question": [[{"role": "user", "content": "Call f."}]], "function": [FUNCTION]}
RECORDED = {"id": "1", "prompt": "?", "small_response": "a", "small_correct": True, "large_response": "b"}


def read(path: Path, **written: Any) -> list[Task]:
    settings = DatasetSettings(path=path.name, **written)
    return tasks_of(settings, path.parent, dataset(settings, path.parent))


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (GSM8K, "gsm8k"),
        (HUMANEVAL, "humaneval"),
        (BFCL, "bfcl"),
        (RECORDED, "recorded"),
        ({"prompt": "x", "reference": "y"}, "jsonl"),
        ({"question": "x", "answer": "y"}, "jsonl"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_format_is_recognised(tmp_path: Path, row: dict[str, Any], name: str, packed: bool) -> None:
    path = rows(tmp_path / "tasks.jsonl", [row])
    if packed:
        path = tmp_path / "tasks.jsonl.gz"
        path.write_bytes(gzip.compress((tmp_path / "tasks.jsonl").read_bytes()))

    assert format_of(path) == name


def test_plain_rows(tmp_path: Path) -> None:
    """Usual names are found, others can be given; options are shown with their letters."""
    row = {"question": "Which?", "choices": ["red", "blue"], "target": "B", "level": 3}
    (task,) = read(rows(tmp_path / "plain.jsonl", [row]))
    assert (task.id, task.prompt, task.reference) == ("1", "Which?\n(A) red\n(B) blue", "B")
    assert task.extra["level"] == 3

    row = {"q": "How many?", "solution": 4, "no": 17}
    (task,) = read(rows(tmp_path / "named.jsonl", [row]), fields={"prompt": "q", "reference": "solution", "id": "no"})
    assert (task.id, task.prompt, task.reference) == ("17", "How many?", "4")
    with pytest.raises(ConfigError, match="prompt must be the name of a column, or a list of names, not 5"):
        read(tmp_path / "named.jsonl", fields={"prompt": 5})
    with pytest.raises(ConfigError, match="there is no field 'promt' of a task; did you mean 'prompt'"):
        read(tmp_path / "named.jsonl", fields={"promt": "q"})
    with pytest.raises(ConfigError, match=r"named\.jsonl:1: the field 'answer' is missing"):
        read(tmp_path / "named.jsonl", fields={"prompt": "q", "reference": "answer"})


@pytest.mark.parametrize(
    ("row", "fields", "prompt"),
    [
        ({"instruction": "Translate.", "input": "house", "output": "Haus"}, {}, "Translate.\n\nhouse"),
        ({"instruction": "Name a planet.", "input": "", "output": "Mars"}, {}, "Name a planet."),
        ({"context": "Berta is 7.", "question": "How old is Berta?", "answer": 7}, {}, "How old is Berta?"),
        (
            {"context": "Berta is 7.", "question": "How old is Berta?", "answer": 7},
            {"prompt": ["context", "question"]},
            "Berta is 7.\n\nHow old is Berta?",
        ),
    ],
)
def test_a_prompt_may_be_made_of_several_columns(
    tmp_path: Path, row: dict[str, Any], fields: dict[str, Any], prompt: str
) -> None:
    (task,) = read(rows(tmp_path / "tasks.jsonl", [row]), fields=fields)

    assert task.prompt == prompt


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(tmp_path: Path, separator: str) -> None:
    lines = ["id|prompt|reference", 'a|"How ""many""\nare there?"|4', "b|Why?|5", "||", ""]
    (tmp_path / "tasks.csv").write_text("\n".join(lines).replace("|", separator), encoding="utf-8-sig")
    first, second = read(tmp_path / "tasks.csv")

    assert (first.id, first.prompt, first.reference) == ("a", 'How "many"\nare there?', "4")
    assert second.id == "b"


def test_csv_with_a_fault_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("id,prompt\na,x\nb,y,z\n")
    with pytest.raises(ConfigError, match=r"tasks\.csv:3: more fields than the 2 of the first line"):
        read(tmp_path / "tasks.csv")
    (tmp_path / "tasks.csv").write_text("id,prompt\na,x\nb\n")
    with pytest.raises(ConfigError, match=r"tasks\.csv:3: the field 'prompt' is empty"):
        read(tmp_path / "tasks.csv")


def test_gsm8k(tmp_path: Path) -> None:
    (task,) = read(rows(tmp_path / "gsm8k.jsonl", [GSM8K]))
    assert (task.prompt, task.reference, task.extra["scorer"]) == ("Two and two?", "4", "numeric")

    rows(tmp_path / "gsm8k.jsonl", [GSM8K, {"question": "x", "answer": "4"}])
    with pytest.raises(ConfigError, match=r"gsm8k\.jsonl:2: the answer does not end in '#### NUMBER'"):
        read(tmp_path / "gsm8k.jsonl")


def test_humaneval(tmp_path: Path) -> None:
    (task,) = read(rows(tmp_path / "humaneval.jsonl", [HUMANEVAL]))

    assert task.id == "HumanEval/0"
    assert "def one():" in task.prompt
    assert task.tests.endswith("check(one)\n")
    assert task.extra["scorer"] == "python_tests"


def test_bfcl(tmp_path: Path) -> None:
    """The right calls stand in a folder beside it, as its authors publish them, or in the row."""
    path = rows(tmp_path / "bfcl.json", [BFCL])
    with pytest.raises(ConfigError, match=r"bfcl\.json:1: no ground_truth, neither here nor in possible_answer/"):
        read(path)
    (tmp_path / "possible_answer").mkdir()
    rows(tmp_path / "possible_answer" / "bfcl.json", [{"id": "simple_0", "ground_truth": [{"f": {"x": [1.0]}}]}])
    (task,) = read(path)

    assert (task.prompt, json.loads(task.reference)) == ("Call f.", [{"f": {"x": [1.0]}}])
    assert task.tools[0].schema == {"type": "object", "properties": {"x": {"type": "number"}}}
    (task,) = read(rows(tmp_path / "own.json", [{**BFCL, "ground_truth": []}]))
    assert task.reference == "[]"


def test_recorded(tmp_path: Path) -> None:
    (task,) = read(rows(tmp_path / "answers.jsonl", [RECORDED]))
    assert task.recorded == {"small": Recording("a", 1.0), "large": Recording("b", None)}

    rows(tmp_path / "answers.jsonl", [{**RECORDED, "large_correct": "yes"}])
    with pytest.raises(ConfigError, match="large_correct is 'yes'; it has to be true, false, or from 0 to 1"):
        read(tmp_path / "answers.jsonl")


@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade/")
def test_all_recorded_pairs_of_the_corpus_are_read() -> None:
    found = [
        path for path in sorted(CORPUS.glob("*.*.*.jsonl.gz")) if not path.name.startswith(("answers", "intercode"))
    ]

    assert len(found) >= 10
    for path in found:
        assert format_of(path) == "recorded"
        assert len(read(path)) > 20
