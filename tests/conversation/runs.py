"""Pieces of runs that several tests need."""

from ai_battle.core.events import TurnFinished
from ai_battle.core.exchange import Usage
from ai_battle.core.messages import assistant


def turn(number: int, speaker: str, text: str, usage: Usage = Usage(10, 5, cost_usd=0.01)) -> TurnFinished:  # noqa: B008
    return TurnFinished(number, (number + 1) // 2, speaker, assistant(text, speaker), usage, "scripted", 0.5)
