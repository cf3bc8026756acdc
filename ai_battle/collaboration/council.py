"""Council: three small models answer; what most say is served, and where they are divided the large one is asked."""

from collections.abc import Sequence

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ._helping import Helping, Turn
from ._polling import Doubts, Poll
from ._stuck.detector import StuckDetector
from ._together import Quiet

MEASURED = (
    "GSM8K, Llama-3.1-8B, gemma-2-9b and Qwen2-7B with GPT-4o, 809 recorded answers: 86 % of the large model's "
    "advantage with 7.2 % large calls; with Phi-3.5-mini in reserve 89 % with 6.3 %"
)


class Council(ModelClient):
    """`primary` and `peers`, best each of another family; `secondary` answers where no answer leads.

    `reserve` are asked one after the other, until an answer is two votes ahead: a second look that costs a small
    model and spares the large one. Answers that can't be compared leave the decision to the detector.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient | None,
        peers: Sequence[ModelClient],
        *,
        reserve: Sequence[ModelClient] = (),
        detector: Doubts | None = None,
        helping: Helping | None = None,
    ) -> None:
        self.primary = primary
        self.secondary = secondary
        self.peers = tuple(peers)
        self.reserve = tuple(reserve)
        self.detector = detector or StuckDetector()
        self.helping = helping or Helping()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        turn = Turn("council", self.helping, emit)
        poll = Poll(turn, request, self.detector)
        await poll.hear(poll.own(self.primary), *(poll.peer(Quiet(peer)) for peer in self.peers))
        for another in self.reserve:
            if not poll.open:
                break
            await poll.hear(poll.peer(another))
        return await poll.decide(self.secondary)

    async def aclose(self) -> None:
        for client in (self.primary, *self.peers, *self.reserve, self.secondary):
            if client:
                await client.aclose()


def create(
    primary: ModelClient,
    secondary: ModelClient | None = None,
    *,
    peers: Sequence[ModelClient] = (),
    models: Sequence[ModelClient] = (),
    stuck_detector: Doubts | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    """`models` are the reserve."""
    if len(peers) < 2:
        raise ConfigError(
            f"council takes two models or more in 'peers', not {len(peers)}; for one there is peer.", "peers"
        )
    return Council(primary, secondary, peers, reserve=models, detector=stuck_detector, helping=helping)
