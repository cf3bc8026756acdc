"""Lettered options of a question, and which of them an answer picks."""

import re
from collections.abc import Mapping

_LISTED = re.compile(r"^[ \t>*-]{0,8}[(\[]?([A-P])[)\].:][ \t*]{1,8}(\S.*)$", re.MULTILINE)
_PICK = r"(?:\*\*|__|\$|`|\")*[(\[{]?(?:option|choice|answer)? ?(?:\\(?:text|mathrm|boxed)\{)?\(?([A-Pa-p])(?![\w'])"
_ALONE = re.compile(rf"\W{{0,6}}{_PICK}")
_LETTER = re.compile(
    r"(?<!\w)[(\[]([A-P])[)\]]|(?:[Oo]ption|[Cc]hoice) ([A-P])(?!\w)|\*\*([A-P])(?:[.):]|\*\*)"
    r"|\b(?:is|be|choose|pick|select)\b\W{1,4}([A-P])(?=\s*(?:$|[.):,*]))",
    re.MULTILINE,
)
_SPACE = re.compile(r"[\W_]+")
LONGEST = 20_000


def options(prompt: str) -> Mapping[str, str]:
    """The options by letter, in order from A; empty when there are fewer than two. Of several lists, the last."""
    found: dict[str, str] = {}
    for letter, text in _LISTED.findall(prompt[-LONGEST:]):
        if letter == "A":
            found = {}
        if ord(letter) - ord("A") == len(found):
            found[letter] = text.strip(" *\t")
    return found if len(found) > 1 else {}


def picked(stated: str, among: Mapping[str, str]) -> str:
    """The letter that stands for what was stated as the answer: by its letter, else by its text; empty for none."""
    if (letter := _ALONE.match(stated)) and _may_be(letter[1], stated, among):
        return letter[1].upper()
    words = _words(stated)
    return next((letter for letter, text in among.items() if words and words == _words(text)), mentioned(stated, among))


def mentioned(text: str, among: Mapping[str, str]) -> str:
    """The letter that is written as an option last; empty for none."""
    letters = [next(filter(None, groups)) for groups in _LETTER.findall(text)]
    return next((letter for letter in reversed(letters) if letter in (among or letters)), "")


def _may_be(letter: str, stated: str, among: Mapping[str, str]) -> bool:
    """Whether a letter at the start is an option, and not the word "a" or "I"."""
    if among and letter.upper() not in among:
        return False
    return (letter.isupper() and not re.match(r"\W*[AI] [a-z]", stated)) or len(stated.strip(" .()[]*\"'`$")) == 1


def _words(text: str) -> str:
    return _SPACE.sub(" ", text.casefold()).strip()
