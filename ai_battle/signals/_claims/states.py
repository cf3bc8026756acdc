"""What stands at this moment, and only a tool that is there could have told: the flight is 40 minutes late."""

import re
from collections.abc import Sequence

from .tool_words import Toolbox, stem_of

_DATUM = re.compile(
    r"\d+[.:,]\d+|[$€£] ?\d|#\d+|\b[a-z]{1,2}\d{2,}\b"
    r"|\d ?(?:°|%|k?m\b|kg\b|ms\b|h\b|min|hours?\b|seconds?\b|degrees\b|grad\b|euros?\b|dollars?\b|usd\b|eur\b)"
)
_IS = re.compile(
    r"\b(?:is|are|has|have|reads|costs|stands|trades|departs|arrives|ist|sind|beträgt|est|es|son)\b|'s\b|="
)
_IN_GENERAL = re.compile(
    r"\b(?:about|around|roughly|approximately|usually|typical\w*|average|generally|often|most|each|every|any|per|maximum"
    r"|between|rough|guess|memory|examples?|1[89]\d\d|20\d\d|you|your|i|we|if|when|would|since|not|cannot|probability"
    r"|hypothesis|equation|formula|say|says|said|times|total)\b"
    r"|[*+^\\/\xd7\xf7]| - \d|\w\("
)
_CLOSE = re.compile(r"[,;:] ")


def state_in(said: str, words: Sequence[str], box: Toolbox) -> int:
    """Where it is told; 0 where what is told may be known without a tool."""
    datum = _DATUM.search(said) if box.live else None
    if not datum or not _IS.search(said):
        return 0
    close = _CLOSE.search(said, datum.end())
    if _IN_GENERAL.search(said, 0, close.end() if close else len(said)):
        return 0
    stems = {stem_of(word) for word in words}
    return datum.end() if any(name <= stems for name in box.live) else 0
