"""Turns of a talk within one answer: those of others that it goes on to write, and one of others that it repeats."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from .languages import words_everywhere
from .residue import without_label

LEAST_WORDS = 5
"""Of a turn that nobody says again by chance."""
_LONGEST = 20_000
_LABEL = re.compile(r"^[ \t]*(?:\[([^\]\n]{1,30})\]|\*{0,2}([^\W\d_][\w.-]{0,24})\*{0,2}:\*{0,2}(?=\s))", re.MULTILINE)
_WRITES_TALK = re.compile(
    r"dialog|conversation|chat|transcript|script|interview|play\b|sketch|scene|faq|gespr\u00e4ch|drehbuch|conversaci\u00f3n"
    r"|conversa\u00e7\u00e3o|conversazione|gesprek|rozmow|\u0434\u0438\u0430\u043b\u043e\u0433|\u5bf9\u8bdd|\u5bfe\u8a71|\u4f1a\u8a71",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\bdiscussion|\bdebate|\btopic\b|\byour turn\b|\byou are\b|\bsaid\b|\bsays\b|^\[?[^\W\d_]\w*\]?:\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_SPOKEN = r"(?:\[[^\]\n]{{1,30}}\]|[:\uff1a]|\bsa(?:id|ys)\b)\s*[\"\u201c\u201e\u00ab]?\s*{}"


def runs_on(text: str, prompt: str) -> bool:
    """It goes on with a turn of its user, or with several of others in the talk."""
    if _WRITES_TALK.search(prompt):
        return False
    if any(text[: found.start()].strip() for found in _role().finditer(text[:_LONGEST])):
        return True
    labels = list(_labels(text))
    again = len(set(labels)) < len(labels)
    return len(set(labels)) > 1 and again and _is_known(labels, prompt)


def repeats_turn(text: str, prompt: str, earlier: Sequence[str] = ()) -> bool:
    """It is, word for word, the last turn of another, in the prompt or before it."""
    said = without_label(text.strip()).strip(" \n\"'\u201c\u201d*")
    if len(said.split()) < LEAST_WORDS and (said.isascii() or len(said) < 2 * LEAST_WORDS):
        return False
    if any(said == without_label(turn.strip()).strip() for turn in (prompt, *earlier)):
        return True
    at = prompt.rfind(said)
    return at >= 0 and _TALK.search(prompt) is not None and _is_spoken(prompt[:at])


@cache
def _role() -> re.Pattern[str]:
    """The name of who speaks with a model at the beginning of a line."""
    names = "|".join(sorted(words_everywhere("user")))
    return re.compile(
        rf"^[ \t]*(?:\*\*|\#{{1,4}} ?|\[)?(?:{names})(?:\*\*|\])? ?[:\uff1a]", re.IGNORECASE | re.MULTILINE
    )


def _labels(text: str) -> Iterator[str]:
    """Who speaks, by the names at the beginnings of lines."""
    return ((found[1] or found[2]).casefold() for found in _LABEL.finditer(text[:_LONGEST]))


def _is_known(labels: Sequence[str], prompt: str) -> bool:
    """All of them have a name in the prompt that speaks there, or is spoken to, or are a question and its answer."""
    asked = prompt.casefold()
    return all(label in asked for label in labels) and (
        _TALK.search(prompt) is not None or not set(labels).isdisjoint(_labels(prompt))
    )


def _is_spoken(before: str) -> bool:
    """What follows is what somebody says."""
    return re.search(_SPOKEN.format(r"\Z"), before[-60:]) is not None
