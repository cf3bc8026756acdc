"""Models that help each other: each strategy is one file, and a `ModelClient` like any other."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from ..judging.assessment import Assessment, Context
    from ..judging.detector import StuckDetector
    from ._boost_reply import is_plan
    from ._helping import Helping, HelpLimits, HelpUse
    from ._looks import Judge, OwnOpinion, PeerOpinion, Tested
    from .ladder import Standing
    from .rescue import ModelCollaborationProtocol

_HOME = {
    "_boost_reply": ("is_plan",),
    "_helping": ("HelpLimits", "Helping", "HelpUse"),
    "_looks": ("Judge", "OwnOpinion", "PeerOpinion", "Tested"),
    ".judging.assessment": ("Assessment", "Context"),
    ".judging.detector": ("StuckDetector",),
    "ladder": ("Standing",),
    "rescue": ("ModelCollaborationProtocol",),
}

__all__ = [
    "Assessment",
    "Context",
    "HelpLimits",
    "HelpUse",
    "Helping",
    "Judge",
    "ModelCollaborationProtocol",
    "OwnOpinion",
    "PeerOpinion",
    "Standing",
    "StuckDetector",
    "Tested",
    "is_plan",
]

__getattr__ = names_of(__name__, _HOME)
