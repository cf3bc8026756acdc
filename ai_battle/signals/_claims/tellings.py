"""What a tool is said to have told: the search found ..., according to the calculator ..."""

from collections.abc import Iterator, Sequence

from .claim import Claim, Found, clause, things_in
from .phrases import FILE
from .tool_words import ANY, NONE, SMALL, SOURCE, Toolbox, stem_of

# The last word of each phrase, with the one before it.
_ACCORDING = {
    "to": "according", "on": "based", "auf": "basierend", "après": "de", "com": "acordo",
    "by": "", "per": "", "laut": "", "gemäß": "", "selon": "", "según": "", "segundo": "",
}  # fmt: skip
_STARTS = SMALL["stops"] | SMALL["again"] | {"so"}
_TOLD_BY = frozenset({"shown", "returned", "reported", "confirmed", "given", "found", "indicated"})
_FAR = 9


def tellings(words: Sequence[str], box: Toolbox) -> Iterator[Found]:
    for place, word in enumerate(words):
        if word in SOURCE or word in box.names or stem_of(word) in box.own:
            yield from _told(words, place, box)
        if word in _ACCORDING:
            yield from _attributed(words, place, box)


def _told(words: Sequence[str], place: int, box: Toolbox) -> Iterator[Found]:
    """The search found ..., the tool's output confirms ..."""
    at = _telling(words, place, box)
    if not at or words[at + 1 : at + 2] in (["to"], ["by"]):
        return
    is_source = words[place] in SOURCE or words[place] in box.names or _is_full_name(words, place, box)
    if not (is_source or any(word[:1].isdigit() for word in words[at + 1 : at + 4])):
        return
    kinds = _kinds_before(words, place, box)
    if box.may(kinds) and _is_set(words, place, has_results=words[at - 1] in SMALL["results"]):
        yield Found(at + 1, Claim(kinds, own=False))


def _is_full_name(words: Sequence[str], place: int, box: Toolbox) -> bool:
    """Whether two words of a tool's name stand together: the knowledge base."""
    return place > 0 and stem_of(words[place]) in box.own and stem_of(words[place - 1]) in box.own


def _telling(words: Sequence[str], place: int, box: Toolbox) -> int:
    """Where it says that the source told; 0 where it doesn't."""
    tells = _words_of_telling(words, place, box)
    first, behind = place + 1, words[place + 1 : place + _FAR]
    if behind[:1] == ["for"] and "search" in SOURCE.get(words[place], NONE):
        return _first(behind, SMALL["shows"], first)
    if _is_specified(behind, box):
        return _first(behind, tells, first)
    if words[place] not in SOURCE and behind[:1] and behind[0].endswith(("er", "or")):
        first, behind = first + 1, behind[1:]
    between = next((n for n, word in enumerate(behind[:4]) if word in tells or not _may_stand_between(word)), 0)
    return _first(behind[: between + 1], tells, first)


def _words_of_telling(words: Sequence[str], place: int, box: Toolbox) -> frozenset[str]:
    """Of code and services in general one speaks in the present too; the weather service has a name."""
    is_specific = place > 0 and bool(things_in(words[place - 1], box))
    return SMALL["told_in_the_past" if words[place] in SMALL["past_only"] and not is_specific else "tells"]


def _first(words: Sequence[str], wanted: frozenset[str], start: int) -> int:
    return next((place for place, word in enumerate(words, start) if word in wanted), 0)


def _is_specified(behind: Sequence[str], box: Toolbox) -> bool:
    """A scan of the logs, a look in the database."""
    return bool({"of", "on", "in", "im", "through"} & {*behind[:1]}) and any(
        things_in(word, box) for word in behind[1:4]
    )


def _may_stand_between(word: str) -> bool:
    return word in SMALL["helping"] or word in SMALL["results"]


def _is_set(words: Sequence[str], place: int, *, has_results: bool) -> bool:
    """Whether it is this one that was just used: not yours, nor any."""
    kinds = SOURCE.get(words[place], frozenset({ANY}))
    for word in reversed(words[max(0, place - 3) : place]):
        if word in SMALL["stops"] or word in SMALL["whose"] or word in SMALL["others"] or word.endswith("'s"):
            return False
        if word in SMALL["set"]:
            return word not in SMALL["vague"] or "search" in kinds
    return has_results and place < 2 and bool({"search", "database", ANY} & kinds)


def _attributed(words: Sequence[str], place: int, box: Toolbox) -> Iterator[Found]:
    """According to the search results, ..."""
    if not _attributes(words, place):
        return
    for at in clause(words, place + 1)[:5]:
        if words[at] in SMALL["whose"] or words[at] in SMALL["others"]:
            return
        kinds = _kinds_before(words, at, box)
        if kinds and _is_witness(words, at, box) and box.may(kinds):
            yield Found(at + 1, Claim(kinds, own=False))


def _attributes(words: Sequence[str], place: int) -> bool:
    """Whether it is said by whom something is told, and not on what somebody relies."""
    before = words[place - 1] if place else ""
    if words[place] == "by":
        return before in _TOLD_BY
    first = _ACCORDING[words[place]]
    start = place - 1 if first else place
    return first in ("", before) and (start == 0 or words[start - 1] in _STARTS)


def _is_witness(words: Sequence[str], place: int, box: Toolbox) -> bool:
    word = words[place]
    if SMALL["no_witness"] & {*words[place + 1 : place + 2]}:
        return False
    if (
        FILE.fullmatch(word)
        or word in box.names
        or word in ("results", "output", "reading", "service", "clock", "lookup", "database", "web")
    ):
        return True
    return word in SOURCE and word not in SMALL["past_only"]


def _kinds_before(words: Sequence[str], place: int, box: Toolbox) -> frozenset[str]:
    """The kinds of a source together with the words that specify it: the weather service."""
    near = words[max(0, place - 2) : place + 1]
    return SOURCE.get(words[place], NONE).union(*(things_in(word, box) for word in near))
