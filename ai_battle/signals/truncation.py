"""Text that stops in the middle."""

import re

_TAIL, _END = 300, 6
_OPEN_END = re.compile(r"(?:[,;(\[{=+*/<-]|\b(?:a|an|the|and|or|of|to|with|is|are|was|by|for|in|that|which))$")
"""The longest word has five letters, and the sign before it says whether it is a word: together `_END`."""


def cut_off(text: str) -> bool:
    """It ends in the middle of a sentence, of a code block, of JSON or of a calculation."""
    tail = text[-_TAIL:].rstrip()
    if not tail:
        return False
    return bool(_OPEN_END.search(tail[-_END:])) or _is_open_json(text) or _is_open_block(text)


def _is_open_block(text: str) -> bool:
    """Code begins and never ends; JSON whose last brace is there may do without its fence."""
    return text.count("```") % 2 == 1 and not text.rstrip().endswith(("}", "]", "```"))


def _is_open_json(text: str) -> bool:
    """It begins as an object or a list and never ends."""
    begun = text.lstrip()[:1]
    return begun in ("{", "[") and not text.rstrip().endswith(("}", "]", "```", ")", ">"))
