"""Models that help each other: each strategy is one file, and a `ModelClient` like any other."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from ..judging.assessment import Assessment, Context
    from ..judging.detector import StuckDetector
    from ._boost_reply import is_plan
    from ._boost_settings import BoostMissing, BoostSettings, boost_settings
    from ._checks import Judge, OwnOpinion, PeerOpinion, Tested
    from ._hedging import Hedge
    from ._lessons import Lessons
    from ._shadow import Shadow, ShadowTerms
    from ._turn import AnswerCheck, CheckResult, Helping, HelpLimits, HelpUse, Sees, Turn
    from .ladder import LadderState
    from .rescue import ModelCollaborationProtocol

_HOME = {
    "_boost_reply": ("is_plan",),
    "_boost_settings": ("BoostMissing", "BoostSettings", "boost_settings"),
    "_checks": ("Judge", "OwnOpinion", "PeerOpinion", "Tested"),
    "_hedging": ("Hedge",),
    "_lessons": ("Lessons",),
    "_shadow": ("Shadow", "ShadowTerms"),
    "_turn": ("AnswerCheck", "CheckResult", "HelpLimits", "HelpUse", "Helping", "Sees", "Turn"),
    ".judging.assessment": ("Assessment", "Context"),
    ".judging.detector": ("StuckDetector",),
    "ladder": ("LadderState",),
    "rescue": ("ModelCollaborationProtocol",),
}

__all__ = [
    "AnswerCheck",
    "Assessment",
    "BoostMissing",
    "BoostSettings",
    "CheckResult",
    "Context",
    "Hedge",
    "HelpLimits",
    "HelpUse",
    "Helping",
    "Judge",
    "LadderState",
    "Lessons",
    "ModelCollaborationProtocol",
    "OwnOpinion",
    "PeerOpinion",
    "Sees",
    "Shadow",
    "ShadowTerms",
    "StuckDetector",
    "Tested",
    "Turn",
    "boost_settings",
    "is_plan",
]

__getattr__ = names_of(__name__, _HOME)
