"""What a speaker says to have done with a tool: I ran the tests, your meeting has been added."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from .claim import Claim, Found, clause, things_in
from .phrases import CARRIES_I, DONE, DONE_TO, GERUNDS, GOT, OVER
from .tool_words import ANY, DEED, EFFECT, KINDS, NONE, SMALL, Toolbox, stem_of

_SUBJECTS = SMALL["speaker"] | SMALL["others"] | SMALL["may"]
_BETWEEN, _AGAIN = SMALL["between"], SMALL["again"]
_ROMANCE = ("ado", "ido", "ito", "rto", "cho")
_OF_ANOTHER = frozenset({"of", "about", "like", "because", "for", "over"})
# Whatever one has done with it, one has used it.
_UNMISTAKABLE = frozenset({"calculator"})


def deeds(words: Sequence[str], box: Toolbox) -> Iterator[Found]:
    for place, rest in _done(words):
        for found in (
            *_with_a_tool(words, DEED.get(words[place], NONE), rest, box),
            *_changed(words, place, rest, box),
        ):
            yield Found(max(found.end, place + 1), found.claim)
    for place, word in enumerate(words):
        if word in GERUNDS:
            yield from _by_doing(words, place, box)
        if word in EFFECT and words[place - 1 : place] == ["been"]:
            yield from _changed(words, place, clause(words, place + 2), box)
        if things := things_in(word, box):
            yield from _happened(words, place, things, box)


def _done(words: Sequence[str]) -> Iterator[tuple[int, range]]:
    """Places of what the speaker did, and those where one reads to what; at the start the subject may be left out."""
    mine = fresh = elided = True
    for place, word in enumerate(words):
        if word in _SUBJECTS:
            mine = fresh = _is_speaker(words, place)
            elided = False
            continue
        if word == "habe":
            yield from _german(words, place)
            continue
        is_deed = (fresh and _is_deed(words, place, elided=elided)) or CARRIES_I.fullmatch(word)
        if is_deed:
            yield place, clause(words, place + 1)
        fresh = not is_deed and ((fresh and _may_stand_before_a_deed(word)) or (mine and word in _AGAIN))


def _may_stand_before_a_deed(word: str) -> bool:
    return word in _BETWEEN or word.endswith("ly")


def _is_speaker(words: Sequence[str], place: int) -> bool:
    """`he` is, where it is the Spanish one: that of a deed."""
    if words[place] == "he":
        return any(word.endswith(_ROMANCE) for word in words[place + 1 : place + 2])
    return words[place] in SMALL["speaker"]


def _is_deed(words: Sequence[str], place: int, *, elided: bool) -> bool:
    word = words[place]
    if elided:
        return word in SMALL["bare"] or (word in ("read", "run") and words[place - 1 : place] == ["just"])
    return word in DEED or word in EFFECT or (word.endswith("ed") and word not in SMALL["of_the_mind"])


def _german(words: Sequence[str], place: int) -> Iterator[tuple[int, range]]:
    """Ich habe ...: there the deed closes the sentence."""
    if "ich" not in words[max(0, place - 1) : place + 2]:
        return
    rest = clause(words, place + 1)
    yield from ((at, rest) for at in rest if words[at] in DEED or words[at] in EFFECT)


def _with_a_tool(words: Sequence[str], deed: frozenset[str], rest: range, box: Toolbox) -> Iterator[Found]:
    yield from _with_it(words, deed, rest.start, box)
    helped = False
    for place in rest:
        if _leads_away(words, place, searching="search" in deed):
            return
        helped = helped or bool(SMALL["with"] & {words[place], words[place - 1]})
        if kinds := _fitting(deed, things_in(words[place], box), helped=helped):
            yield Found(place + 1, Claim(kinds))
        elif ANY in deed and stem_of(words[place]) in box.about and words[place - 1] not in SMALL["whose"]:
            yield Found(place + 1, Claim(frozenset({ANY})))


def _with_it(words: Sequence[str], deed: frozenset[str], place: int, box: Toolbox) -> Iterator[Found]:
    """I ran it; I looked it up."""
    if "run" in deed and "code" in box.kinds and SMALL["it"] & {*words[place : place + 1]}:
        yield Found(place + 1, Claim(frozenset({"code"})))
    if words[place - 1] == "looked" and words[place + 1 : place + 2] == ["up"]:
        yield Found(place + 2, Claim(frozenset({"search"})))


def _fitting(deed: frozenset[str], things: frozenset[str], *, helped: bool) -> frozenset[str]:
    """The kinds of tools that do this to that. To look at code, or at a request, is not to run it."""
    if not deed:
        return things & _UNMISTAKABLE or things - KINDS
    if ANY in things or not things <= KINDS:
        return things
    if ANY in deed:
        return things - ({"act"} if helped else {"act", "code", "run"})
    return deed & things


def _changed(words: Sequence[str], place: int, rest: range, box: Toolbox) -> Iterator[Found]:
    """What a tool would have to be there for: a thing written, sent or booked."""
    deed = EFFECT.get(words[place], NONE)
    if not deed:
        return
    if words[place] in SMALL["passed_on"] and box.names and box.may(deed):
        yield Found(place + 1, Claim(deed))
    for at in takewhile(lambda at: words[at] not in _OF_ANOTHER, rest):
        if (done := _doing(words[place], things_in(words[at], box), box, deed)) and box.may(done):
            yield Found(at + 1, Claim(done))


def _leads_away(words: Sequence[str], place: int, *, searching: bool) -> bool:
    if words[place] in SMALL["whose"]:
        return words[place - 1] in ("in", "from", "of", "on", "dans", "en", "aus")
    return words[place] in SMALL["through"] and not searching


def _by_doing(words: Sequence[str], place: int, box: Toolbox) -> Iterator[Found]:
    """After searching the web, I found ...; using the calculator, I get ..."""
    rest = clause(words, place + 1)
    if GOT.match(" ".join(words[rest.stop : rest.stop + 5])):
        for found in _with_a_tool(words, GERUNDS[words[place]], rest, box):
            yield Found(min(rest.stop + 4, len(words)), found.claim)


def _happened(words: Sequence[str], place: int, things: frozenset[str], box: Toolbox) -> Iterator[Found]:
    """Your meeting has been added; the code was executed successfully; file saved; test run complete."""
    behind = " ".join(words[place + 1 : place + 6])
    is_set = place < 2 or words[place - 1] in SMALL["set"]
    if is_set and OVER.match(behind) and box.may(things - {"act"}):
        yield Found(place + 1, Claim(things))
    if not (done := DONE.match(behind) or (None if place else DONE_TO.match(behind))):
        return
    deed = EFFECT.get(done[1], NONE) | (DEED.get(done[1], NONE) - {ANY})
    if (kinds := _doing(done[1], things, box, deed)) and box.may(kinds):
        yield Found(place + 1, Claim(kinds))


def _doing(word: str, things: frozenset[str], box: Toolbox, deed: frozenset[str]) -> frozenset[str]:
    """The kinds of tools that do that, a deed of these kinds, to one of the things."""
    return deed & things or (things - KINDS if box.does(word) else NONE)
