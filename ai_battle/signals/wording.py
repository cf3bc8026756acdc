"""What an answer says about itself: that it errs, that it won't."""

import re
from collections.abc import Iterator

LONGEST = 20_000
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'", "`": "'"})


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_CORRECTS = _any(
    r"\b(?:wait|oops|hold on|scratch that|correction|on second thought|my mistake|my apologies)\b[,.:!\u2014-]",
    r"\bactually,|\blet(?:'s| me| us) (?:re-?check|redo|reconsider|re-?examine|re-?evaluate|try again|start"
    r" over|correct)",
    r"\bi (?:made|have made|see) (?:a |an |my )?(?:mistake|error)|\bi (?:was|am) wrong\b|\bi misread\b",
    r"\b(?:this|that|which)(?: result| answer)? (?:is|was|seems|can't be|cannot be) (?:not (?:right|correct"
    r"|possible)|incorrect"
    r"|wrong|impossible|right)\b|\bcontradict(?:s|ion)\b|\bdoes(?:n't| not) (?:make sense|match)\b",
    r"\bmoment mal\b|\bich habe mich (?:geirrt|verrechnet|vertan)\b|\bdas stimmt (?:so )?nicht\b|\bkorrektur:",
    r"\battendez\b|\bje me suis tromp|\bme equivoqu|\bespera,|\bmi sono sbagliat|\baspetta,|\bna verdade,",
    r"\u7b49\u7b49|\u4e0d\u5bf9|\u6211\u9519\u4e86|\u66f4\u6b63|\u9593\u9055\u3048",
)
# One of these stands in whatever the pattern finds; looking for them costs a hundredth of it.
_CORRECTION_WORDS = (
    "wait oops hold\xa0on scratch correction second\xa0thought mistake apologies actually, recheck re-check"
    " redo reconsider"
    " reexamine re-examine reevaluate re-evaluate try\xa0again start\xa0over let\xa0me\xa0correct"
    " let's\xa0correct error wrong"
    " misread incorrect impossible not\xa0right not\xa0correct not\xa0possible n't\xa0be n't\xa0right"
    " contradict make\xa0sense match"
    " moment\xa0mal ich\xa0habe\xa0mich stimmt korrektur: attendez tromp equivoqu espera, sbagliat aspetta, verdade,"
    " \u7b49\u7b49 \u4e0d\u5bf9 \u6211\u9519\u4e86 \u66f4\u6b63 \u9593\u9055\u3048"
)
_REFUSES = _any(
    r"\bi(?:'m| am) (?:sorry|afraid),?(?: but)?(?: that)? i(?: can't| cannot| can not|'m| am| won't| do not| don't)",
    r"\bi (?:must|have to|need to) (?:decline|refuse)\b|\bi (?:won't|will not) (?:be able to )?(?:help|assist"
    r"|provide|answer)\b",
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b[^.]{0,40}\b(?:can't|cannot|not able"
    r"|unable|don't|do not)\b",
    r"\bi (?:can't|cannot) (?:assist|help|fulfil|comply|provide)\b|\bunable to (?:assist|help|comply|fulfil)\b",
    r"\bes tut mir leid,?(?: aber)? ich kann\b|\bd\u00e9sol\u00e9e?,?(?: mais)? je ne (?:peux|suis)\b|\blo"
    r" siento,?(?: pero)? no puedo\b",
    r"\bmi dispiace,?(?: ma)? non posso\b|\bdesculpe,?(?: mas)? n\u00e3o posso\b|\u5f88\u62b1\u6b49"
    r"|\u62b1\u6b49\uff0c|\u7533\u3057\u8a33",
)
# As above, one of these stands in whatever the pattern finds.
_REFUSING = (
    *("sorry", "afraid", "decline", "refuse", "i won't", "i will not", "i can't", "i cannot", "unable to"),
    *("as a ai", "as an ai", "artificial intelligence", "language model"),
    *("tut mir leid", "d\u00e9sol", "lo siento", "dispiace", "desculpe", "\u62b1\u6b49", "\u7533\u3057\u8a33"),
)
# "It is not that I don't know", "don't say you are unable": what is denied, asked or quoted admits nothing.
_NEGATING = (
    *("n't", "not", "unsure", "unable", "uncertain", "stuck", "loss", "confused", "incapable", "beyond", "outside"),
    *("no ", "give up", "decline", "refuse", "sorry", "nicht", "keine", "leid", " ne ", " pas", "n\u00e3o", "non "),
    "desculpe",
)
_IDEOGRAPH = re.compile(r"[\u3040-\u9fff]")
_DENIED = re.compile(
    r"(?:\bnot that|\bnever|\b(?:do not|don't|doesn't|didn't|cannot|can't) (?:say|think|believe|mean"
    r"|claim)(?: that)?|\bno longer"
    r"|\bif|\bwhen|\bwhether|\bunless|\bonce|\buntil|\bin case|[\"\u201c\u00ab])\s*$"
)
_OPENING, _BEYOND, _SHORT = 160, 80, 400
_AROUND, _MOST = 40, 20
_MARKS = tuple(mark.replace("\xa0", " ") for mark in _CORRECTION_WORDS.split(" "))


def self_corrections(text: str) -> int:
    """How often an answer takes back what it said."""
    plain = _plain(text)
    return len({start for mark in _MARKS if mark in plain for start in _near(mark, plain)})


def _near(mark: str, plain: str) -> Iterator[int]:
    """Where corrections begin that have a mark in them."""
    place = plain.find(mark)
    for _ in range(_MOST):
        if place < 0:
            return
        yield from (found.start() for found in _CORRECTS.finditer(plain, max(0, place - _AROUND), place + _AROUND))
        place = plain.find(mark, place + len(mark))


def refuses(text: str) -> bool:
    """It says that it won't or can't, at its start or in a few words."""
    opening = _opening(text)
    if not (_negates(opening) and any(mark in opening for mark in _REFUSING)):
        return False
    found = (
        match for match in _REFUSES.finditer(opening) if match.start() <= _OPENING or len(opening) != _OPENING + _BEYOND
    )
    return any(not _DENIED.search(opening[max(0, match.start() - 40) : match.start()]) for match in found)


def _negates(opening: str) -> bool:
    """Looking for words one by one takes a tenth of what a pattern of them takes."""
    if any(word in opening for word in _NEGATING):
        return True
    return not opening.isascii() and _IDEOGRAPH.search(opening) is not None


def _opening(text: str) -> str:
    """All of a short text; of a longer one its start."""
    text = text.strip()
    return _plain(text if len(text) <= _SHORT else text[: _OPENING + _BEYOND])


def _plain(text: str) -> str:
    return text[-LONGEST:].casefold().translate(_APOSTROPHES).strip()
