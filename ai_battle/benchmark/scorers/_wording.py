"""Reads what an answer asserts: without what it denies, and with quantities in words written as numbers."""

import re
from unicodedata import normalize

from ...signals.numbers import spelled_number

_CLAUSES = re.compile(
    r"([.!?;](?=\s|$)|(?<![A-P]):\s|[,\n]|\s[-\u2013\u2014]\s"
    r"|\b(?:but|because|since|while|whereas|so|aber|sondern|weil|denn|w\u00e4hrend|mais|car|sino|porque|ma|perch\u00e9)\b)"
)
_DENIES = re.compile(
    r"n['\u2019]t\b|\b(?:not|never|cannot|neither|nor|wrong|incorrect|false|except|unlike|rul(?:e|es|ed|ing) out"
    r"|nicht|nie|kein\w{0,4}|falsch|au\u00dfer|scheide\w{0,3} aus|ausgeschlossen"
    r"|pas|jamais|faux|falso|sbagliat[oa]|non)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:no|n\u00e3o|nothing|nichts|rien|nada|niente)\W*\Z", re.IGNORECASE)
_NUMBER = r"\d{1,15}(?:[.,]\d{1,15}){0,5}"
_DIGIT = re.compile(r"\d")
_DENIED_NUMBER = re.compile(
    rf"(?:[,;(]|\s[-\u2013\u2014])\s?(?:and |und )?(?:not|nicht)\s(?:\w{{1,20}}\s)?\D{{0,3}}{_NUMBER}", re.IGNORECASE
)
_UNIT = r"(?:[^\W\d_]|[\u00b0%\u20ac$\u00a3/\u00b2\u00b3. ]){1,30}?"
_CONVERTED = re.compile(
    rf"(?P<one>{_NUMBER}\s?(?P<unit>{_UNIT}))(?:,| or| oder|,? (?:which|that) is|,? (?:das|was) sind)"
    rf"(?: or| about| oder| etwa)?\s{_NUMBER}\s?(?P<into>{_UNIT})[\s.!]{{0,9}}\Z"
)
_AT_END = 120
_POWERS_OF_UNITS = re.compile(r"\b((?:[kcdm]?m|ft|in|yd|mi|feet|miles|inches)\}?)\s?\^\s?\{?[23]\}?")
_MINUS = re.compile(r"(?<![\d)\]}%\u20ac$]\s)\b(?:minus|negative) (?=[$\u20ac\u00a3]?\d)", re.IGNORECASE)
_MINUS_WORDS = re.compile(r"\b(?:minus|negative) ([a-z]{3,9}(?:[- ][a-z]{3,9})?)", re.IGNORECASE)
_BELOW_ZERO = re.compile(rf"(?<![\d-])({_NUMBER}[^\d.,;\n]{{0,12}}?) (?:below zero|unter null)\b", re.IGNORECASE)
_CENTS = re.compile(
    r"(\d{1,15}) ?(?:dollars?|euros?|pounds?|francs?|franken)(?: and| und| et|,)? (\d\d?)"
    r" ?(?:cents?|pence|ct|rappen)\b",
    re.IGNORECASE,
)

_TYPED = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
)


def normal_form(text: str) -> str:
    """Returns the text with composed letters, and with the hyphens and quotation marks of a keyboard."""
    return normalize("NFC", text).translate(_TYPED)


def denies(text: str) -> bool:
    return _DENIES.search(text) is not None


def negates_what_follows(text: str) -> bool:
    return denies(_CLAUSES.split(text)[-1]) or _NEGATION.search(text) is not None


def without_denied(text: str) -> str:
    """Returns the text without its clauses that deny something: "Not A, but B" asserts B, and "It isn't B" nothing."""
    clauses = _CLAUSES.split(text)
    return "".join("" if place % 2 == 0 and denies(clause) else clause for place, clause in enumerate(clauses))


def with_plain_quantities(text: str) -> str:
    """Returns the text with minus signs and cents as digits, and without powers of units and numbers that it denies."""
    text = _POWERS_OF_UNITS.sub(r"\1", text)
    text = _CENTS.sub(lambda found: f"{found[1]}.{int(found[2]):02}", text)
    text = _BELOW_ZERO.sub(r"-\1", _MINUS.sub("-", _with_minus_in_words(text)))
    rest = _DENIED_NUMBER.sub("", text)
    return rest if _DIGIT.search(rest) else text


def _with_minus_in_words(text: str) -> str:
    """Returns "minus seven" as -7; between two numbers it is no sign."""
    found = _MINUS_WORDS.search(text)
    if not found or _DIGIT.search(text) or spelled_number(text[: found.start()]) is not None:
        return text
    value = spelled_number(found[1])
    return text if value is None else f"{text[: found.start()]}-{value}{text[found.end() :]}"


def until_conversion(text: str) -> str:
    """Returns the text up to a quantity that it ends with in another unit as well, or "": "100 °C, or 212 °F"."""
    found = _CONVERTED.search(text, max(0, len(text) - _AT_END))
    units = {found[name].strip(" .").casefold() for name in ("unit", "into")} if found else {""}
    return text[: found.end("one")] if found and len(units - {""}) > 1 else ""
