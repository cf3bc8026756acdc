"""Rescue: the helper advises, the small model tries again, and the best of its attempts is the answer."""

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..judging.detector import StuckDetector
from ._examining import Judges
from ._helping import Helping
from ._paired import Pair, Paired
from ._prompts import filled, marked
from ._seeing import advising, with_note
from ._trying import Trying

DRAFTS_ALONE = True
"""The small model's own answer comes first, and nothing beside it: it may be read before it is judged."""
MEASURED = ""


class ModelCollaborationProtocol(ModelClient):
    """`primary_model`, advised by `secondary_model` where `stuck_detector` finds its answers poor.

    The small model tries `max_retries` times on its own, then once more with the advice; an answer that fails a hard
    check gets the advice at once. What the helper says is never the answer itself.
    """

    def __init__(
        self,
        primary_model: ModelClient,
        secondary_model: ModelClient,
        stuck_detector: Judges,
        helping: Helping | None = None,
    ) -> None:
        self._paired = Paired(Pair.of(primary_model, secondary_model, stuck_detector, helping), "rescue", advise)

    @property
    def primary_model(self) -> ModelClient:
        return self._paired.pair.primary

    @property
    def secondary_model(self) -> ModelClient:
        return self._paired.pair.secondary

    @property
    def stuck_detector(self) -> Judges:
        return self._paired.pair.detector

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self._paired.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self._paired.complete(request, emit)

    async def aclose(self) -> None:
        await self._paired.aclose()


async def advise(own: Trying, helper: ModelClient) -> ModelResponse:
    """The best attempt, after one more that is made with the helper's advice."""
    await try_advised(own, helper, "advise")
    return await own.accept()


async def try_advised(own: Trying, helper: ModelClient, prompt: str) -> bool:
    """One more attempt, with what the helper says to the packaged `prompt`; False where it says nothing of use."""
    advice = await own.turn.ask(helper, advising(prompt, own.case, own.turn.helping.sees), own.case.reason)
    if advice:
        await own.again(with_note(own.request, filled("advised", advice=marked("advice", advice.text))))
    return bool(advice)


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    return ModelCollaborationProtocol(primary, secondary, stuck_detector or StuckDetector(), helping)
