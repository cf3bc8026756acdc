"""Strategies by which models help each other: each is one file, and a `ModelClient` like any other."""

from ._checks import Judge, OwnOpinion, PeerOpinion
from ._hedging import Hedge
from ._limits import HelpLimits, HelpUse
from ._prompts import Sees
from ._turn import AnswerCheck, CheckResult, Helping, Turn

__all__ = [
    "AnswerCheck",
    "CheckResult",
    "Hedge",
    "HelpLimits",
    "HelpUse",
    "Helping",
    "Judge",
    "OwnOpinion",
    "PeerOpinion",
    "Sees",
    "Turn",
]
