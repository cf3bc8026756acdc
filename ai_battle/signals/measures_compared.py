"""Checks a verdict such as "Plus is cheaper." against the two measures that an answer gives right before it."""

import re
from collections.abc import Iterator

from .cleaning import without_emphasis
from .languages import plain_words
from .numbers import readings

MAX_CHARACTERS = 600
_LESS = (
    r"cheaper|shorter|smaller|lighter|lower|less expensive|günstiger|billiger|kürzer|kleiner|leichter|niedriger"
    r"|moins ch[eè]re?|plus court[e]?|plus petite?|más barat[oa]|más cort[oa]|más pequeñ[oa]|más liger[oa]"
    r"|mais barat[oa]|mais curt[oa]|menor|meno car[oa]|più economic[oa]|più cort[oa]|più piccol[oa]|goedkoper|korter"
    r"|kleiner|lichter|tańsz[yae]|krótsz[yae]|mniejsz[yae]|lżejsz[yae]"
)
_MORE = (
    r"dearer|more expensive|longer|larger|bigger|taller|higher|heavier|deeper|teurer|länger|größer|höher|schwerer"
    r"|tiefer|plus ch[eè]re?|plus longue?|plus grande?|plus haute?|plus lourde?|plus profonde?|más car[oa]|más larg[oa]"
    r"|más grande|más alt[oa]|más pesad[oa]|mais car[oa]|mais long[oa]|maior|mais alt[oa]|mais pesad[oa]|più car[oa]"
    r"|più lung[oa]|più grande|più alt[oa]|più pesant[ei]|duurder|langer|groter|hoger|zwaarder|droższ[yae]|dłuższ[yae]"
    r"|większ[yae]|wyższ[yae]|cięższ[yae]"
)
_FASTER = (
    r"faster|quicker|schneller|plus rapide|más rápid[oa]|mais rápid[oa]|più veloce|più rapid[oa]|sneller|szybsz[yae]"
)
_VERDICT = (
    rf"(?i)(?:^|[.!\n]\s{{1,3}})(?P<who>[^.!?\n,;:]{{1,60}}?) (?:is|are|ist|sind|est|es|é|è|jest)"
    rf" (?:the |le |la |el |der |die |das )?(?:(?P<less>{_LESS})|(?P<more>{_MORE})|(?P<faster>{_FASTER}))\W{{0,3}}\Z"
)  # compiled at its first use, which takes longer than importing all of this room
_CLAUSE = re.compile(r"[.;!?]\s+|,\s+|\n+|\s(?:and|while|but|und|et|y|e|en|i)\s", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,/])\d+(?:\.\d+)?(?![\w/])")
_MEASURE = re.compile(r"(?P<who>.*?)(?P<value>(?<![\w.,/])\d+(?:\.\d+)?)(?P<unit>(?![\w/])[^\d=]*)\Z", re.DOTALL)
_YEARS = range(1500, 2100)
_TIMES = ("s", "sec", "min", "h", "hour", "hr", "day", "seg", "hor", "stund", "tag", "heur", "jour", "día", "dia", "or")
_LIMITED = re.compile(
    r"\b(?:but|however|if|unless|without|per|each|not|aber|wenn|pro|je|nicht|mais|si|par|pas|pero|por|no|ma|se|non"
    r"|maar|als|niet|ale|jeśli|nie)\b|n't\b",
    re.IGNORECASE,
)


def judges_measures_wrongly(text: str) -> bool:
    """Checks whether the last sentence names the wrong one of the two measures that the text gives.

    Any further number, another unit or a condition leaves open what is compared.
    """
    if len(text) > MAX_CHARACTERS or len(_NUMBER.findall(text)) < 2:
        return False
    if not (verdict := re.search(_VERDICT, text := without_emphasis(text).strip())):
        return False
    given = text[: verdict.start()]
    if _LIMITED.search(given):
        return False
    found = [_is_right(plain, verdict) for plain in readings(given)]
    return bool(found) and all(right is False for right in found)


def _is_right(given: str, verdict: re.Match[str]) -> bool | None:
    """Returns whether the verdict fits two measures, or None if there are not two that can be compared."""
    measures = [*_measures(given)]
    if len(measures) != 2 or None in measures:
        return None
    (who, one, unit), (other, another, other_unit) = filter(None, measures)
    named = _names(verdict["who"])
    if not named or (named <= who) == (named <= other) or not _are_comparable(one, another, unit, other_unit):
        return None
    if _is_of_other_kind(verdict, max(unit, other_unit), (one, another)):
        return None
    chosen, left = (one, another) if named <= who else (another, one)
    return chosen > left if verdict["more"] else chosen < left


def _are_comparable(one: float, another: float, unit: str, other_unit: str) -> bool:
    """Checks whether two values differ and their units, where both have one, do not."""
    return one != another and (unit == other_unit or not unit or not other_unit)


def _is_of_other_kind(verdict: re.Match[str], unit: str, values: tuple[float, float]) -> bool:
    """Checks for years, and for something else than a time where the verdict is about speed."""
    if not unit and all(value in _YEARS for value in values):
        return True
    return verdict["faster"] is not None and not unit.startswith(_TIMES)


def _measures(given: str) -> Iterator[tuple[frozenset[str], float, str] | None]:
    """Yields what each clause with a number measures, its value and unit; None for a clause that has several values."""
    for clause in filter(_NUMBER.search, _CLAUSE.split(given)):
        subject, _, result = clause.rpartition("=")
        found = _MEASURE.fullmatch(result)
        if not found or (not subject and _NUMBER.search(found["who"])):
            yield None
        else:
            yield _names(subject or found["who"]), float(found["value"]), _unit(found["unit"])


def _names(text: str) -> frozenset[str]:
    """Returns the words of a name, without articles in sentences that have them."""
    words = plain_words(text)
    return frozenset(words) - _ARTICLES if len(words) > 1 else frozenset(words)


_ARTICLES = frozenset(("the", "der", "die", "das", "le", "la", "el", "il", "lo", "o", "os", "as", "de", "het"))


def _unit(text: str) -> str:
    return " ".join(word.rstrip("s") for word in plain_words(text))
