"""Critique: the helper says what is wrong, the small model writes its answer again, and the better one stays."""

from ..core.client import ModelClient
from ..core.exchange import ModelResponse
from ._examining import Judges
from ._helping import Helping
from ._paired import Pair, Paired
from ._prompts import filled, marked
from ._seeing import advising, told, with_note
from ._trying import Trying

DRAFTS_ALONE = True
"""The small model's own answer comes first, and nothing beside it: it may be read before it is judged."""
MEASURED = ""


async def criticise(own: Trying, helper: ModelClient) -> ModelResponse:
    """One more attempt, with the last one and what the helper finds wrong with it."""
    asked = advising("criticise", own.case, own.turn.helping.sees)
    if criticism := await own.turn.ask(helper, asked, own.case.reason):
        said = marked("criticism", criticism.text)
        await own.again(with_note(own.request, filled("criticised", attempt=told(own.case), advice=said)))
    return await own.accept()


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
) -> ModelClient:
    return Paired(Pair.of(primary, secondary, stuck_detector, helping), "critique", criticise)
