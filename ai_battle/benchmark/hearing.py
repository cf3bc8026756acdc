"""What is heard while a sample is played: what it cost, who helped, and what each model said."""

from collections.abc import Mapping
from typing import Any

from ..core.client import ModelClient
from ..core.events import AttemptFailed, Emit, Event, ModelReplied, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.helping import AnswerChecked, DraftDropped, HelpAsked, StuckFound
from ..core.ledger import Budget, Ledger
from .cache import Cached
from .lanes import InLane
from .sample import Key, Sample


class Heard:
    """A listener for one sample. `small` is the first answer of the model that is helped, `large` the helper's last.

    What the answer takes is charged to `budget`, and what of it, and of scoring it, is really paid to `paid`.
    """

    __slots__ = (
        "_cached",
        "_checked",
        "_helped",
        "_lanes",
        "_reason",
        "_wasted",
        "budget",
        "large",
        "paid",
        "quality",
        "seconds",
        "signals",
        "small",
    )

    def __init__(self) -> None:
        self.small: ModelResponse | None = None
        self.large: ModelResponse | None = None
        self.quality: float | None = None
        self.signals: Mapping[str, float] = {}
        self.seconds = 0.0
        self.budget = Budget()
        self.paid = Budget(ledger=Ledger(paid_only=True))
        self._checked: dict[str, Mapping[str, float]] = {}
        self._wasted = NOTHING_USED
        self._helped = False
        self._reason = ""
        self._lanes: list[InLane] = []
        self._cached: list[Cached] = []

    async def __call__(self, event: Event) -> None:
        if not isinstance(event, TextDelta):
            self._note(event)

    def _note(self, event: Event) -> None:
        match event:
            case ModelReplied(failed=True) | DraftDropped():
                self._wasted += event.usage
            case AnswerChecked() if event.by not in self._checked:
                self._checked[event.by] = event.signals
            case StuckFound() if self.quality is None:
                self.quality, self.signals = event.quality, event.signals
                self._reason = event.reason
            case AttemptFailed():
                for lane in self._lanes:
                    lane.heard(event)
            case HelpAsked() if event.is_help:
                self._helped = True
                self._reason = self._reason or event.reason

    def lane(self, client: InLane) -> InLane:
        self._lanes.append(client)
        return client

    def cached(self, client: Cached) -> Cached:
        self._cached.append(client)
        return client

    def sample(self, key: Key, seconds: float, **rest: Any) -> Sample:
        """Seconds are those of the models: not those in a queue, but those of answers out of the cache."""
        waited = sum([lane.waited for lane in self._lanes])
        saved = sum([cached.saved_seconds for cached in self._cached])
        return Sample(
            *key,
            usage=self.budget.ledger.usage,
            wasted=self._wasted,
            seconds=max(0.0, seconds - waited) + saved,
            helped=self._helped,
            quality=self.quality,
            signals=dict(self.signals)
            | {name: value for each in self._checked.values() for name, value in each.items()},
            reason=self._reason,
            small_answer=self.small.text if self.small else "",
            large_answer=self.large.text if self.large else "",
            spent_usd=self.paid.ledger.known_cost,
            **rest,
        )


class Part(ModelClient):
    """A model of a setting: what it says is noted as that of the small or the large one."""

    def __init__(self, client: ModelClient, heard: Heard, part: str) -> None:
        self._client = client
        self._heard = heard
        self._part = part

    @property
    def offered(self) -> Any:
        return self._client.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        response = await self._client.complete(request, emit)
        if self._part == "small" and self._heard.small is None:
            self._heard.small = response
        elif self._part == "large":
            self._heard.large = response
        return response

    async def aclose(self) -> None:
        await self._client.aclose()
