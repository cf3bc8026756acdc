"""`ai-battle lessons` shows what was taught, deletes it, and writes it as data to train on."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import validate

from ai_battle.cli import commands
from ai_battle.core.errors import ConfigError
from ai_battle.evidence.lessons import keep_lesson
from ai_battle.evidence.store import EvidenceStore
from ai_battle.evidence.trials import ShadowTrial, keep_trial

PAIR = "ollama/phi4 + openai/gpt-4o (takeover)"
TALK = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": {"type": "string"}},
        "additionalProperties": False,
    },
}


def shape(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*fields], "properties": fields, "additionalProperties": False}


SHAPES = {
    ("sft", "openai"): shape(messages=TALK),
    ("sft", "trl"): shape(messages=TALK),
    ("dpo", "openai"): shape(input=shape(messages=TALK), preferred_output=TALK, non_preferred_output=TALK),
    ("dpo", "trl"): shape(prompt=TALK, chosen=TALK, rejected=TALK),
}
"""See https://platform.openai.com/docs/guides/fine-tuning and https://huggingface.co/docs/trl/dataset_formats."""


def lessons(folder: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(commands, ["lessons", *arguments, "--state", str(folder)])
    if isinstance(result.exception, ConfigError):
        raise result.exception
    return result


@pytest.fixture
def lessons_folder(tmp_path: Path) -> Path:
    with closing(EvidenceStore(tmp_path)) as store:
        keep_lesson(store, PAIR, "Why is the sky blue?\x1b[2J", "Blue light is scattered most.", "the model can't say")
        for number in range(120):
            outcome: Any = ("win", "tie", "loss")[number % 3]
            trial = ShadowTrial(outcome, False, 0.1, "chat", f"What is {number // 2} + 1?", "small says", "large says")
            keep_trial(store, PAIR, str(number), trial)
    return tmp_path


def test_lessons_are_listed_shown_and_deleted(lessons_folder: Path) -> None:
    (lesson,) = json.loads(lessons(lessons_folder, "list", "--json").output)[PAIR]
    listed, shown = lessons(lessons_folder, "list").output, lessons(lessons_folder, "show", lesson["key"]).output
    assert "Why is the sky blue?" in listed
    assert "not shown yet" in listed
    assert "Blue light is scattered most.\n\n(At first: the model can't say)" in shown
    assert "\x1b" not in listed + shown

    with pytest.raises(ConfigError, match="There is no lesson 'abc'"):
        lessons(lessons_folder, "delete", "abc")
    with pytest.raises(ConfigError, match="Say which lessons"):
        lessons(lessons_folder, "delete")
    assert lessons(lessons_folder, "delete", lesson["key"]).output == "Deleted: 1\n"
    assert "There are no lessons" in lessons(lessons_folder, "list").output


@pytest.mark.parametrize(("wanted", "reader"), SHAPES)
def test_what_was_taught_is_written_for_a_trainer(lessons_folder: Path, wanted: str, reader: str) -> None:
    """Each request once, and the same of them for validation each time."""
    out = lessons_folder / "out"
    for _ in range(2):
        lessons(lessons_folder, "export", "--format", wanted, "--for", reader, "-o", str(out))
    files = [(out / f"{name}.jsonl").read_text().splitlines() for name in ("train", "validation")]
    documents = [json.loads(line) for lines in files for line in lines]
    for document in documents:
        validate(document, SHAPES[wanted, reader])

    prompts = [json.dumps(next(iter(document.values()))) for document in documents]
    assert len(set(prompts)) == len(prompts)
    assert 0 < len(files[1]) < len(files[0])
    lost, won = ({number // 2 for number in range(120) if number % 3 == kind} for kind in (2, 0))
    assert len(documents) == {"sft": len(lost) + 1, "dpo": len(lost | won)}[wanted]


def test_trl_takes_what_is_written_for_it(lessons_folder: Path) -> None:
    trl = pytest.importorskip("trl", reason="needs the package trl")
    lessons(lessons_folder, "export", "--format", "dpo", "-o", str(lessons_folder / "out"))
    for line in (lessons_folder / "out" / "train.jsonl").read_text().splitlines():
        assert trl.data_utils.is_conversational(json.loads(line))


def test_a_folder_without_anything_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing is known of any pair"):
        lessons(tmp_path, "export", "--format", "sft", "-o", str(tmp_path / "out"))
