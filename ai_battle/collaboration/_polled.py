"""A model and others that answer beside it: what most say is served, and where none leads a large one is asked."""

from dataclasses import dataclass

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ._helping import Helping, Turn
from ._polling import Doubts, Poll
from ._stuck.detector import StuckDetector
from ._together import Quiet


@dataclass(frozen=True, slots=True)
class Voters:
    """`primary` and `peers`, best each of another family; `secondary` answers where no answer leads.

    `reserve` are asked one after the other, until an answer is two votes ahead: a second look that costs a small
    model and spares the large one.
    """

    primary: ModelClient
    secondary: ModelClient | None
    peers: tuple[ModelClient, ...]
    reserve: tuple[ModelClient, ...] = ()

    async def aclose(self) -> None:
        for client in filter(None, (self.primary, *self.peers, *self.reserve, self.secondary)):
            await client.aclose()


class Polled(ModelClient):
    """Without a large model the likeliest of the answers is served where none leads.

    Where answers can't be compared, or nobody else brings one, the detector decides alone.
    """

    def __init__(
        self, voters: Voters, strategy: str, detector: Doubts | None = None, helping: Helping | None = None
    ) -> None:
        self.voters = voters
        self.detector = detector or StuckDetector()
        self.helping = helping or Helping()
        self._strategy = strategy

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        poll = Poll(Turn(self._strategy, self.helping, emit), request, self.detector)
        await poll.hear(poll.own(self.voters.primary), *(poll.peer(Quiet(peer)) for peer in self.voters.peers))
        for another in self.voters.reserve:
            if not poll.open:
                break
            await poll.hear(poll.peer(another))
        await poll.hear_again(self.voters.primary)
        return await poll.decide(self.voters.secondary)

    async def aclose(self) -> None:
        await self.voters.aclose()
