"""What stands recorded is what happens."""

from pathlib import Path

import pytest

from ai_battle.assembly import strategies

from .scenes import SCENES
from .world import record

RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_run_leaves_what_is_recorded(name: str, tmp_path: Path) -> None:
    assert record(SCENES[name], tmp_path) == (RECORDED / f"{name}.txt").read_text()


def test_each_strategy_has_a_record() -> None:
    assert {name.replace("_", "-") for name in strategies.names()} <= set(SCENES)


def test_each_record_is_of_a_run() -> None:
    assert {path.stem for path in RECORDED.iterdir()} == set(SCENES)
