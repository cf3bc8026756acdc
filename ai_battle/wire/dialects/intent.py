"""Tells calls that are meant from those that a text only mentions: as an offer, a refusal, a quotation or an example.

The judgement rests on position and form: the text directly before and after a call, and whether it has a marker. Words
only support it: function words that make a clause negative or conditional, and words that announce an example.
"""
# ruff: noqa: RUF001

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from ...core.messages import ToolCall
from ...core.texts import one_of
from ...core.tooling import ProposalKind
from . import thinking
from .calls import OfferedTools
from .reading import Piece

_SURROUNDING = 600  # characters before and after a call that count as its context
_MARKUP = re.compile(r"<[^<>\n]{0,200}>|`{3,}[\w.+#\-/]*|~{3,}|[*_#>`|]+")
_ENCLOSED = re.compile(r"</[^<>\n]{1,80}>")
_LABEL = re.compile(r"^[ \t]*(?:[-*+•・]|\(?\w{1,2}[.)])(?:\s|\Z)", re.MULTILINE)
_ASKS = r"[?？؟՞፧]|か[。．]|까요\.|[\u0370-\u03ff]\s?[;\u037e]|(?:ไหม|หรือไม่)(?=\s|\Z)"
_MAY_ASK = re.compile(r"[?？؟;か요ไห\u037e՞፧]")
_QUESTION = re.compile(rf"[？؟]|(?:{_ASKS})[\s\"'»”’)\]」』?]*(?=\s|\Z|[^\x00-\x7f])")
_ENDS_ASKING = re.compile(rf"(?:{_ASKS})[\"'»”’)\]」』]*\Z")
_SENTENCE_END = re.compile(r"(?<!\W\w)[.!?…](?=\s)|[。！？؟।]")
_CLAUSE_END = re.compile(r"[,;](?=\s)|[，；、،؛]|\s[-–—]\s")
_CLOSINGS = r"(?:</[^<>\n]{1,80}>)?[ \t]*[\])}`'\"”»]*,?"
_GOES_ON_BESIDE = re.compile(_CLOSINGS + r"[ \t]*(?=[^\W\d_])")
_BELOW = re.compile(r"(?>(?:</[^<>\n]{1,80}>|[\s\])}`~'\"”»,])*)")
_LOWER_WORDS = re.compile(r"(?P<first>[^\W\d_])[^\W\d_]*,? [^\W\d_]")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•・]|\(?\w{1,2}[.)])\s*[\"'`\[]*\Z")
_CHOICE = re.compile(
    r"\W*(?P<stem>[^\W\d_]{0,40}?)\s?\(?(?P<mark>\b[A-Za-z]|\d{1,2}|[一二三四五六甲乙丙①-⑨])(?:\s*[:：.)）、\-–—]|\s*\Z)"
)
_PLACEHOLDER = re.compile(
    r"str(?:ing)?|int(?:eger)?|number|float|bool(?:ean)?|<[^<>]{1,80}>|\.\.\.|…|\{\{?[\w ]{1,80}\}?\}|\[[A-Z_ ]{2,80}\]"
)
# A sentence that begins with what the writer does now; which of its other words are verbs is no matter then.
_ACT = re.compile(
    r"(?:(?:ok|okay|sure|now|then|next|first|finally|so|and),? )*"
    r"(?:i'll|i will|let me|(?:i'm |i am )?(?:now )?\w{2,30}ing|(?:puis )?(?:je vais|j'\w+e))\b"
)
_FINAL = ".!…。！।"
_CLOSING = ":： " + _FINAL
_TOKENS = ("<|", "<｜", "[TOOL")
_OBSERVED = re.compile(r"^\W*Observation\W*:", re.MULTILINE)
# What the words of a sentence that leads up to a call make of it, and where they have to stand. The level says for
# which calls: all (0), those that write (1), or those that write and complete the sentence, as it has no full stop (2):
# `I can delete it:` is an offer, but in `I can do that.` nothing is said of the call.
_Find = Callable[[re.Pattern[str], str], re.Match[str] | None]
_MOODS: tuple[tuple[ProposalKind, str, _Find, str, int], ...] = (
    ("example", "example", re.Pattern.search, "sentence", 0),
    ("example", "manner", re.Pattern.search, "last", 1),
    ("condition", "condition", re.Pattern.match, "clauses", 0),
    ("condition", "consent", re.Pattern.search, "main", 0),
    ("condition", "unreal", re.Pattern.search, "main", 1),
    ("refusal", "refusal", re.Pattern.search, "main", 0),
    ("offer", "able", re.Pattern.search, "main", 2),
    ("unsure", "past", re.Pattern.search, "main", 2),
    ("unsure", "subject", re.Pattern.match, "main", 2),
)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1100-\u11ff\u3040-\u9fff\uac00-\ud7af]")
_LETTER = r"[\w\u0900-\u0dff]"


