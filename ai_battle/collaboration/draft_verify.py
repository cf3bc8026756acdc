"""Draft and verify: the helper reads a doubtful answer and either says ACCEPT or briefly states the correction."""

import re

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.traits import CalledModel, StrategyTraits
from ._attempts import Advice, HelpedModel
from ._checks import Judges
from ._turn import Helping

MAX_TOKENS = 200
TRAITS = StrategyTraits(models={"secondary": CalledModel(max_tokens=MAX_TOKENS)}, drafts_alone=True)
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


def correction(reply: str) -> str:
    """Returns a verifier's correction; empty if its first words or its last line accept without reserve."""
    first, *_, last = [line.strip(_DECORATION) for line in reply.strip().splitlines()] * 2 or ["", ""]
    opening, closing = _VERDICT.match(first), _VERDICT.match(last)
    accepted = (opening and not _RESERVES.search(reply)) or (closing and not closing["more"].strip(" .!*_`\"'"))
    return "" if accepted else _HEADING.sub("", reply, count=1).strip()


def create(
    primary: ModelClient,
    secondary: ModelClient,
    *,
    stuck_detector: Judges | None = None,
    helping: Helping | None = None,
    max_tokens: int = MAX_TOKENS,
) -> ModelClient:
    """Returns the helped model; `max_tokens` limits the helper's reply."""
    if max_tokens < 1:
        raise ConfigError(f"max_tokens of draft_verify is 1 or more, not {max_tokens!r}.", "max_tokens")
    verification = Advice("correction_request", "correction", "correction", max_tokens, correction)
    return HelpedModel("draft_verify", primary, secondary, (verification,), stuck_detector, helping)
