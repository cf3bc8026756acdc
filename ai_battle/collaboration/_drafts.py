"""Answers that are paid for and are not yet the answer."""

from dataclasses import dataclass, replace

from ..core.client import ModelClient
from ..core.errors import CutShort
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.helping import Role
from ..core.messages import assistant
from ..core.tokens import estimate_request, estimate_text
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


async def drafted(client: ModelClient, request: ModelRequest, heard: Heard, role: Role) -> Draft:
    """What `client` answers, or the beginning of it where a listener has heard enough."""
    try:
        response = await client.complete(request, heard)
    except CutShort as cut:
        used = heard.usage if heard.replies else _estimated(request, cut)
        response = ModelResponse(assistant(cut.text), stop="length", usage=used)
        draft = Draft(response, used, role, str(cut), _saved(request, cut))
        return paid(draft, heard)
    return paid(Draft(response, response.usage, role), heard)


def paid(draft: Draft, heard: Heard) -> Draft:
    """The draft with what was heard of its cost; a model that tells nothing is taken at its word."""
    usage, calls = (heard.own, heard.calls) if heard.replies else (draft.usage, draft.calls)
    return replace(draft, usage=usage, calls=calls, in_circles=heard.in_circles)


def _estimated(request: ModelRequest, cut: CutShort) -> Usage:
    return Usage(estimate_request(request), estimate_text(cut.thinking + cut.text))


def _saved(request: ModelRequest, cut: CutShort) -> int:
    """What was left of `max_tokens`; without it, as much again: a guess."""
    came = estimate_text(cut.thinking + cut.text)
    most = request.options.get("max_tokens")
    return max(0, most - came) if isinstance(most, int) else came
