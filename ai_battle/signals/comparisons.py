"""Checks whether an answer contradicts itself, or puts two numbers in the wrong order ("9.11 > 9.9")."""

import re
from collections.abc import Iterator
from itertools import pairwise

from .cleaning import without_emphasis
from .languages import closed_words, language_of, plain_words, sentences
from .numbers import readings

MAX_CHARACTERS = 1_500
_NUMBER = r"(-?\d+(?:\.\d+)?(?:/\d+)?)"
_IS, _THAN = r"(?:is|ist|est|es|\u00e9|\u00e8|jest) (?:also )?", r" (?:than|als|que|di|dan|ni\u017c|od)"
_MORE = r"larger|bigger|greater|more|gr\u00f6\u00dfer|mehr|plus grand|mayor|maior|maggiore|groter|wi\u0119ksz[aey]"
_LESS = r"smaller|less|kleiner|weniger|plus petit|menor|minore|mniejsz[aey]"
_MAY_ORDER = re.compile(rf"[<>]|{_THAN}\W{{0,3}}\d")
# "5 + 3 > 7", "a tenth of 50 is less than 6" and "room 12 is larger than 14" compare something else than the numbers.
# "Settings: 1 > 4" is a path, and "10:30 < 9:45" has times.
_BEFORE = r"(?:^|[.,;:!(\n\"] ?|\b(?:so|since|because|as|and|that|dass|weil|denn|car|et|porque|perch\u00e9|want|bo) )"
_ORDER = re.compile(
    rf"(?i)(?!: ?[\d.,]{{1,20}} ?[<>]){_BEFORE}{_NUMBER} ?(?:(>|{_IS}(?:{_MORE}){_THAN})|<|{_IS}(?:{_LESS}){_THAN}) ?"
    rf"{_NUMBER}(?![.,]?[\w/^%])(?! ?[<>=+*/^-])"
)
# An answer may take an order back, or only quote it; "3.11 is higher than 3.9" is right of versions.
_TAKEN_BACK = re.compile(
    r"\?|n't\b|\b(?:not|never|wrong|false|myth|mistak\w+|but|however|if|think|thought|versions?|nicht|falsch|aber|wenn"
    r"|pas|faux|mais|si|pero|falso|mas|ma|niet|maar|nie|ale)\b",
    re.IGNORECASE,
)


def orders_wrongly(text: str, prompt: str = "") -> bool:
    """Checks whether an order of two numbers does not hold ("9.11 > 9.9")."""
    own = text[:MAX_CHARACTERS]
    if not _MAY_ORDER.search(own) or any(map(_TAKEN_BACK.search, (own, prompt[-MAX_CHARACTERS:].rstrip("? \n")))):
        return False
    # "1.000" has two readings; the answer is right if all its orders hold in one of them.
    plain_texts = readings(without_emphasis(own))
    held = [all(found) for plain in plain_texts if (found := [_holds(*each) for each in _ORDER.findall(plain)])]
    return bool(held) and not any(held)


def _holds(one: str, more: str, other: str) -> bool:
    return _value(one) > _value(other) if more else _value(one) < _value(other)


def _value(written: str) -> float:
    number, _, divisor = written.partition("/")
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