def proposal_kinds(text: str, pieces: Sequence[Piece], tools: OfferedTools) -> list[ProposalKind | None]:
    """Returns for each piece, all of which hold calls, why not to run it, or None if it is meant."""
    gaps = list(map(_without_thoughts, _gaps(text, pieces)))
    writing = [tools.writes(piece.calls) for piece in pieces]
    goes_on = bool(_words_of(gaps[-1][:_SURROUNDING]))
    together = _common_kind(pieces, gaps, goes_on=goes_on, writes=any(writing))
    found: list[ProposalKind | None] = []
    for piece, before, behind, writes in zip(pieces, gaps, gaps[1:], writing, strict=False):
        lead = _words_of(_ENCLOSED.split(before[-_SURROUNDING:])[-1])
        announced = found[-1] if found and not lead else _announcement_kind(text, piece, lead, writes=writes)
        is_weak = writes and (goes_on or _is_beside_words(piece, before))
        found.append(together or announced or _kind_by_form(text, piece, before, behind, is_weak=is_weak))
    return found


def _kind_by_form(text: str, piece: Piece, before: str, behind: str, *, is_weak: bool) -> ProposalKind | None:
    if all(map(_is_template, piece.calls)):
        return "example"
    return "unsure" if is_weak or _is_within_sentence(text, piece, before, behind) else None


def _is_within_sentence(text: str, piece: Piece, before: str, behind: str) -> bool:
    """Returns whether a sentence continues after a call, in lower case or with a comma: `<call> would delete it`.

    Only its line counts; special tokens never occur within a sentence.
    """
    before = before.rstrip(" \n\"'`([{*_>")
    if not before or piece.is_bare or text.startswith(_TOKENS, piece.start):
        return False
    beside = _GOES_ON_BESIDE.match(behind)
    return beside is not None and ("," in beside[0] or not behind[beside.end()].isupper())


def _goes_on_below(before: str, behind: str) -> bool:
    """Returns whether the line below a call begins in lower case, in a text that has capitals and outside its block."""
    between = _BELOW.match(behind)
    words = _LOWER_WORDS.match(behind, between.end()) if between else None
    if not words or not words["first"].islower() or not any(map(str.isupper, before[-_SURROUNDING:])):
        return False
    return "\n" in behind[: words.start()] and behind.count("```", words.end()) % 2 == 0


def _is_template(call: ToolCall) -> bool:
    """Returns whether every argument is a placeholder (`<city>`, `...`) or the name of a type."""
    given = call.arguments.values()
    return bool(given) and all(isinstance(value, str) and _PLACEHOLDER.fullmatch(value) for value in given)


def _is_beside_words(piece: Piece, gap: str) -> bool:
    """Returns whether a call without a marker has words before it on its line."""
    return piece.is_bare and bool(gap.rpartition("\n")[2].strip("\t `[](){}\"',;"))


def _common_kind(pieces: Sequence[Piece], gaps: Sequence[str], *, goes_on: bool, writes: bool) -> ProposalKind | None:
    """Returns the kind for all calls together: they are within a sentence, before a question, or alternatives."""
    if any(_MAY_ASK.search(gap) and _QUESTION.search(gap) for gap in gaps[1:]):
        return "question"
    if _are_alternatives(gaps, goes_on=goes_on) or _are_choices(pieces, gaps, goes_on=goes_on, writes=writes):
        return "offer"
    return "unsure" if _goes_on_below(gaps[0], gaps[-1]) else None


def _are_alternatives(gaps: Sequence[str], *, goes_on: bool) -> bool:
    """Returns whether a word such as "or" alone is between two calls, in a text that has more words."""
    between = map(str.lower, map(_words_of, gaps[1:-1]))
    return any(map(_words("alternative").fullmatch, between)) and (goes_on or bool(_words_of(gaps[0][-_SURROUNDING:])))


def _are_choices(pieces: Sequence[Piece], gaps: Sequence[str], *, goes_on: bool, writes: bool) -> bool:
    """Returns whether the calls are items of a list with text after it, or have labels like `Option B`."""
    leads = [_MARKUP.sub(" ", gap[-_SURROUNDING:]).rstrip().rpartition("\n")[2] for gap in gaps[:-1]]
    if (
        goes_on
        and len(pieces) > 1
        and all(p.is_bare and _LIST_ITEM.match(lead) for p, lead in zip(pieces, leads, strict=True))
    ):
        return True
    return _are_labels_of_choices(leads, goes_on=goes_on, writes=writes)


