"""Vote: one model answers several times; what it says most is served, and where it wavers the large one is asked."""

from dataclasses import replace

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import Emit, Warned, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..judging.detector import StuckDetector
from ._drafts import Draft
from ._helping import Helping, Turn
from ._polling import Doubts, Poll
from ._together import Quiet

MEASURED = ""
TEMPERATURE = 0.7


class Vote(ModelClient):
    """`samples` answers of `primary`, each of a call of its own: several providers give one answer to a call.

    The first is asked for as the request says; the others with a temperature above 0 and seeds of their own.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient | None,
        samples: int = 3,
        detector: Doubts | None = None,
        helping: Helping | None = None,
    ) -> None:
        if samples < 2:
            raise ConfigError(
                f"vote takes two samples or more, not {samples}: one answer agrees with itself.", "samples"
            )
        self.primary = primary
        self.secondary = secondary
        self.samples = samples
        self.detector = detector or StuckDetector()
        self.helping = helping or Helping()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        turn = Turn("vote", self.helping, emit)
        poll = Poll(turn, request, self.detector)
        others = (self._another(turn, varied(request, number)) for number in range(1, self.samples))
        await poll.hear(poll.own(self.primary), *others)
        await poll.hear_again(self.primary)
        return await poll.decide(self.secondary)

    async def aclose(self) -> None:
        await self.primary.aclose()
        if self.secondary:
            await self.secondary.aclose()

    async def _another(self, turn: Turn, request: ModelRequest) -> Draft | None:
        """One more sample; without it, the others vote."""
        try:
            return await turn.draft(Quiet(self.primary), request)
        except ProviderError as error:
            await turn.emit(Warned(f"A sample failed, so the others vote without it: {error}"))
            return None


def varied(request: ModelRequest, number: int) -> ModelRequest:
    """The request for one more sample, the `number`th beside the first."""
    temperature = request.options.get("temperature") or TEMPERATURE
    seed = request.options.get("seed", 0) + number
    return replace(request, options={**request.options, "temperature": temperature, "seed": seed})


def create(
    primary: ModelClient,
    secondary: ModelClient | None = None,
    *,
    samples: int = 3,
    stuck_detector: Doubts | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    return Vote(primary, secondary, samples, stuck_detector, helping)
