"""A setting with lessons beside one without: what they are worth."""

from pathlib import Path

from ai_battle.evidence.store import NAME

from .suites import play_suite, rows, suite

SMALL = {
    "type": "scripted/student",
    "when": [{"match": "(?s)Below are earlier requests", "say": "It is 7."}, {"match": "", "say": "I do not know."}],
}
LARGE = {"type": "scripted/large", "when": [{"match": "", "say": "It is 7."}]}
PAIR = {"model": SMALL, "secondary": LARGE, "strategy": "takeover", "max_retries": 1}


def test_a_setting_with_lessons_needs_less_help_for_as_many_right_answers(tmp_path: Path) -> None:
    """They are kept with the results, so no other benchmark knows them."""
    prompts = [f"How many sides has the wooden wheel of cart number {n}?" for n in range(20)]
    rows(tmp_path / "sums.jsonl", ({"id": p[-4:], "prompt": p, "reference": "7"} for p in prompts))
    written = suite(
        tmp_path,
        {"name": "pair", **PAIR},
        {"name": "taught", **PAIR, "lessons": {"from": "runs", "seed": 1}},
        concurrency=1,
    )
    _, samples = play_suite(tmp_path, written)

    of = {name: [sample for key, sample in samples.items() if key.setting == name] for name in ("pair", "taught")}
    assert [sum(sample.score.value or 0 for sample in some) for some in of.values()] == [20, 20]
    helped = {name: sum(sample.helped for sample in some) for name, some in of.items()}
    assert helped["pair"] == 20
    assert helped["taught"] < 8
    assert (tmp_path / "out" / NAME).is_file()
