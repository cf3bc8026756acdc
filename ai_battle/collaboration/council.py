"""Council: three small models answer; the majority's answer is served, and without one the large model is asked."""

from collections.abc import Sequence

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.traits import CalledModel, StrategyTraits
from ._poll import Doubts, Polling
from ._turn import Helping

TRAITS = StrategyTraits(
    "GSM8K, Llama-3.1-8B, gemma-2-9b and Qwen2-7B with GPT-4o, 809 recorded answers: 86 % of the large model's "
    "advantage with 7.2 % large calls; with Phi-3.5-mini in reserve 89 % with 6.3 %",
    models={
        "secondary": CalledModel("where no answer leads", "unknown"),
        "peers": CalledModel("in each turn", "each turn", "peer"),
        "models": CalledModel("where no answer leads", "unknown", "peer"),
    },
    sends_request_only=True,
)


def create(
    primary: ModelClient,
    secondary: ModelClient | None = None,
    *,
    peers: Sequence[ModelClient] = (),
    models: Sequence[ModelClient] = (),
    stuck_detector: Doubts | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    """Returns the council; `models` are the reserve."""
    if len(peers) < 2:
        raise ConfigError(
            f"council takes two models or more in 'peers', not {len(peers)}; for one there is peer.", "peers"
        )
    return Polling("council", (primary, secondary), peers, stuck_detector, helping, models)
