"""Takeover: if the small model is stuck, the helper answers this turn in its place, with the real tools."""

from ..core.client import ModelClient
from ..core.traits import StrategyTraits
from ._attempts import HelpedModel, take_over
from ._checks import Judges
from ._hedging import Hedge, HedgedModel
from ._turn import Helping

TRAITS = StrategyTraits(
    "GSM8K, Mixtral-8x7B with GPT-4, 803 recorded answers: 78.3 % are right with 21 % of them taken over, "
    "where the small model alone has 63.9 %, the large one 84.8 %, and taking over at random 68.3 %",
    drafts_alone=True,
    replayed="helper",
)


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
    hedge: Hedge | None = None,
) -> ModelClient:
    if hedge:
        return HedgedModel(primary, secondary, hedge, stuck_detector, helping)
    return HelpedModel("takeover", primary, secondary, (take_over,), stuck_detector, helping)
