"""Checks whether an answer leaves out a part of what the prompt asks for by name or by number."""

import re

MAX_CHARACTERS = 2_000
_EACH = re.compile(
    r"\b(?:each|both|jede[nrsm]?|chaque|cada|ogni|elke?|ka\u017cd[eya]|\u043a\u0430\u0436\u0434\w+)\b[^:\n?]{0,60}:"
    r"\s*([^:\n?]+)\Z",
    re.IGNORECASE,
)
_NUMBER = r"(?:^|(?<=\s))\W{0,2}(\d{1,2})[.)]"
_QUESTIONS = re.compile(rf"{_NUMBER}\s[^?\n]{{3,200}}\?")
_CHOOSES = re.compile(
    r"\b(?:one|any|only|either|choose|pick|eine|nur|une?|seul\w*|una?|uno|s\u00f3lo|solo)\b", re.IGNORECASE
)
_LABEL = re.compile(r"[#*\s]{0,5}([^\W\d_]{4,20})\**:")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,2}[.)])\s")
_AND = r"(?:and|und|et|y|e|en|i|ve)"
_FEW, _MOST_WORDS, _STEM = 3, 3, 5


def lacks_part(text: str, prompt: str) -> bool:
    """Checks for a listed item, a numbered question or the second of two named parts that the answer is silent about.

    Only an answer that goes through the parts shows that it leaves one out.
    """
    text, prompt = text.strip(), prompt.strip()
    if len(prompt) > MAX_CHARACTERS or not text:
        return False
    return _lacks_item(text.casefold(), prompt) or _lacks_number(text, prompt) or _lacks_second(text, prompt)


def _lacks_item(lowered: str, prompt: str) -> bool:
    """Checks whether several lines each say something of a listed item, and other items are in none."""
    items = _listed_items(prompt)
    if len(items) < _FEW:
        return False
    lines = [line for line in lowered.split("\n") if line.strip()]
    about = [line for line in lines if any(len(line) > len(item) + 2 and item in line for item in items)]
    return len(about) > 1 and len(lines) < len(items) and not all(map(lowered.count, items))


def _listed_items(prompt: str) -> list[str]:
    """Returns the items that the end of the prompt lists ("for each: red, green, blue"), none if one is long."""
    found = _EACH.search(prompt)
    items = [item.strip(" .\"'").casefold() for item in re.split(r"[,;]", found[1])] if found else []
    return items if all(0 < len(item.split()) <= _MOST_WORDS for item in items) else []


def _lacks_number(text: str, prompt: str) -> bool:
    """Checks whether the answer numbers what it answers and ends before the last numbered question."""
    asked = [int(number) for number in _QUESTIONS.findall(prompt)]
    if len(asked) < 2 or asked != [*range(1, len(asked) + 1)] or _CHOOSES.search(prompt):
        return False
    answered = {int(number) for number in re.findall(_NUMBER, text)}
    return 0 < len(answered) < len(asked) and answered == {*range(1, len(answered) + 1)}


def _lacks_second(text: str, prompt: str) -> bool:
    """Checks whether the answer is one block, labelled with the first of two named parts, without the second."""
    label, (first, *lines) = _LABEL.match(text), text.split("\n")
    if not label or ", " in first or not all(map(_ITEM.match, lines)):
        return False
    # A capital would be a name: "Ben: ..." is a turn of Ben's, whoever else the prompt names beside him.
    pair = re.search(rf"\b(?i:{label[1]}),? {_AND} (?:[a-z]{{1,3}} )?([^\W\d_A-Z]{{3,20}})\b", prompt)
    return pair is not None and pair[1].casefold()[:_STEM] not in text.casefold()
