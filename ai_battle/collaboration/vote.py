"""Vote: one model answers several times; its most frequent answer is served, or the large model's if it wavers."""

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.traits import CalledModel, StrategyTraits
from ..judging.detector import StuckDetector
from ._attempts import Strategy
from ._checks import another_sample
from ._poll import Answer, Doubts, Poll
from ._turn import Helping, Turn
from ._wrappers import MutedClient

TRAITS = StrategyTraits(
    models={"secondary": CalledModel("where no answer leads", "unknown")}, samples=3, sends_request_only=True
)


class Vote(Strategy):
    """Takes `samples` answers of `primary`, each by a call of its own.

    Several providers give only one answer per call. The first call is the request unchanged; the others have a
    temperature above 0 and seeds of their own.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient | None = None,
        *,
        samples: int = TRAITS.samples,
        stuck_detector: Doubts | None = None,
        helping: Helping | None = None,
    ) -> None:
        if samples < 2:
            raise ConfigError(
                f"vote takes two samples or more, not {samples}: one answer agrees with itself.", "samples"
            )
        super().__init__(primary, secondary, helping=helping)
        self.secondary = secondary
        self.samples = samples
        self.detector = stuck_detector or StuckDetector()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        poll = Poll(Turn("vote", self.helping, emit), request, self.detector)
        others = (self._next_sample(poll.turn, another_sample(request, number)) for number in range(1, self.samples))
        await poll.add(poll.request_own(self.primary), *others)
        await poll.request_own_again(self.primary)
        return await poll.decide(self.secondary)

    async def _next_sample(self, turn: Turn, request: ModelRequest) -> Answer | None:
        """Returns one more sample; if it fails, the others vote without it."""
        try:
            return await turn.request_draft(MutedClient(self.primary), request), None
        except ProviderError as error:
            await turn.emit(Warned(f"A sample failed, so the others vote without it: {error}"))
            return None


create = Vote
