"""Another answer to the same request, to compare one with: of a peer, or one more of the same model."""

from collections.abc import Mapping
from math import log

from ..core.client import ModelClient
from ..core.errors import ProviderError
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import AnswerChecked
from ._agreement import WORTH, Ballot, ballot
from ._drafts import Draft
from ._helping import Found, Turn
from ._polling import ANOTHER, COMPARED, shown
from ._seeing import Case
from ._together import Quiet
from .takeover import in_its_place
from .vote import varied

AGREES, DIFFERS = "opinion_agrees", "opinion_differs"
"""Signals whose value is by how much they shift the logit of failure."""


class _Opinion:
    """Compared are final answers, JSON and calls; a long free text has no second opinion."""

    name = ""

    def __init__(self, client: ModelClient) -> None:
        self.client = Quiet(client)

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Mapping[str, float], ...]:
        mine = ballot(request, response)
        return _shifts(mine) if mine else ()

    async def __call__(self, turn: Turn, request: ModelRequest, response: ModelResponse) -> Found | None:
        mine = ballot(request, response)
        said = await self._answer(turn, request) if mine and turn.may_ask else None
        if mine is None or said is None:
            return None
        theirs = ballot(request, said.response)
        agrees, differs = _shifts(mine)
        signals = agrees if theirs == mine else differs
        return Found(AnswerChecked(self.name, signals, f"it says {shown(theirs)}"))

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        raise NotImplementedError


def _shifts(mine: Ballot) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """The signals of another answer that agrees with this one, and of one that differs."""
    agrees, differs = WORTH[mine.kind]
    return {AGREES: log(agrees)}, {DIFFERS: -log(differs)}


class PeerOpinion(_Opinion):
    """That of `client`, best of another family, which has not seen any attempt: one call, a whole answer."""

    name = "a peer"

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        asked = in_its_place(Case(request), turn.helping.sees)
        return await turn.consult(COMPARED, self.client, asked, "peer")


class OwnOpinion(_Opinion):
    """The same model again, with a temperature above 0 and the `number`th seed: one call, a whole answer."""

    name = "another sample"

    def __init__(self, client: ModelClient, number: int) -> None:
        super().__init__(client)
        self.number = number

    async def _answer(self, turn: Turn, request: ModelRequest) -> Draft | None:
        try:
            draft = await turn.draft(self.client, varied(request, self.number))
        except ProviderError as error:
            await turn.failed(str(error), self.name)
            return None
        await turn.drop(draft, ANOTHER)
        return draft
