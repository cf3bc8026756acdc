"""Answers that are paid for and are not yet the answer."""

from dataclasses import dataclass, replace

from ..core.client import ModelClient
from ..core.errors import CutShort
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.helping import Role
from ..core.ledger import Budget, request_answer
from ..core.messages import assistant
from ..core.tokens import estimate_text
from ._heard import Heard


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer, and what dropping it wastes: what was helped or dropped inside is left out of `usage` and `calls`.

    `cut` is why it was cut short; its response is then what had come, its usage an estimate. `in_circles`: its calls
    of tools got nowhere, and were ended.
    """

    response: ModelResponse
    usage: Usage
    role: Role = "own"
    cut: str = ""
    saved_tokens: int = 0
    calls: int = 1
    in_circles: bool = False

    @property
    def text(self) -> str:
        return self.response.text


async def drafted(client: ModelClient, request: ModelRequest, heard: Heard, role: Role, budget: Budget) -> Draft:
    """What `client` answers, charged to `budget`, or the beginning of it where a listener has heard enough."""
    try:
        response = await request_answer(client, request, heard, budget)
    except CutShort as cut:
        response = ModelResponse(assistant(cut.text), stop="length", usage=heard.usage)
        return paid(Draft(response, heard.usage, role, str(cut), _saved(request, cut)), heard)
    return paid(Draft(response, response.usage, role), heard)


def paid(draft: Draft, heard: Heard) -> Draft:
    """The draft with what was heard of its cost."""
    return replace(draft, usage=heard.own, calls=heard.calls, in_circles=heard.in_circles)


def _saved(request: ModelRequest, cut: CutShort) -> int:
    """What was left of `max_tokens`; without it, as much again: a guess."""
    came = estimate_text(cut.thinking + cut.text)
    most = request.options.get("max_tokens")
    return max(0, most - came) if isinstance(most, int) else came
