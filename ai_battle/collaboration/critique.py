"""Critique: the helper criticises, the small model rewrites its answer, and the better of both is served."""

from ..core.client import ModelClient
from ..core.traits import StrategyTraits
from ._attempts import Advice, HelpedModel
from ._checks import Judges
from ._turn import Helping

TRAITS = StrategyTraits(drafts_alone=True)
CRITICISM = Advice("criticism_request", "criticism", "criticism")


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    return HelpedModel("critique", primary, secondary, (CRITICISM,), stuck_detector, helping)
