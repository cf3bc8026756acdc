"""Models that help each other: each strategy is one file, and a `ModelClient` like any other."""

from ._helping import Helping, HelpLimits, Spent
from ._stuck.assessment import Assessment, Context
from ._stuck.detector import StuckDetector
from .rescue import ModelCollaborationProtocol

__all__ = ["Assessment", "Context", "HelpLimits", "Helping", "ModelCollaborationProtocol", "Spent", "StuckDetector"]
