"""Parses a planning model's reply: the answer itself, guidance for the model that has the tools, or neither."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal, cast

from ..core.files import prompt_template
from ..wire.dialects.thinking import ThoughtFilter

Kind = Literal["analysis", "guidance", "summary", "other"]
_HEADING_CHARACTERS = 240
"""The longest heading: only this many characters of a line decide whether it is one, which bounds the work per line."""
_FORMATS: Mapping[str, Kind] = {"1": "summary", "2": "guidance", "3": "other"}
_STRENGTHS = ("also", "meant", "own")
_OWN_STRENGTH = _STRENGTHS.index("own")
_HEADING = re.compile(
    r"""[ \t\ufeff\u200b]{0,3}
    (?P<bullet>[-*+\u2022][ \t]+)?
    (?P<lead>[ \t#=~*_`\[【<\u2600-\u27bf\U0001f300-\U0001faff\ufe0f-]{0,16})
    (?:(?P<format>format|格式)[ \t]*(?P<digit>[123])|(?P<number>\d{1,2}|[一二三①②③]|i{1,3}(?=[.)])))?
    (?P<inner>[ \t.):\uff1a、\u2013\u2014\ufe0f\u20e3*_`\[【<-]{0,8})
    (?P<label>[^\W\d_](?:[^\W\d_]|[\u0300-\u036f \t\u00a0\u202f&'\u2019/]){0,59})?
    (?P<close>[*_`\]】>]{0,6})
    (?:[ \t]*(?:(?<=[ \t])\(|\uff08)[^()\uff08\uff09/\n]{0,80}[)\uff09])?
    (?P<mark>[ \t]*(?:[:\uff1a\ufe55]{1,2}|[\u2013—-]{1,2}(?=\s|$)|[=~\#-]{1,8}(?=\s*$)))?
    (?P<end>[*_`]{0,3})
    (?P<rest>.*)$""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_ADDRESSEE = re.compile(
    r" (?:for|to|an|fur|pour|para|per) [a-z ]*(?:aux|ausil|hilf|assistant|execut|agent)[a-z -]*$| section$| ?/.*$"
)
# Text in a section that the model should have left out, alone or with a reason; it counts only next to another section.
_BLANK = re.compile(
    r"""(?:none|nothing|empty|keine|entfallt|无|無|没有|不适用|aucune?|ningun[oa])
        (?=$|\s?[(/]|\s[-\u2013\u2014]|\s(?:because|since)\b)
    | (?:n/?a|omitted|skipped|pending|tbd|(?:to|will)\sbe\s(?:added|determined|provided)
        |no\s(?:guidance|summary)(?:\s(?:needed|required|yet))?
        |not\s(?:yet\s)?(?:applicable|available|necessary|needed|provided|required))
        (?=$|\s?[(/;,.\u2013\u2014-]|\s(?:after|as|at|because|before|for|here|once|since|until|when|yet)\b)""",
    re.VERBOSE,
)
_WRAPPING = "[](){}<>.。*_`~-\u2013\u2014=\u2026\"' \t\r\n"
_FENCE = re.compile(r"[ \t]*(?P<marks>`{3,}(?=[^`]*$)|~{3,})", re.DOTALL)
_LONGEST_BLANK = 120
Parts = Mapping[str, str]
Outcome = Literal["summary", "guidance", "other"]


@dataclass(frozen=True, slots=True)
class PlanReply:
    """The final answer, guidance for the model with the tools (with or without `analysis`), or the unchanged reply."""

    outcome: Outcome
    text: str
    analysis: str = ""


def parse(text: str) -> PlanReply:
    """Parses a whole reply, in time linear in its length."""
    reader = PlanReader()
    reader.feed(text)
    return reader.close()


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
_PLACEHOLDERS = {
    _plain_words(text)
    for text in re.findall(r"^\[(.+)\]$", prompt_template(__package__, "boost").template, re.MULTILINE)
}
"""What stands for the content in the formats that the model is shown: a copy of it has no content."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that opens a section; `rest` is the text after it on the same line. "FORMAT 1" alone has no `label`.

    `strength` is 2 for the format's own words, 1 for other words that are meant as such, 0 for words that may also
    begin a paragraph. `dress` is how it is written: one author writes all headings alike. `is_item` is true if it looks
    like something else too: a list item, code or a tag. `shouted` means the format's own words in capitals.
    """

    kind: Kind
    strength: int
    rest: str
    dress: tuple[object, ...]
    is_item: bool
    shouted: bool
    label: str

    @property
    def tag(self) -> str:
        """The name of a heading written as `<name>`."""
        return self.label if "<" in self.dress else ""


def _heading(line: str) -> Heading | None:
    """Returns the heading that a line is, if any; `line` has at most its first `_HEADING_CHARACTERS` characters."""
    parts = cast(re.Match[str], _HEADING.match(line)).groupdict("")  # every part is optional, so each line matches
    meant = _meaning(parts)
    if not (meant and _is_whole(parts) and _is_set_off(parts, meant[1])):
        return None
    opened, is_capital = _openers(parts), _is_capital(parts)
    bullet, number = parts["bullet"].strip(), bool(parts["number"]) and "#" not in parts["lead"]
    dress = (*sorted(opened), "#" in parts["lead"], bullet, number, is_capital)
    is_item = bool(bullet or number or opened & {*"`<"})
    shouted = is_capital and meant[1] == _OWN_STRENGTH
    return Heading(*meant, _text_after(parts), dress, is_item, shouted, parts["label"])


def _meaning(parts: Parts) -> tuple[Kind, int] | None:
    """Returns the kind and strength of a heading, if it has a meaning.

    In a tag only the format's own words count; "FORMAT 1" counts only if something ends it.
    """
    label = _plain_words(parts["label"])
    if label not in ("", "other"):
        meant = _WORDS.get(_ADDRESSEE.sub("", label))
        return None if "<" in _openers(parts) and meant and meant[1] < _OWN_STRENGTH else meant
    is_ended = bool(parts["inner"].strip() + parts["mark"] + parts["close"]) or not parts["rest"].strip()
    kind = _FORMATS.get(parts["digit"])
    return (kind, _OWN_STRENGTH) if kind and is_ended else None


def _openers(parts: Parts) -> set[str]:
    """Returns the signs around a heading: bold, italics, code, brackets."""
    return {*parts["lead"], *parts["inner"]} & {*"*_`[【<"}


def _is_enclosed(parts: Parts) -> bool:
    return bool(_openers(parts) and parts["close"] + parts["end"])


def _has_colon(parts: Parts) -> bool:
    return parts["mark"].strip().startswith((":", "\uff1a", "\ufe55"))


def _is_capital(parts: Parts) -> bool:
    return (parts["label"] or parts["format"]).isupper()


def _is_loud(parts: Parts) -> bool:
    return _is_capital(parts) or _is_enclosed(parts) or "#" in parts["lead"]


def _is_whole(parts: Parts) -> bool:
    """Checks that what is opened is closed, and that a list item, or a word in code, is more than that."""
    is_closed = _is_enclosed(parts) or _openers(parts).isdisjoint("`[【<")
    if "`" in _openers(parts) and not _has_colon(parts):
        return False
    return is_closed and (not parts["bullet"] or _is_loud(parts))


def _is_set_off(parts: Parts, strength: int) -> bool:
    """Checks whether a line stands out from its text as a heading does."""
    if _has_colon(parts) or not parts["label"]:
        return True
    if parts["mark"] or not parts["rest"].strip():
        return _is_loud(parts) or (strength > 0 and not parts["mark"])
    return _is_enclosed(parts) and not {parts["rest"][0], parts["close"]}.isdisjoint(" \t】>")


def _text_after(parts: Parts) -> str:
    """Returns the text after the heading, with the emphasis that covers both, or the text alone."""
    if not (opened := _openers(parts)):
        return parts["end"] + parts["rest"]
    is_closed = _is_enclosed(parts) or not parts["rest"].strip()
    return parts["rest"] if is_closed else 2 * max(opened) + parts["rest"].lstrip()


@dataclass(slots=True)
class _ReplySection:
    """The text after a heading, or before the first one."""

    heading: Heading | None = None
    pieces: list[str] = field(default_factory=list)
    blank: bool = True

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
        return self.heading.tag if self.heading else ""

    @property
    def text(self) -> str:
        """The section's text; for a tag, without the last `</name>`."""
        whole = "".join(self.pieces)
        return ("".join(whole.rpartition(f"</{self.tag}>")[::2]) if self.tag else whole).strip()

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.blank = self.blank and not text.strip()

    def yields_to(self, found: Heading) -> bool:
        """Checks whether a heading ends this section, rather than being a line of it."""
        if self.heading is None or (found.kind == self.kind and self.blank):
            return True
        is_alike = found.dress == self.heading.dress
        if found.is_item and not (is_alike or (self.blank and not self.heading.label)):
            return False
        return self._is_ended_by(found, is_alike=is_alike)

    def _is_ended_by(self, found: Heading, *, is_alike: bool) -> bool:
        """Checks whether a heading of this kind ends the section.

        Models may write an answer twice, and an answer may have sections of its own.
        """
        if found.kind == self.kind:
            return is_alike and found.shouted
        if self.is_answer:
            return (is_alike and found.strength == _OWN_STRENGTH) or (self.blank and found.shouted)
        return found.strength > 0 or found.kind == "guidance"


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
        if summary := self._text_of("summary", certain=True):
            return PlanReply("summary", summary)
        if guidance := self._text_of("guidance"):
            return PlanReply("guidance", guidance, self._text_of("analysis"))
        summary = self._text_of("summary", may_be_blank=True)
        return PlanReply("summary", summary) if summary else PlanReply("other", "".join(self._all))

    def _text_of(self, kind: Kind, *, certain: bool = False, may_be_blank: bool = False) -> str:
        """Joins the texts of all sections of a kind, except those that say there is nothing to say."""
        texts = (section.text for section in self._sections if section.kind == kind and section.is_certain >= certain)
        return "\n\n".join(text for text in texts if not _is_void(text, may_be_blank=may_be_blank))

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
            self._sections[-1].add(f"\n{start}{rest}")
            return
        if self._sections[-1] is self._answer and _is_void(self._answer.text):
            self._answer = None
        self._sections.append(section := _ReplySection(found))
        section.add(found.rest + rest)
        if section.is_answer:
            self._answer = self._answer or section

    def _is_code(self, line: str) -> bool:
        """Checks whether the line opens a code fence, is inside of one, or closes it."""
        found = _FENCE.match(line)
        marks = found["marks"] if found else ""
        if not self._fence:
            self._fence = marks
            return bool(marks)
        if marks.startswith(self._fence) and line.strip() == marks:
            self._fence = ""
        return True


def _is_void(text: str, *, may_be_blank: bool = False) -> bool:
    """Checks whether a text has no content, or says so itself. A plan after "pending" is still a plan."""
    if len(text) > _LONGEST_BLANK:
        return False
    words = _plain_words(text.strip(_WRAPPING))
    return not words or words in _PLACEHOLDERS or not (may_be_blank or not _BLANK.match(words))
