"""Text that goes round in circles."""

import re

LONGEST = 20_000
"""Characters of an answer that are looked at, from its end."""

_TAIL = 1_600
_PERIODS = 400
_LEAST = 60
_WORD = re.compile(r"\w+")


def looping_tail(text: str, least: int = _LEAST) -> int:
    """The length of the block that a text ends in three times or more, `least` characters in all; 0: it does not."""
    tail = text[-_TAIL:].rstrip()
    if len(tail) < least:
        return 0
    end = tail[-(least * 2 // 3) :]  # of what is said three times, this much stands one period earlier too
    place = first = len(tail) - len(end)
    farthest = max(0, first - min(_PERIODS, len(tail) // 3))
    while (place := tail.rfind(end, farthest, place + len(end) - 1)) >= 0:
        period = first - place
        if tail.endswith(tail[-period:] * max(3, -(-least // period))):
            return period if _says_something(tail[-period:]) else 0
    return 0


def four_word_repetition(text: str) -> float:
    """The share of four-word runs that stood in the text before; 0 for texts too short to tell."""
    said = _WORD.findall(text[-LONGEST:].casefold())
    runs = len(said) - 3
    if runs < 16:
        return 0.0
    return 1 - len(set(zip(said, said[1:], said[2:], said[3:], strict=False))) / runs


def _says_something(block: str) -> bool:
    """Lines, dots and blanks are drawn on purpose."""
    return any(character.isalnum() for character in block)
