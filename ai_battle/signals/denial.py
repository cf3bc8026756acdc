"""Whether a text denies what it says: by a yes and a no, by one sentence and its opposite, by a comparison."""

import re
from collections.abc import Iterator
from itertools import pairwise

from .languages import closed_words, language_of, plain_words, sentences

LONGEST, MOST = 1_500, 60
_VERDICT = re.compile(r"^\W{0,4}(yes|no|true|false)\b")
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence),? (?:the answer is |it is )?(yes|no|true|false)\b", re.IGNORECASE
)
_SAME = {"yes": True, "true": True, "no": False, "false": False}
_AUXILIARIES = frozenset(("do", "does", "did"))
_LEAST_WORDS = 3
_MEASURED = re.compile(
    r"\b([a-z][\w-]{0,20}) (?:is |has |was |weighs |costs |measures |counts )?"
    r"\(?(\d[\d,]{0,14}(?:\.\d{1,6})?)(?: (thousand|million|billion))?(?=\W|[a-z]{1,3}\b)"
)
_MORE = ("heavi", "larg", "bigg", "old", "tall", "long", "high", "dear")
_LESS = ("light", "small", "young", "short", "low", "cheap")
_HOW = "|".join((*_MORE, *_LESS))
_COMPARES = re.compile(
    r"\b(?:so|therefore|thus|hence),? (?:the )?(?:(\w[\w-]{0,20})(?: \w{1,12})? (?:is|costs|weighs|has|are)(?: the)?"
    rf" ({_HOW})e?(?:st|r)|({_HOW})e?st(?: \w{{1,12}})? is (?:the )?(\w[\w-]{{0,20}}))\b"
)
_THOUSANDS = {"": 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}


def denies_itself(text: str, prompt: str = "") -> bool:
    """What is compared may be measured in the prompt."""
    said, asked = text[:LONGEST].lower(), prompt[-LONGEST:].lower()
    return _turns_round(said) or _says_the_opposite(said, language_of(text)) or _compares_wrongly(said, asked)


def _turns_round(said: str) -> bool:
    """It opens with yes and concludes with no."""
    opened = _VERDICT.match(said)
    concluded = _CONCLUSION.findall(said) if opened else []
    return opened is not None and bool(concluded) and _SAME[opened[1]] != _SAME[concluded[-1]]


def _says_the_opposite(said: str, language: str) -> bool:
    """Of two sentences that follow each other, one is the other with a word of negation."""
    if not language:
        return False
    negations = closed_words(language, "negation")[0]
    if negations.isdisjoint(plain_words(said)):
        return False
    stated = [
        frozenset(plain_words(sentence)) - _AUXILIARIES for sentence in sentences(said)[:MOST] if sentence[-1] != "?"
    ]
    return any(
        one - negations == other - negations
        and len(one - negations) >= _LEAST_WORDS
        and one.isdisjoint(negations) != other.isdisjoint(negations)
        for one, other in pairwise(stated)
    )


def _compares_wrongly(said: str, asked: str) -> bool:
    """It names the measures of two, and concludes that the one with less has more."""
    if not (found := _COMPARES.search(said)):
        return False
    who, how = (found[1], found[2]) if found[1] else (found[4], found[3])
    values = dict((*_measures(asked), *_measures(said[: found.start()])))
    if len(values) < 2 or who not in values:
        return False
    return values[who] != (max if how in _MORE else min)(values.values())


def _measures(said: str) -> Iterator[tuple[str, float]]:
    for who, number, unit in _MEASURED.findall(said):
        yield who, float(number.replace(",", "")) * _THOUSANDS[unit]
