"""Sentences in which a speaker says that a tool was used, or what it returned."""

import re
from collections.abc import Iterator

from .claim import Claim
from .deeds import deeds
from .phrases import CONDITION, HANDED, HEDGE, PHRASE, TAKEN_BACK
from .states import state_in
from .tellings import tellings
from .tool_words import ANY, EFFECT, NONE, SMALL, SOURCE, Toolbox

LONGEST = 300
"""Characters of a claim that are quoted; four times as many are read of a sentence."""
_TOKEN = re.compile(r"\w[\w'./@-]*\w|\w|[,;:.!?\u2014\u2013()]|`(?=[^`\n]{2,80}`)")
_SAW = re.compile(r"\bi (?:can|could) (?:\w+ )?see\b|\bi(?:'m| am) (?:now |currently )?(?:seeing|looking at|viewing)\b")
_LOOKED = re.compile(r"\b(?:had|took|taken) an? (?:\w+ )?look\b")
_ELIDED = re.compile(r"\b([ld])'")


def claim_in(sentence: str, box: Toolbox) -> Claim | None:
    """What it claims, if it does; what stands before the claim may take it back."""
    said = sentence[: 4 * LONGEST].lower().replace("\u2019", "'").replace("i've", "i have")
    said = _SAW.sub("i saw", _LOOKED.sub("looked", _ELIDED.sub(r"\1e ", said)))
    return next((claim for end, claim in _candidates(said, box) if _stands(said, end, claim)), None)


def _candidates(said: str, box: Toolbox) -> Iterator[tuple[int, Claim]]:
    """What may be claims, each with its end."""
    tokens = list(_TOKEN.finditer(said))
    words = [_base(token.group()) for token in tokens]
    is_likely = not said.isascii() or not SMALL["in_phrases"].isdisjoint(words)
    if is_likely and (phrase := PHRASE.search(said)):
        yield phrase.end(), Claim(frozenset({ANY}))
    if len(words) in (1, 2) and (kinds := EFFECT.get(words[0], NONE)) and box.names and box.may(kinds):
        yield len(said), Claim(kinds)
    if state := state_in(said, words, box):
        yield state, Claim(frozenset({ANY}), own=False)
    for found in (*deeds(words, box), *tellings(words, box)):
        yield tokens[found.end - 1].end(), found.claim


def _stands(said: str, end: int, claim: Claim) -> bool:
    if said.endswith(("?", "\uff1f")) or TAKEN_BACK.search(said) or HEDGE.search(said, 0, end):
        return False
    beside = min((at for sign in ",;:." if (at := said.find(sign, end)) >= 0), default=len(said))
    if HANDED.search(said, 0, beside):
        return False
    return claim.own or not CONDITION.search(said)


def _base(word: str) -> str:
    """Without the genitive of a source: the tool's output is the tool output."""
    return word[:-2] if word.endswith("'s") and word[:-2] in SOURCE else word
