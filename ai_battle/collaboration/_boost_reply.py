"""Parses a planning model's reply: the answer itself, guidance for the model that has the tools, or neither."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import ClassVar, Literal, cast

from ..wire.dialects.thinking import ThoughtFilter

Kind = Literal["analysis", "guidance", "summary", "other"]
_HEADING_CHARACTERS = 240
"""The longest heading: only this many characters of a line decide whether it is one, which bounds the work per line."""
_FORMATS: Mapping[int, Kind] = {1: "summary", 2: "guidance", 3: "other"}
_STRENGTHS = ("also", "meant", "own")
_OWN_STRENGTH = _STRENGTHS.index("own")
_NUMERALS = {"一": 1, "①": 1, "i": 1, "二": 2, "②": 2, "ii": 2, "三": 3, "③": 3, "iii": 3}
_SIGN = r"(?:[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?[ \t]*)?"
_EMPHASIS = r"\*{1,3}|_{1,3}"
# Brackets and ticks that open have to close: `(?(tick)...)` requires what follows only if `tick` matched.
_HEADING = re.compile(
    rf"""[ \t\ufeff\u200b\u00a0]{{0,3}}
    (?P<bullet>[-*+\u2022][ \t]+)?
    (?P<hashes>\#{{1,6}}[ \t]*)?
    (?P<rule>[=~-]{{2,8}}[ \t]*)?
    {_SIGN}(?P<outer>{_EMPHASIS})?{_SIGN}
    (?P<count>(?P<format>(?:format|section|part|option|teil|partie|parte|格式|部分)[ \t]*)?
       \(?(?P<number>\d{{1,2}}|[一二三①②③]|i{{1,3}}(?=[.)]))
       (?:\ufe0f?\u20e3)?(?P<dot>[ \t]?[.):\uff1a、\u2013—-]*)(?P<close>{_EMPHASIS})?[ \t]*)?
    (?P<inner>{_EMPHASIS})?
    (?P<tick>`)?
    (?P<bracket>[\[【「<])?
    (?P<label>[^\W\d_](?:[^\W\d_]|[\u0300-\u036f]|[ \t\u00a0\u202f&'\u2019/]){{0,59}})?
    (?(bracket)[\]】」>])
    (?(tick)(?P<untick>`)?)
    (?:[ \t]*(?:(?<=[ \t])\(|\uff08)[^()\uff08\uff09/\n]{{0,80}}[)\uff09])?
    (?:[ \t]*(?P<before>{_EMPHASIS}))?
    (?:[ \t]*(?P<mark>[:\uff1a\ufe55]{{1,2}}|[\u2013—-]{{1,2}}(?=\s|$)|[=~-]{{2,8}}(?=\s*$)))?
    (?(tick)(?(untick)|`))
    (?(before)|(?P<after>{_EMPHASIS})?)
    (?:[ \t]*\#+(?=\s*$))?
    (?P<rest>.*)$""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_ADDRESSEE = re.compile(
    r" (?:for|to|an|fur|pour|para|per) [a-z ]*(?:aux|ausil|hilf|assistant|execut|agent)[a-z -]*$| section$| ?/.*$"
)
_COLONS = tuple(":\uff1a\ufe55")
# Text in a section that the model should have left out, alone or with a reason; it counts only next to another section.
_BLANK = re.compile(
    r"""(?:none|nothing|empty|keine|entfallt|无|無|没有|不适用|aucune?|ningun[oa])
        (?=$|\s?[(/]|\s[-\u2013\u2014]|\s(?:because|since)\b)
    | (?:n/?a|omitted|skipped|pending|tbd|(?:to|will)\sbe\s(?:added|determined|provided)
        |no\s(?:guidance|summary)(?:\s(?:needed|required|yet))?
        |not\s(?:yet\s)?(?:applicable|available|necessary|needed|provided|required))
        (?=$|\s?[(/:;,.\u2013\u2014-]|\s(?:after|as|at|because|before|for|here|once|since|until|when|yet)\b)""",
    re.VERBOSE,
)
# Placeholders in the formats that the model is shown: a copy of one has no content.
_PLACEHOLDERS = frozenset({
    "provide the final answer directly without using auxiliary models", "the final answer, as the user shall read it",
    "reasoning and understanding of the request context", "how you understand the request, and what is known so far",
    "instructions for the auxiliary model's tasks (include which tools to call",
    "what the auxiliary model shall do: which tools to call, in which order, with which arguments",
    "any response that doesn't match format 1 or 2",
})  # fmt: skip
_WRAPPING = "[](){}<>.。*_`~-\u2013\u2014=\u2026\"' \t\r\n"
_FENCE = re.compile(r"[ \t]*(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,}).*)$", re.DOTALL)
_UNDERLINE = re.compile(r"[ \t]*={3,}[ \t\r]*$")
_ITEM = re.compile(r"[ \t]*(\d{1,2})[.)、][ \t]")
_LONGEST_BLANK = 120
Parts = Mapping[str, str]
Blank = Callable[[str], re.Match[str] | None]
Outcome = Literal["summary", "guidance", "other"]


@dataclass(frozen=True, slots=True)
class SummaryReply:
    """The final answer."""

    text: str
    outcome: ClassVar[Outcome] = "summary"


@dataclass(frozen=True, slots=True)
class GuidanceReply:
    """Guidance for the model with the tools; `analysis` is empty if there is none."""

    guidance: str
    analysis: str = ""
    outcome: ClassVar[Outcome] = "guidance"


@dataclass(frozen=True, slots=True)
class OtherReply:
    """A reply with neither summary nor guidance, unchanged."""

    text: str
    outcome: ClassVar[Outcome] = "other"


PlanReply = SummaryReply | GuidanceReply | OtherReply


def parse(text: str) -> PlanReply:
    """Parses a whole reply, in time linear in its length."""
    reader = PlanReader()
    reader.feed(text)
    return reader.close()


def is_plan(text: str) -> bool:
    """Checks whether a whole reply has a summary or guidance."""
    return not isinstance(parse(text), OtherReply)


def _plain_words(text: str) -> str:
    """Returns the words without case, accents and extra spaces."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss").casefold())
    return " ".join("".join(mark for mark in plain if not unicodedata.combining(mark)).split())


_WORD_LISTS = tomllib.loads(files(__package__).joinpath("_boost_words.toml").read_text(encoding="utf-8"))
_WORDS: Mapping[str, tuple[Kind, int]] = {
    _plain_words(word): (cast(Kind, kind), strength)
    for strength, name in enumerate(_STRENGTHS)
    for kind, lists in _WORD_LISTS.items()
    for word in lists[name].split(",")
}


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that opens a section; `rest` is the text after it on the same line.

    `strength` is 2 for the format's own words, 1 for other words that are meant as such, 0 for words that may also
    begin a paragraph. `dress` is its formatting: one author formats all headings alike. `looks` are the marks that make
    it look like something else too: a list item, code or a tag. `number` is 0 for none. `shouted` means the format's
    own words in capitals. "FORMAT 1" alone has no `label`.
    """

    kind: Kind
    strength: int
    rest: str
    dress: tuple[object, ...]
    looks: frozenset[str]
    number: int
    shouted: bool
    label: str


def _heading(line: str) -> Heading | None:
    """Returns the heading that a line is, if any; `line` has at most its first `_HEADING_CHARACTERS` characters."""
    parts = cast(re.Match[str], _HEADING.match(line)).groupdict("")  # every part is optional, so each line matches
    if not (meant := _meaning(parts)):
        return None
    rest, shouted = _text_after(parts), (parts["label"] or parts["format"]).isupper()
    is_loud = shouted if parts["mark"] else meant[1] > 0
    if _is_item(parts, shouted=shouted) or not _is_set_off(parts, rest, is_loud=is_loud):
        return None
    looks = frozenset("-*+\u2022`<") & {parts["bullet"].strip(), parts["tick"], parts["bracket"]}
    dress = (parts["hashes"].strip(), bool(_emphasis(parts)), parts["bracket"], shouted, looks)
    number = 0 if parts["format"] + parts["hashes"] else _number(parts["number"])
    return Heading(*meant, rest, dress, looks, number, shouted and meant[1] == _OWN_STRENGTH, parts["label"])


def _meaning(parts: Parts) -> tuple[Kind, int] | None:
    """Returns the kind and strength of a heading, if it has a meaning.

    In a tag only the format's own words count; "FORMAT 1" counts only if something ends it.
    """
    label = _plain_words(parts["label"])
    if label not in ("", "other"):
        meant = _WORDS.get(_ADDRESSEE.sub("", label))
        return None if parts["bracket"] == "<" and meant and meant[1] < _OWN_STRENGTH else meant
    is_ended = any((parts["dot"].strip(), parts["mark"], parts["before"], not parts["rest"].strip()))
    is_format = parts["format"].strip().casefold() in ("format", "格式")
    kind = _FORMATS.get(_number(parts["number"]))
    return (kind, _OWN_STRENGTH) if kind and is_format and is_ended else None


def _number(digits: str) -> int:
    return _NUMERALS.get(digits.lower()) or int(digits or 0)


def _emphasis(parts: Parts) -> str:
    """Returns what opens the heading's bold or italics, unless these cover its number alone."""
    return parts["inner"] or ("" if parts["close"] else parts["outer"])


def _text_after(parts: Parts) -> str:
    """Returns the text after the heading, including marks that don't belong to the heading."""
    closing, rest = parts["before"] + parts["after"], parts["rest"]
    if not (bold := _emphasis(parts)):
        return closing + rest
    return rest if closing or not rest.strip() else bold + rest.lstrip()


def _is_enclosed(parts: Parts) -> bool:
    return bool(parts["bracket"] + parts["before"] + parts["after"])


def _is_item(parts: Parts, *, shouted: bool) -> bool:
    """Checks whether a heading is only a list item, or a word in code."""
    is_code = bool(parts["tick"]) and not parts["mark"].startswith(_COLONS)
    return is_code or (bool(parts["bullet"]) and not (shouted or _is_enclosed(parts)))


def _is_set_off(parts: Parts, rest: str, *, is_loud: bool) -> bool:
    """Checks whether a line stands out from its text as a heading does."""
    if parts["mark"].startswith(_COLONS) or not parts["label"]:
        return True
    if parts["mark"] or not rest.strip():
        return is_loud or _is_enclosed(parts) or bool(parts["hashes"] + parts["rule"])
    return _is_enclosed(parts) and (rest[0].isspace() or parts["bracket"] in ("【", "<"))


@dataclass(slots=True)
class _ReplySection:
    """The text after a heading, or before the first one."""

    heading: Heading | None = None
    pieces: list[str] = field(default_factory=list)
    blank: bool = True
    tag_closed: bool = False
    last_item: int = 0

    @property
    def kind(self) -> Kind | None:
        return self.heading.kind if self.heading else None

    @property
    def is_certain(self) -> bool:
        """True if its heading can't be the beginning of a paragraph."""
        return self.heading is not None and self.heading.strength > 0

    @property
    def is_answer(self) -> bool:
        return self.kind == "summary" and self.is_certain

    @property
    def tag(self) -> str:
        """The name of a section written as `<name>`."""
        return self.heading.label if self.heading and "<" in self.heading.looks else ""

    @property
    def text(self) -> str:
        """The section's text; for a tag, without the last `</name>`."""
        whole = "".join(self.pieces)
        return ("".join(whole.rpartition(f"</{self.tag}>")[::2]) if self.tag else whole).strip()

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.blank = self.blank and not text.strip()
        self.tag_closed = self.tag_closed or "</" in text

    def add_line(self, start: str, rest: str) -> None:
        if item := _ITEM.match(start):
            self.last_item = int(item[1])
        if not (self.blank and _UNDERLINE.match(start)):
            self.add(f"\n{start}{rest}")

    def yields_to(self, found: Heading) -> bool:
        """Checks whether a heading ends this section, rather than being a line of it."""
        if self.heading is None or (found.kind == self.kind and self.blank):
            return True
        if not self._is_heading_here(found, self.heading):
            return False
        return self._is_ended_by(found, is_alike=found.dress == self.heading.dress)

    def _is_ended_by(self, found: Heading, *, is_alike: bool) -> bool:
        """Checks whether a heading of this kind ends the section.

        Models may write an answer twice, and an answer may have sections of its own.
        """
        if found.kind == self.kind:
            return is_alike and found.shouted
        if self.is_answer:
            return (is_alike and found.strength == _OWN_STRENGTH) or (self.blank and found.shouted)
        return found.strength > 0 or found.kind == "guidance"

    def _is_heading_here(self, found: Heading, heading: Heading) -> bool:
        """Checks whether a heading counts here. Numbers, items, code and tags do only among headings of their kind."""
        if self.tag:
            return self.tag_closed
        if found.number and not heading.number == found.number - 1 != self.last_item:
            return False
        return found.looks <= heading.looks or (self.blank and not heading.label)


class PlanReader:
    """Reads a reply as it streams; its pieces may be cut anywhere."""

    def __init__(self) -> None:
        self._sections = [_ReplySection()]
        self._all: list[str] = []
        self._thoughts = ThoughtFilter()
        self._start = ""
        self._is_begun = False
        self._fence = ""
        self._answer: _ReplySection | None = None
        self._taken = 0
        self._held = ""

    def feed(self, text: str) -> None:
        """Reads more of the reply."""
        self._all.append(text)
        self._read(self._thoughts.feed(text))

    def read_settled(self, text: str) -> str:
        """Reads more, and returns more of the first summary's text, as far as later text can't change it."""
        self.feed(text)
        section = self._answer
        if not section or section.tag or not section.pieces[-1].strip():  # a tag's last end is known only at the end
            return ""
        new = self._held + "".join(section.pieces[self._taken :])
        if not self._taken and len(new.strip()) <= _LONGEST_BLANK:
            return ""
        settled = new.rstrip() if self._taken else new.strip()
        self._taken, self._held = len(section.pieces), new[len(new.rstrip()) :]
        return settled

    def close(self) -> PlanReply:
        """Returns the parsed reply."""
        self._read(self._thoughts.rest())
        if not self._is_begun:
            self._begin_line()
        if summary := self._text_of("summary", _BLANK.match, certain=True):
            return SummaryReply(summary)
        if guidance := self._text_of("guidance", _BLANK.fullmatch):
            return GuidanceReply(guidance, self._text_of("analysis", _BLANK.match))
        summary = self._text_of("summary", None)
        return SummaryReply(summary) if summary else OtherReply("".join(self._all))

    def _text_of(self, kind: Kind, blank: Blank | None, *, certain: bool = False) -> str:
        """Joins the texts of all sections of a kind, except those that say there is nothing to say."""
        texts = (section.text for section in self._sections if section.kind == kind and section.is_certain >= certain)
        return "\n\n".join(text for text in texts if not _is_void(text, blank))

    def _read(self, text: str) -> None:
        first, *others = text.split("\n")
        self._read_line(first)
        for line in others:
            if not self._is_begun:
                self._begin_line()
            self._is_begun = False
            self._read_line(line)

    def _read_line(self, text: str) -> None:
        """Reads more of the current line."""
        if self._is_begun:
            self._sections[-1].add(text)
            return
        self._start += text
        if len(self._start) >= _HEADING_CHARACTERS:
            self._begin_line()

    def _begin_line(self) -> None:
        """Decides whether the line is a heading, now that enough of it is known."""
        start, rest = self._start[:_HEADING_CHARACTERS], self._start[_HEADING_CHARACTERS:]
        self._start, self._is_begun = "", True
        found = None if self._is_code(start) else _heading(start)
        if not (found and self._sections[-1].yields_to(found)):
            self._sections[-1].add_line(start, rest)
            return
        if self._sections[-1] is self._answer and _is_void(self._answer.text, _BLANK.match):
            self._answer = None
        self._sections.append(section := _ReplySection(found))
        section.add(found.rest + rest)
        if section.is_answer:
            self._answer = self._answer or section

    def _is_code(self, line: str) -> bool:
        """Checks whether the line opens a code fence, is inside of one, or closes it."""
        found = _FENCE.match(line)
        marks = (found["ticks"] or found["tildes"]) if found else ""
        if not self._fence:
            self._fence = marks
            return bool(marks)
        if marks.startswith(self._fence) and line.strip() == marks:
            self._fence = ""
        return True


def _is_void(text: str, blank: Blank | None) -> bool:
    """Checks whether a text has no content, or is `blank`. A plan after "pending" is still a plan."""
    if len(text) > _LONGEST_BLANK:
        return False
    words = _plain_words(text.strip(_WRAPPING))
    return not words or words in _PLACEHOLDERS or bool(blank and blank(words))
