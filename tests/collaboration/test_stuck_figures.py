"""The figures that the documentation states, held on the answers that lie here, and on all of them where they are."""

import gzip
import json
import os
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.judging.measures import mean
from ai_battle.judging.weights import FILE, Weights, read, shipped_weights
from research import detector as figures
from research import learn
from research.records import Pair, read_pair, read_pairs

SAMPLE = Path(__file__).parent / "data" / "routellm"
RECORDED = Path(__file__).parents[2] / "configs" / "benchmarks" / "data"
CORPUS = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "cascade"
RANDOM_APGR, PUBLISHED_APGR, PUBLISHED_CPT80 = 0.5, 0.622, 0.63
needs_corpus = pytest.mark.skipif(
    not (CORPUS / "answers.gsm8k.jsonl.gz").is_file(), reason="AI_BATTLE_CORPORA names no folder with cascade/"
)


@cache
def sample() -> Pair:
    return read_pair(RECORDED / "gsm8k.mixtral-8x7b.gpt-4-1106.jsonl.gz")


@cache
def unseen_weights() -> Weights:
    """Weights that have seen no answer of the small model."""
    return read((SAMPLE / "weights-without-mixtral-8x7b.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_without_a_label_of_its_model_the_detector_beats_the_best_published_router() -> None:
    found = figures.row("", sample(), figures.by_weights(sample(), unseen_weights()))
    assert found.apgr >= 0.73 > PUBLISHED_APGR
    assert found.cpt80 <= 0.46 < PUBLISHED_CPT80
    assert found.auroc >= 0.78


@pytest.mark.slow
def test_calibrated_on_its_own_labels_it_needs_a_third_of_the_calls() -> None:
    """Each answer is judged by what the nine tenths without it tell."""
    found = figures.row("", sample(), figures.calibrated_scores(sample(), unseen_weights()))
    assert found.apgr >= 0.82
    assert found.cpt80 <= 0.34
    assert found.error <= 0.07


def test_at_the_defaults_not_more_than_four_answers_in_ten_get_help() -> None:
    assert figures.row("", sample(), figures.by_weights(sample(), shipped_weights())).help_rate <= 0.4


def test_right_answers_are_left_alone() -> None:
    """At once at most one in a hundred; at the defaults one in ten of a model, one in twenty everyday ones."""
    recorded, everyday = figures.unhelped_rows([sample()])
    assert max(*recorded.at_once.values(), *everyday.at_once.values()) <= 0.01
    assert recorded.stuck <= 0.1
    assert everyday.stuck <= 0.05


def test_no_right_answer_is_cut_short_while_it_streams() -> None:
    line = list(figures.cuts([sample()]))[-1]
    assert line.split()[1] == "0.0000"


def test_what_is_shipped_says_what_it_was_learned_on_and_nothing_without_a_licence() -> None:
    text = resources.files("ai_battle.judging").joinpath(FILE).read_text(encoding="utf-8")
    assert "bfcl" not in text
    assert "Apache-2.0" in text


def test_a_folder_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no files"):
        read_pairs(tmp_path)


@needs_corpus
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_figures_of_the_detector_alone() -> None:
    pairs = read_pairs(CORPUS)
    rows = {
        pair: figures.row(pair.name, pair, figures.by_weights(pair, figures.weights_without(pair, pairs)))
        for pair in pairs
    }
    least = {"math": 0.775, "tool": 0.81, "mcq": 0.73, "code": 0.79}
    for family, wanted in least.items():
        assert mean([row.auroc for pair, row in rows.items() if pair.family == family]) >= wanted, family
    for pair, row in rows.items():
        assert pair.dataset != "gsm8k" or row.help_rate <= 0.4, row
    assert learn.shipped_file(CORPUS) == resources.files("ai_battle.judging").joinpath(FILE).read_text(encoding="utf-8")


ROOM = {
    "name": "room.book",
    "parameters": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "seats": {"type": "number"}, "days": {"type": "array"}},
        "required": ["name", "seats"],
    },
}
WANTED = {"ground_truth": [{"room.book": {"name": ["Oak", "oak room"], "seats": [4.0], "days": ["", ["Monday"]]}}]}


@pytest.mark.parametrize(
    ("answer", "wanted", "recorded", "label"),
    [
        ("[room.book(name='Oak', seats=4)]", WANTED, False, 1.0),
        ("[{'room.book': {'name': 'Oak-Room', 'seats': 4, 'days': ['monday']}}]", WANTED, False, 1.0),
        ('{"name": "room.book", "arguments": {"name": "Oak", "seats": 4, "days": []}}', WANTED, False, 1.0),
        ("[room.book(name='Oak', seats=5)]", WANTED, True, 0.0),
        ("[room.book(name='Oak', seats=True)]", WANTED, True, 0.0),
        ("[room.book(name='Oak', seats=4, days=['Friday'])]", WANTED, True, 0.0),
        ("[room.book(name='Oak', seats=4), room.book(name='Oak', seats=4)]", WANTED, True, 0.0),
        ("I have booked the Oak for four.", WANTED, True, 0.0),
        ("[room.book(name='Oak', seats=4)]", None, True, 0.0),
        ("No tool of mine tells the weather.", None, True, 1.0),
        ("[tell_weather()]", None, False, 0.0),
    ],
)
def test_a_call_is_right_that_is_read_and_wanted(
    tmp_path: Path, answer: str, wanted: object, recorded: bool, label: float
) -> None:
    row = {"prompt": "Book the Oak for 4.", "tools": [ROOM], "reference": wanted, "category": wanted or "relevance"}
    for model in ("small", "large"):
        row |= {f"{model}_response": answer, f"{model}_correct": recorded}
    with gzip.open(tmp_path / "bfcl.one.other.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.write(json.dumps(row))

    [pair] = read_pairs(tmp_path)

    assert (pair.small, pair.large) == ([label], [label])
