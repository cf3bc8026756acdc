"""A result that no tool returned is pointed out before the answer that tells of it."""

from pathlib import Path

import pytest

from ai_battle.core.events import TurnFinished
from ai_battle.core.messages import assistant
from ai_battle.core.tooling import FabricationSuspected
from ai_battle.reporting.exports import export

from .runs import ANN, EVENTS, write_run


@pytest.mark.parametrize("form", ["md", "html"])
async def test_it_stands_before_the_answer_and_is_text(tmp_path: Path, form: str) -> None:
    turn = TurnFinished(1, 1, "ann", assistant("Well.", "ann"), ANN, "gpt-4o", 1.0)
    suspected = FabricationSuspected("I searched <b>the web</b>.")
    told = "".join(export(await write_run(tmp_path, EVENTS[0], suspected, turn), form))
    assert "a result that no tool returned: I searched &lt;b" in told
    assert told.index("no tool returned") < told.index("Well.")
    assert "<b>the web" not in told
