"""Strategies with several models, as a discussion's YAML has them."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle import CollaborativeConversationManager


def says(text: str) -> dict[str, Any]:
    return {"type": "scripted/helper", "script": [text], "loop": True}


LARGE = says("They are 18.")
SURE = {"threshold": 0}
"""The detector has no doubts of its own."""
PAIRS: list[tuple[dict[str, Any], str]] = [
    ({**SURE, "strategy": "peer", "peers": [says("#### 20")], "secondary": LARGE}, "They are 18."),
    ({**SURE, "strategy": "peer", "peers": [says("#### 17")], "secondary": LARGE}, "#### 17"),
    ({**SURE, "strategy": "council", "peers": [says("#### 20"), says("#### 20")], "secondary": LARGE}, "#### 20"),
    (
        {**SURE, "strategy": "council", "peers": [says("#### 20"), says("#### 21")], "models": [says("#### 21")]},
        "#### 21",
    ),
    ({**SURE, "strategy": "vote", "samples": 3, "secondary": LARGE}, "#### 17"),
    ({**SURE, "strategy": "cascade", "models": [says("#### 19")], "secondary": LARGE}, "#### 17"),
    ({"strategy": "handover", "secondary": LARGE}, "#### 17"),
    ({"strategy": "minion", "secondary": LARGE, "max_loops": 2}, "#### 17"),
]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"strategy": "peer", "secondary": LARGE}, "one model in 'peers', not 0"),
    ({"strategy": "council", "peers": [says("A")]}, "for one there is peer"),
    ({"strategy": "vote", "samples": 1}, "two samples or more"),
    ({"strategy": "cascade"}, "besides the primary"),
    ({"strategy": "minion", "secondary": LARGE, "max_loops": 1}, "two rounds or more"),
    ({"strategy": "handover"}, "secondary"),
    ({"strategy": "handover", "secondary": LARGE, "helper_sees": "prompt"}, "helper_sees is attempt or history"),
]


def manager(pair: dict[str, Any]) -> CollaborativeConversationManager:
    models = {
        "small": {"type": "scripted/small", "script": ["#### 17"], "loop": True},
        "other": {"type": "scripted/other", "script": ["Fine."], "loop": True},
    }
    discussion = {
        "turns": 1,
        "mode": "no-meta",
        "goal": "How many are 7 and 11?",
        "models": models,
        "collaboration": {"pairs": [{"primary": "small", **pair}]},
    }
    return CollaborativeConversationManager.from_config({"discussion": discussion})


@pytest.mark.parametrize(("pair", "answer"), PAIRS)
async def test_a_pair_of_a_file_with_several_models_answers(
    pair: dict[str, Any], answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = await manager(pair).run_discussion()
    assert [message.text for message in result.messages][1] == answer


@pytest.mark.parametrize(("pair", "problem"), WRONG)
def test_what_makes_no_sense_is_told_before_the_run(
    pair: dict[str, Any], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match=problem) as told:
        manager(pair)
    assert "pairs[0]" in str(told.value)
