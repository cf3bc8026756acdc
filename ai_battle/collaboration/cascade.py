"""Cascade: models in order, the cheapest first; each answers only when the one before it is stuck."""

from collections.abc import Sequence

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import StuckFound
from ._drafts import Draft
from ._helping import Helping, Turn
from ._polling import ANOTHER
from ._seeing import Case
from ._stuck.detector import StuckDetector
from ._trying import Judges, Tried
from .takeover import in_its_place

MEASURED = (
    "GSM8K, Qwen2-7B, Llama-3.1-8B and Claude 3.5 Sonnet, 809 recorded answers: 88.8 % are right with 12 % asked of "
    "the second model and 4.8 % of the third; alone they have 81.0, 83.4 and 96.7 %"
)


class Cascade(ModelClient):
    """`primary`, then `models` in their order; the last one's answer is taken as it is.

    Models that fail are passed over. Where none but stuck ones answer, the best answer stands.
    """

    def __init__(
        self,
        primary: ModelClient,
        models: Sequence[ModelClient],
        detector: Judges | None = None,
        helping: Helping | None = None,
    ) -> None:
        if not models:
            raise ConfigError("cascade takes one model or more beside the primary: 'models', or 'secondary'.")
        self.primary = primary
        self.models = tuple(models)
        self.detector = detector or StuckDetector()
        self.helping = helping or Helping()

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        turn = Turn("cascade", self.helping, emit)
        best = self._judged(request, await turn.draft(self.primary, request))
        for attempt, model in enumerate(self.models, 1):
            if not best.judged.stuck:
                break
            await turn.emit(_stuck(best, attempt))
            best = await self._next(turn, request, best, model)
        return await turn.accept(best.draft)

    async def aclose(self) -> None:
        for client in (self.primary, *self.models):
            await client.aclose()

    async def _next(self, turn: Turn, request: ModelRequest, best: Tried, model: ModelClient) -> Tried:
        """The better of the best so far and the next model's answer; of equals, and of two dear ones, the latter."""
        reason = best.judged.reason
        asked = in_its_place(Case(request, best.draft.response, reason), turn.helping.sees)
        draft = await turn.ask(model, asked, reason)
        if not draft:
            return best
        tried = self._judged(request, draft)
        trusted = model is self.models[-1] and not tried.judged.at_once
        if best.rank > tried.rank and not trusted:
            await turn.drop(draft, tried.judged.reason or ANOTHER)
            return best
        await turn.drop(best.draft, reason)
        return tried

    def _judged(self, request: ModelRequest, draft: Draft) -> Tried:
        return Tried(draft, self.detector.assess_response(request, draft.response))


def _stuck(tried: Tried, attempt: int) -> StuckFound:
    judged = tried.judged
    return StuckFound(judged.quality, judged.gain, judged.reason, judged.signals, attempt)


def create(
    primary: ModelClient,
    secondary: ModelClient | None = None,
    *,
    models: Sequence[ModelClient] = (),
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    """`secondary` comes after `models`, as the dearest."""
    return Cascade(primary, [*models, *([secondary] if secondary else [])], stuck_detector, helping)
