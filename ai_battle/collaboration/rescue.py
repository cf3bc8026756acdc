"""Rescue: the helper advises, the small model tries again, and its best attempt is the answer."""

from ..core.client import ModelClient
from ..core.traits import StrategyTraits
from ..judging.detector import StuckDetector
from ._attempts import Advice, HelpedModel
from ._checks import Judges
from ._turn import Helping

TRAITS = StrategyTraits(drafts_alone=True, replayed="new")


class ModelCollaborationProtocol(HelpedModel):
    """Lets `secondary_model` advise `primary_model` if `stuck_detector` finds its answers poor.

    The small model tries `max_retries` times on its own, then once more with the advice; an answer that fails a hard
    check gets the advice at once. The helper's words are never the answer itself.
    """

    def __init__(
        self,
        primary_model: ModelClient,
        secondary_model: ModelClient,
        stuck_detector: Judges,
        helping: Helping | None = None,
    ) -> None:
        super().__init__("rescue", primary_model, secondary_model, (Advice(),), stuck_detector, helping)

    @property
    def primary_model(self) -> ModelClient:
        return self.primary

    @property
    def secondary_model(self) -> ModelClient:
        return self.secondary

    @property
    def stuck_detector(self) -> Judges:
        return self.detector


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    return ModelCollaborationProtocol(primary, secondary, stuck_detector or StuckDetector(), helping)
