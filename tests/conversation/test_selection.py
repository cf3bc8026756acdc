"""Who speaks next, from what a model says."""

import json
from pathlib import Path

from ai_battle.conversation.recognising import recognised

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/selector_answers.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_at_least_95_of_100_untidy_selector_answers_are_understood() -> None:
    found = [(answer, recognised(answer["said"], answer["candidates"])) for answer in ANSWERS]
    wrong = [(answer["said"], got) for answer, got in found if (got[0] if got else None) != answer["right"]]
    fallbacks = sum(got is None for _, got in found)

    print(f"{len(found)} answers, {len(wrong)} wrong, {fallbacks} fallbacks")
    assert len(found) >= 100
    assert len(wrong) <= 0.05 * len(found), wrong
    assert fallbacks <= 0.05 * len(found)
