"""Handover: a small model works with tools until it is lost; from there on the large one goes on with the same request.

For tools that run elsewhere, so that each step comes as a request of its own: behind the server, and in agents.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import StuckFound
from ..core.traits import CalledModel, StrategyTraits
from ..judging.assessment import steps_of
from ..judging.trajectory import FIRST_TURN, HAND_OVER, failure_probability, why_hand_over
from ..signals.trouble import ToolStep, troubles
from ._attempts import Strategy
from ._prompts import HelpCase, without_tuning
from ._turn import Helping, Turn

TRAITS = StrategyTraits(
    "InterCode's SQL tasks, GPT-3.5 with GPT-4, 620 recorded trajectories: 77.6 % get there with 53 % of the small "
    "model's turns, where the small model alone has 47.3 % and the large one 74.2 %",
    models={"secondary": CalledModel("for the steps after {name} is lost", "unknown")},
    sends_request_only=True,
)
LONGEST = 50
"""Steps of a task that are looked at; each is looked at with all before it."""


class Handover(Strategy):
    """`primary`, and `secondary` for each step after one at which `primary` was lost with more than `above`.

    Which model goes on is read off the request alone, so it is the same for every step of one task.
    """

    def __init__(
        self, primary: ModelClient, secondary: ModelClient, above: float = HAND_OVER, helping: Helping | None = None
    ) -> None:
        super().__init__(primary, secondary, helping=helping)
        if self.helping.sees == "prompt":
            raise ConfigError(
                "handover shows the helper what was done so far: helper_sees is attempt or history.", "helper_sees"
            )
        if not 0 <= above <= 1:
            raise ConfigError(f"above of handover is a probability from 0 to 1, not {above!r}.", "above")
        self.secondary = secondary
        self.above = above

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        case = HelpCase(request)
        prompt = "".join(message.text for message in case.prompt)
        steps = steps_of(request.messages[case.place + 1 :])
        if not (reason := self._why(steps, prompt)):
            return await self.primary.complete(request, emit)
        turn = Turn("handover", self.helping, emit)
        probability = failure_probability(steps, prompt)
        await emit(StuckFound(1 - probability, probability, reason, troubles(steps, prompt)))
        shown = request
        if self.helping.sees != "history":
            shown = replace(request, messages=request.messages[case.place :], system="", extra={})
        answer = await turn.ask(self.secondary, without_tuning(shown), reason)
        return await turn.accept(answer or await turn.request_draft(self.primary, request))

    def _why(self, steps: Sequence[ToolStep], prompt: str) -> str:
        """The reason of the first step that was one too many; empty when there was none."""
        turns = range(FIRST_TURN, min(len(steps), LONGEST) + 1)
        return next(filter(None, (why_hand_over(steps[:turn], prompt, self.above) for turn in turns)), "")


def create(
    primary: ModelClient, secondary: ModelClient, *, above: float = HAND_OVER, helping: Helping | None = None
) -> ModelClient:
    return Handover(primary, secondary, above, helping)
