"""Vote: one model answers several times; its most frequent answer is served, or the large model's if it wavers."""

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.traits import CalledModel, StrategyTraits
from ._poll import Doubts, Polling
from ._turn import Helping

TRAITS = StrategyTraits(
    models={"secondary": CalledModel("where no answer leads", "unknown")}, samples=3, sends_request_only=True
)


def create(
    primary: ModelClient,
    secondary: ModelClient | None = None,
    *,
    samples: int = TRAITS.samples,
    stuck_detector: Doubts | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    if samples < 2:
        raise ConfigError(f"vote takes two samples or more, not {samples}: one answer agrees with itself.", "samples")
    return Polling("vote", (primary, secondary), (), stuck_detector, helping, samples=samples)
