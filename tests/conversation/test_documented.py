"""The page about the run directory says what the journal has."""

from pathlib import Path
from typing import get_args

from ai_battle.conversation import records
from ai_battle.core.events import DELTAS, Event

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "run-directory.md"


def test_the_page_lists_every_event_with_its_fields() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for kind in get_args(Event):
        if kind not in DELTAS:
            name, fields = records.layout(kind)
            assert f"| `{name}` | {', '.join(f'`{field}`' for field in fields)} |" in rows
