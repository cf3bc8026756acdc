"""What a text is about, as a set of stems: fast rather than exact."""

import re
from functools import lru_cache

STEM = 6
_WORD = re.compile(r"[^\W\d_]{3,}")
_NAME_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.:/-]")
_SHORT_FILLERS = frozenset(
    ("the", "and", "for", "are", "was", "his", "her", "how", "she", "you", "all", "any", "can", "has")
)


@lru_cache(maxsize=256)
def stems(text: str) -> frozenset[str]:
    """Words of three letters or more, lower-cased and cut."""
    return frozenset(word[:STEM] for word in _WORD.findall(text.lower())) - _SHORT_FILLERS


@lru_cache(maxsize=256)
def name_stems(name: str) -> frozenset[str]:
    """Those of a name in code: get_weatherReport is about get, weather and report."""
    return stems(_NAME_PARTS.sub(" ", name))


def share(of: frozenset[str], among: frozenset[str]) -> float:
    return len(of & among) / max(1, len(of))