def _are_labels_of_choices(leads: Sequence[str], *, goes_on: bool, writes: bool) -> bool:
    """Returns whether labels mark choices: they need two of the signs word, letters, and writing calls or text after.

    Labels whose word means "step" never do.
    """
    labels = list(filter(None, map(_CHOICE.match, leads)))
    stem = labels[0]["stem"].casefold() if labels else ""
    marks = {label["mark"] for label in labels if label["stem"].casefold() == stem}
    if len(marks) < 2 or _words("step").match(stem):
        return False
    return bool(stem) + all(map(str.isalpha, marks)) + (writes or goes_on) >= 2


def _gaps(text: str, pieces: Sequence[Piece]) -> list[str]:
    """Returns the text before, between and after the pieces."""
    # A piece includes the comma and the white space after its call.
    ends = [0, *(piece.start + len(text[piece.start : piece.end].rstrip(" \n\t\r,")) for piece in pieces)]
    starts = [*(piece.start for piece in pieces), len(text)]
    return [text[end : max(end, start)] for end, start in zip(ends, starts, strict=True)]


def _without_thoughts(gap: str) -> str:
    """Removes reasoning and invented observations."""
    observed = _OBSERVED.search(gap) if "Observation" in gap else None
    return thinking.CLOSING_TAG.split(gap[: observed.start()] if observed else gap)[-1]


def _words_of(text: str) -> str:
    """Removes markup and labels of lists, and writes every apostrophe as `'`."""
    if not text or text.isspace():
        return ""
    return _LABEL.sub(" ", _MARKUP.sub(" ", text.replace("’", "'"))).strip(" \n\t\r,[](){}\"'|").removeprefix(";")


def _announcement_kind(text: str, piece: Piece, before: str, *, writes: bool) -> ProposalKind | None:
    """Returns the kind that the sentence directly before a call gives it, by asking or by leading up to the call.

    A complete sentence leads up only to a call that writes, as wrongly running one does more harm.
    """
    line = before.rpartition("\n")[2]
    is_object = before[-1:] not in _FINAL
    sentence = _SENTENCE_END.split(line.rstrip(_CLOSING))[-1].lower()
    if _ENDS_ASKING.search(before) or (_words("unreal").search(sentence) and _QUESTION.search(line)):
        return "question" if text[piece.start - 1].isspace() else None
    return _sentence_kind(sentence, writes * (1 + is_object)) if writes or is_object else None


def _sentence_kind(sentence: str, care: int) -> ProposalKind | None:
    """Returns the kind that a sentence leading up to a call gives it, by the `_MOODS` up to the level `care`."""
    care = min(care, 1) if _ACT.match(sentence.strip()) else care
    clauses = [clause.strip() for clause in _CLAUSE_END.split(sentence)]
    places = {"sentence": [sentence], "clauses": clauses, "last": clauses[-1:], "main": [_main_clause(clauses)]}
    for kind, words, find, place, level in _MOODS:
        if level <= care and any(find(_words(words), part) for part in places[place]):
            return kind
    return None


def _main_clause(clauses: list[str]) -> str:
    """Returns the last clause without reasons, as `I do not know that, so I look it up` is not a refusal."""
    while len(clauses) > 1 and _words("because").match(clauses[-1]):
        clauses = clauses[:-1]
    return next(filter(None, reversed(_words("so").split(clauses[-1]))), "")


@cache
def _words(kind: str) -> re.Pattern[str]:
    """Returns a pattern that matches all words of a kind, in lower case."""
    listed = {word.strip().lower() for head, words in _rows() if head == kind for word in words}
    by_borders: dict[tuple[str, str], set[str]] = {}
    for word in listed:
        by_borders.setdefault(_borders(word), set()).add(word.strip("~^ "))
    spaced = ((borders, one_of(words).replace(r"\ ", r"\s+")) for borders, words in by_borders.items())
    return re.compile("|".join(f"{before}{words}{behind}" for (before, behind), words in spaced))


@cache
def _rows() -> list[tuple[str, list[str]]]:
    """Returns the kind and the words in each row of `restraint.txt`."""
    rows = files(__package__).joinpath("restraint.txt").read_text(encoding="utf-8").splitlines()
    parted = (row.partition(":") for row in rows if not row.startswith("#"))
    return [(head.split()[0], words.split(" | ")) for head, _, words in parted]


def _borders(word: str) -> tuple[str, str]:
    if _UNSPACED.search(word):
        return "", ""
    if word.startswith("^"):
        return r"\A", f"(?!{_LETTER})"
    before = f"(?<!{_LETTER})" + (f"{_LETTER}*?" if word.startswith("~") else "")
    return before, ("" if word.endswith("~") else f"(?!{_LETTER})")
