"""Checks whether an answer contradicts itself, or compares two numbers wrongly ("9.8 is smaller than 9.11")."""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from operator import gt, lt

from .cleaning import without_emphasis
from .languages import closed_words, content_stems, language_of, plain_words, sentences
from .numbers import readings
from .units import conversions, ratio, units

MAX_CHARACTERS = 1_500
_NUMBER = r"(?<![\w.,/:+*^-])([-\u2212]?\d+(?:\.\d+)?(?:/\d+)?)(?!/?\d|[.,:]\d|[-\u2212+*^(!]|\s?%)"
_UNIT = r"((?: ?[^\W\d_]{1,9}\b)?)"
_IS = r"(?:is|are|ist|sind|est|sont|es|son|\u00e9|\u00e8|jest)"
_LARGER = (
    r"(?:larg|bigg|great|high|long|heavi|tall)e(?:r|st)|more|gr\u00f6\u00df(?:er|te)|mehr|h\u00f6her|l\u00e4nger|schwerer"
    r"|plus grande?|sup\u00e9rieure?|mayor|m\u00e1s grande|maior|maggiore|pi\u00f9 grande|groter|grootste|meer"
    r"|wi\u0119ksz[aey]"
)
_SMALLER = (
    r"(?:small|low|short|light|few)e(?:r|st)|less|klein(?:er|ste)|weniger|niedriger|k\u00fcrzer|leichter|plus petite?"
    r"|inf\u00e9rieure?|menor|m\u00e1s peque\u00f1[ao]|minore|pi\u00f9 piccol[ao]|minder|mniejsz[aey]"
)
_COMPARED = rf"(?:({_LARGER})|{_SMALLER})"
_PROMPT_MARK = "\n\0\n"
# "A tenth of 50 is less than 6" and "room 12 is larger than 14" compare something else than these numbers.
_BEFORE = (
    r"(?:^|[.,;:!\n(\"=]\s{0,3}|\b(?:that|so|and|since|because|as|number|means|dass|weil|denn|und|zahl|que|car|et|nombre"
    r"|porque|y|n\u00famero|che|perch\u00e9|e|dat|want|en|\u017ce|bo|i) )"
)
_RELATIVE = r"(?:, (?:which|was|ce qui|lo que|o que|il che|wat|co))?"
_THAN = r" (?:than|als|que|di|dan|ni\u017c|od|\u00e0) "
_THAN_NUMBER = re.compile(rf"{_THAN}\**[-\u2212]?\d")
_COMPARISON = re.compile(
    rf"{_BEFORE}{_NUMBER}{_UNIT}{_RELATIVE} {_IS} (?:[a-z]{{4,9}} )?{_COMPARED}{_THAN}{_NUMBER}{_UNIT}",
    re.IGNORECASE | re.MULTILINE,
)
_OF_TWO = r"(?: (?:one|number|value|fraction|decimal|zahl|nombre|n\u00famero|numero|getal|liczba))?"
_CHOICE = re.compile(
    rf"\b(?:which|what|welche|was|quel|cu\u00e1l|quale?|welk|kt\u00f3ra){_OF_TWO} {_IS}(?: \w{{2,3}})? {_COMPARED}"
    rf"{_OF_TWO} ?[,:]? {_NUMBER},? (?:or|oder|ou|o|of|czy) {_NUMBER} ?\?",
    re.IGNORECASE,
)
# An answer may take a comparison back, or only quote it; "3.11 is higher than 3.9" is right of versions.
_TAKEN_BACK = re.compile(
    r"\?|n't\b|\b(?:not|never|wrong|false|myth|mistak\w{1,4}|but|however|if|think|thought|versions?|releases?|nicht|falsch"
    r"|aber|wenn|pas|faux|mais|si|pero|falso|mas|ma|niet|maar|nie|ale|version(?:en)?|versi\u00f3n|vers\u00e3o|wersja)\b",
    re.IGNORECASE,
)


def compares_wrongly(text: str, prompt: str = "") -> bool:
    """Checks for a comparison of two numbers that does not hold, or for the wrong one of two to choose from."""
    if len(text) > MAX_CHARACTERS or not (_THAN_NUMBER.search(text) or _CHOICE.search(prompt)):
        return False
    if any(map(_TAKEN_BACK.search, (text, prompt.rstrip("? \n")))):
        return False
    # "1.000" has two readings; an answer is right if all its comparisons hold in one of them.
    both = (each.partition(_PROMPT_MARK) for each in readings(without_emphasis(f"{text}{_PROMPT_MARK}{prompt}")))
    held = [all(found) for plain, _, asked in both if (found := [*_holding(plain, asked)])]
    return bool(held) and not any(held)


