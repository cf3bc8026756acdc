"""Draft and verify: the helper reads a doubtful answer and says ACCEPT, or in few words what is right instead."""

import re
from functools import partial

from ..core.client import ModelClient
from ..core.errors import ConfigError
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
MAX_TOKENS = 200
_VERDICT = re.compile(
    r"(?:(?:my |final )?(?:verdict|decision|answer|result)[\s*_`]*[:=-][\s*_`\"']*)?accept(?:ed)?\b(?P<more>.*)",
    re.IGNORECASE,
)
_RESERVES = re.compile(
    r"\b(?:but|except|however|although|though|unless|once|if|with (?:an?|one|the)|wrong|incorrect|instead|should"
    r"|corrections?)\b",
    re.IGNORECASE,
)
_DECORATION = " \t\r*_`\"'#>-"
_HEADING = re.compile(r"\A[\s*_#]*correction[\s*_]*:[\s*_]*", re.IGNORECASE)


async def verify(own: Trying, helper: ModelClient, max_tokens: int = MAX_TOKENS) -> ModelResponse:
    """The draft where the helper accepts it; else one more attempt, with the correction."""
    asked = advising("verify", own.case, own.turn.helping.sees, max_tokens=max_tokens)
    verdict = await own.turn.ask(helper, asked, own.case.reason)
    if verdict and (right := correction(verdict.text)):
        if verdict.response.stop == "length":
            await own.turn.failed(f"its correction was cut off after {max_tokens} tokens")
        else:
            said = marked("correction", right)
            await own.again(with_note(own.request, filled("corrected", attempt=told(own.case), advice=said)))
    return await own.accept()


def correction(said: str) -> str:
    """What a verifier corrects; empty where it accepts: in its first words without reserve, or in its last line."""
    first, *_, last = [line.strip(_DECORATION) for line in said.strip().splitlines()] * 2 or ["", ""]
    opening, closing = _VERDICT.match(first), _VERDICT.match(last)
    accepted = (opening and not _RESERVES.search(said)) or (closing and not closing["more"].strip(" .!*_`\"'"))
    return "" if accepted else _HEADING.sub("", said, count=1).strip()


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
    max_tokens: int = MAX_TOKENS,
) -> ModelClient:
    """`max_tokens` is the most that the helper may write."""
    if max_tokens < 1:
        raise ConfigError(f"max_tokens of draft_verify is 1 or more, not {max_tokens!r}.", "max_tokens")
    return Paired(
        Pair.of(primary, secondary, stuck_detector, helping), "draft_verify", partial(verify, max_tokens=max_tokens)
    )
