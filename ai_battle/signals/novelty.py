"""How much a contribution adds to what was said before it."""

from collections.abc import Iterable

from .words import content_stems

SHORT = 5


def novelty(text: str, earlier: Iterable[str]) -> float:
    """0: nothing that had not been said; 1: all new. A short text counts as if it had five words of content."""
    said = content_stems(text)
    new = said.difference(*map(content_stems, earlier))
    return len(new) / max(len(said), SHORT)
