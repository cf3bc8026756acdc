"""Dialogues that go wrong on purpose, in several languages, and healthy ones: written before any threshold was set."""

import pytest

from research.steering import Dialogue, dialogues

EVERY = dialogues()
JUDGED = [each for each in EVERY if each.fault and each.fault != "short-drift"]
HEALTHY = [each for each in EVERY if not each.fault]


def _id(dialogue: Dialogue) -> str:
    return f"{dialogue.name}-{dialogue.fault or 'healthy'}"


@pytest.mark.parametrize("dialogue", JUDGED, ids=_id)
def test_a_fault_is_named_within_three_turns(dialogue: Dialogue) -> None:
    assert dialogue.fault in dialogue.named


@pytest.mark.parametrize("dialogue", HEALTHY, ids=_id)
def test_in_a_healthy_dialogue_no_fault_is_named(dialogue: Dialogue) -> None:
    assert dialogue.named == set()


@pytest.mark.parametrize("dialogue", [each for each in EVERY if each.fault == "short-drift"], ids=_id)
def test_turns_of_few_words_are_no_evidence_of_drift(dialogue: Dialogue) -> None:
    """Of twenty words a turn, those of a healthy interview keep to its opening no more than those that leave it."""
    assert "drift" not in dialogue.named
