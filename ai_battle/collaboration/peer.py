"""Peer: a second small model answers too; if the two disagree, the large one is asked."""

from collections.abc import Sequence

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.traits import CalledModel, StrategyTraits
from ._poll import Doubts, Polling
from ._turn import Helping

TRAITS = StrategyTraits(
    "GSM8K, Mixtral-8x7B with GPT-4 beside each of seven other local models, 803 recorded answers: disagreement and "
    "the detector find wrong answers with an AUROC of .93 to .96, and 80 % of the large model's advantage takes "
    "23 to 25 % large calls",
    models={
        "secondary": CalledModel("where the two differ", "unknown"),
        "peers": CalledModel("in each turn", "each turn", "peer"),
    },
    sends_request_only=True,
)


def create(
    primary: ModelClient,
    secondary: ModelClient | None = None,
    *,
    peers: Sequence[ModelClient] = (),
    stuck_detector: Doubts | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    if len(peers) != 1:
        raise ConfigError(f"peer takes one model in 'peers', not {len(peers)}; for several there is council.", "peers")
    return Polling("peer", (primary, secondary), peers, stuck_detector, helping)