def _holding(text: str, prompt: str) -> Iterator[bool]:
    """Yields for each comparison whether it holds, and for a choice whether the answer names more than the wrong one.

    In unknown units a comparison holds. With several scales, it holds if it does in one.
    """
    for one, unit, larger, other, other_unit in _COMPARISON.findall(text):
        if unit == other_unit or (_is_measured(unit) and _is_measured(other_unit)):
            scales = ratio(unit, other_unit) or conversions(f"{one}{unit}", f"{other}{other_unit}")
            yield _is_ordered(_value(one), _value(other), larger, scales)
    if found := _CHOICE.search(prompt):
        larger, *offered = found.groups()
        wrong, right = sorted(offered, key=_value, reverse=not larger)
        yield {*re.findall(_NUMBER, text)} != {wrong} or _value(wrong) == _value(right)


def _is_measured(unit: str) -> bool:
    """Checks for a unit that is known, or for no word that could be one."""
    return bool(units(unit)) or not content_stems(unit)


def _is_ordered(one: float, other: float, larger: str, scales: Collection[float]) -> bool:
    ordered = gt if larger else lt
    return not scales or any(ordered(one * scale, other) for scale in scales)


def _value(written: str) -> float:
    number, _, divisor = written.replace("\u2212", "-").partition("/")
    return float(number) / (float(divisor or 1) or 1)


SENTENCES_COMPARED = 60
_VERDICT = re.compile(r"^\W{0,4}(yes|no|true|false)\b")
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence),? (?:the answer is |it is )?(yes|no|true|false)\b", re.IGNORECASE
)
_YES_OR_NO = {"yes": True, "true": True, "no": False, "false": False}
_AUXILIARIES = frozenset(("do", "does", "did"))
_LEAST_WORDS = 3
_MEASURED = re.compile(
    r"\b([a-z][\w-]{0,20}) (?:is |has |was |weighs |costs |measures |counts )?"
    r"\(?(\d[\d,]{0,14}(?:\.\d{1,6})?)(?: (thousand|million|billion))?(?=\W|[a-z]{1,3}\b)"
)
_MORE_ADJECTIVES = ("heavi", "larg", "bigg", "old", "tall", "long", "high", "dear")
_LESS_ADJECTIVES = ("light", "small", "young", "short", "low", "cheap")
_HOW = "|".join((*_MORE_ADJECTIVES, *_LESS_ADJECTIVES))
_COMPARES = re.compile(
    r"\b(?:so|therefore|thus|hence),? (?:the )?(?:(\w[\w-]{0,20})(?: \w{1,12})? (?:is|costs|weighs|has|are)(?: the)?"
    rf" ({_HOW})e?(?:st|r)|({_HOW})e?st(?: \w{{1,12}})? is (?:the )?(\w[\w-]{{0,20}}))\b"
)
_THOUSANDS = {"": 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}


def denies_itself(text: str, prompt: str = "") -> bool:
    """Checks whether an answer contradicts itself. Measures that it compares may be given in the prompt."""
    answer, question = text[:MAX_CHARACTERS].lower(), prompt[-MAX_CHARACTERS:].lower()
    return _turns_round(answer) or _says_the_opposite(answer, language_of(text)) or _compares_wrongly(answer, question)


def _turns_round(text: str) -> bool:
    """Checks whether an answer opens with yes and concludes with no, or the reverse."""
    opened = _VERDICT.match(text)
    concluded = _CONCLUSION.findall(text) if opened else []
    return opened is not None and bool(concluded) and _YES_OR_NO[opened[1]] != _YES_OR_NO[concluded[-1]]


def _says_the_opposite(text: str, language: str) -> bool:
    """Checks whether two neighbouring sentences differ only by a negation."""
    if not language:
        return False
    negations = closed_words(language, "negation")[0]
    if negations.isdisjoint(plain_words(text)):
        return False
    stated = [
        frozenset(plain_words(sentence)) - _AUXILIARIES
        for sentence in sentences(text)[:SENTENCES_COMPARED]
        if sentence[-1] != "?"
    ]
    return any(
        one - negations == other - negations
        and len(one - negations) >= _LEAST_WORDS
        and one.isdisjoint(negations) != other.isdisjoint(negations)
        for one, other in pairwise(stated)
    )


def _compares_wrongly(text: str, question: str) -> bool:
    """Checks whether an answer gives two measures and calls the smaller one larger, or the reverse."""
    if not (found := _COMPARES.search(text)):
        return False
    who, how = (found[1], found[2]) if found[1] else (found[4], found[3])
    values = dict((*_measures(question), *_measures(text[: found.start()])))
    if len(values) < 2 or who not in values:
        return False
    return values[who] != (max if how in _MORE_ADJECTIVES else min)(values.values())


def _measures(text: str) -> Iterator[tuple[str, float]]:
    for who, number, unit in _MEASURED.findall(text):
        yield who, float(number.replace(",", "")) * _THOUSANDS[unit]
