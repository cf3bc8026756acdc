"""What is said of takeover is counted from recorded answers, and can be counted again."""

import gzip
import json
import os
from pathlib import Path

import pytest

from ai_battle.core.errors import ConfigError
from research import cutting
from research.records import read_pairs
from research.takeover import Row, main, row

CORPUS = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "cascade"
TOOL = {
    "name": "factorial",
    "description": "The factorial of a number.",
    "parameters": {"type": "dict", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
}
RIGHT, WRONG = "[factorial(number=5)]", "I'm sorry, I can't. I'm sorry, I can't. " * 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four answers: three fit, of which one is wrong all the same, and one goes round in circles."""
    answers = [(RIGHT, True, True), (RIGHT, True, True), (RIGHT, False, True), (WRONG, False, True)]
    with gzip.open(tmp_path / "bfcl.small.large.jsonl.gz", "wt", encoding="utf-8") as file:
        for response, small, large in answers:
            record = {
                "prompt": "What is the factorial of 5?",
                "tools": [TOOL],
                "small_response": response,
                "small_correct": small,
                "large_correct": large,
            }
            file.write(f"{json.dumps(record)}\n")
    return tmp_path


def test_the_large_models_answer_is_served_where_the_small_one_is_stuck(folder: Path) -> None:
    [pair] = pairs = read_pairs(folder)
    found = row(pair, pairs)
    assert found == Row("bfcl.small.large", small=0.5, large=1.0, helped=0.25, served=0.75)
    assert found.random == 0.625


def test_each_pair_is_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(folder)])
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split() == ["pair", "small", "large", "helped", "served", "random"]
    assert line.split() == ["bfcl.small.large", "0.500", "1.000", "0.250", "0.750", "0.625"]


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_a_call_without_a_folder_is_told(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match="One argument is needed"):
        main(arguments)


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
def test_takeover_serves_better_answers_than_chance_would() -> None:
    """On GSM8K at the defaults, with weights that have seen no answer of the small model."""
    pairs = read_pairs(CORPUS)
    for pair in (each for each in pairs if each.dataset == "gsm8k"):
        found = row(pair, pairs)
        assert found.helped <= 0.4
        assert found.served >= found.random + 0.02


def test_what_reading_along_saves_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer that goes round in circles is given up long before its end, the others are read."""
    [pair] = read_pairs(folder)
    found = cutting.row(pair)
    assert (found.wrong_cut, found.wrong, found.right_cut, found.right) == (1, 2, 0, 2)
    assert 20 < found.saved < len(WRONG) / 3.6

    cutting.main([str(folder)])
    assert capsys.readouterr().out.splitlines()[1].split()[:7] == [
        "bfcl.small.large",
        *["1", "of", "2", "0", "of", "2"],
    ]
