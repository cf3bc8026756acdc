"""Text that goes round in circles."""

import re

LONGEST = 20_000
"""Characters of an answer that are looked at, from its end."""

_TAIL = 1_600
_PERIODS = 400
_LEAST = 60
_AGAIN = 3
"""Each item of a list stands in it so often on average where it goes round in circles."""
_LEAST_OFTEN, _OFTEN, _OFTEN_DENSE = 28, 8, 4
"""Characters and times that make a loop of a short block; a script without spaces says more with fewer."""
_WORTH, _FRAME = 4, " \t\r\n.,;:!?-*\"'\u3002"
_TIMES = re.compile(
    r"\b(?:repeat|times|wiederhol|mal|fois|veces|vezes|volte|keer|raz[y]?|kez|kere|defa)|\u0440\u0430\u0437|\u6b21|\u904d|\u56de"
    r"|\u092c\u093e\u0930|\u0645\u0631",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^[ \t]{0,8}(?:[-*+\u2022]|\d{1,3}[.)])[ \t]{1,4}(\S[^\n]{0,400}?)[ \t]*$", re.MULTILINE)
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


def repeats(text: str, prompt: str = "") -> bool:
    """It ends in the same block again and again, or lists the same again and again, and nobody asked for that."""
    tail = f" {' '.join(text[-2 * _TAIL :].split())}"
    if period := looping_tail(tail) or _short_period(tail):
        block = tail[-period:].strip(_FRAME)
        return not is_wanted(block, prompt)
    return _lists_the_same(text, prompt)


def is_wanted(block: str, prompt: str) -> bool:
    """The prompt has this block, and says how often it is to come."""
    return block.casefold() in prompt.casefold() and _TIMES.search(prompt) is not None


def _short_period(tail: str) -> int:
    """The length of a short block that the end repeats often enough to be no play with words."""
    period = looping_tail(tail, _LEAST_OFTEN)
    often = _OFTEN_DENSE if period and not tail[-period:].isascii() else _OFTEN
    return period if period >= _WORTH and tail.endswith(tail[-period:] * often) else 0


def _lists_the_same(text: str, prompt: str) -> bool:
    """Each thing stands in a list several times; answers to a list of questions may be alike."""
    items = [item.casefold().rstrip(".;,") for item in _ITEM.findall(text[-LONGEST:])]
    different = len(set(items))
    return 2 < len(items) >= _AGAIN * different and not _ITEM.search(prompt)


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
