"""What a planning model's reply is: the answer itself, guidance for the model that has the tools, or neither."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..wire.dialects.thinking import OPEN, closer
from ._boost_headings import WIDTH, Heading, Kind, heading, plain_words

# What fills a section that was to be left out, where there is another one: alone, or with the reason why.
_BLANK = re.compile(
    r"""(?:none|nothing|empty|keine|entfallt|无|無|没有|不适用|aucune?|ningun[oa])
        (?=$|\s?[(/]|\s[-\u2013\u2014]|\s(?:because|since)\b)
    | (?:n/?a|omitted|skipped|pending|tbd|(?:to|will)\sbe\s(?:added|determined|provided)
        |no\s(?:guidance|summary)(?:\s(?:needed|required|yet))?
        |not\s(?:yet\s)?(?:applicable|available|necessary|needed|provided|required))
        (?=$|\s?[(/:;,.\u2013\u2014-]|\s(?:after|as|at|because|before|for|here|once|since|until|when|yet)\b)""",
    re.VERBOSE,
)
# What stands in the formats as they are shown to the model: a copy of it says nothing.
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
_LONGEST_TAG = 40
Blank = Callable[[str], re.Match[str] | None]
Outcome = Literal["summary", "guidance", "other"]


@dataclass(frozen=True, slots=True)
class SummaryReply:
    """The final answer."""

    text: str
    outcome: ClassVar[Outcome] = "summary"


@dataclass(frozen=True, slots=True)
class GuidanceReply:
    """What the model with the tools is to do; `analysis` is empty when there is none."""

    guidance: str
    analysis: str = ""
    outcome: ClassVar[Outcome] = "guidance"


@dataclass(frozen=True, slots=True)
class OtherReply:
    """A reply without a summary and without guidance, as it is."""

    text: str
    outcome: ClassVar[Outcome] = "other"


PlanReply = SummaryReply | GuidanceReply | OtherReply


def parse(text: str) -> PlanReply:
    """Read a whole reply, in time linear in its length."""
    reader = PlanReader()
    reader.feed(text)
    return reader.close()


def is_plan(text: str) -> bool:
    """Whether a whole reply has a summary or guidance."""
    return not isinstance(parse(text), OtherReply)


@dataclass(slots=True)
class _ReplySection:
    """What stands behind a heading, or before the first one."""

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
        """Whether its heading can't be taken for the beginning of a paragraph."""
        return self.heading is not None and self.heading.strength > 0

    @property
    def text(self) -> str:
        """What it says; of one that is written as `<name>`, without its last `</name>`."""
        said = "".join(self.pieces)
        if self.heading and self.heading.tag:
            closings = [*re.finditer(rf"</\s?{re.escape(self.heading.tag)}\s?>", said, re.IGNORECASE)]
            said = said[: closings[-1].start()] + said[closings[-1].end() :] if closings else said
        return said.strip()

    def add(self, text: str) -> None:
        if self.heading:
            self.pieces.append(text)
        self.blank = self.blank and not text.strip()
        self.tag_closed = self.tag_closed or "</" in text

    def add_line(self, start: str, rest: str) -> None:
        if item := _ITEM.match(start):
            self.last_item = int(item[1])
        if not (self.heading and self.blank and _UNDERLINE.match(start)):
            self.add(start + rest)

    def yields_to(self, found: Heading) -> bool:
        """Whether a heading ends this section, rather than being a line of it."""
        if self.heading is None or (found.kind == self.kind and self.blank):
            return True
        if not self._is_heading_here(found, self.heading):
            return False
        if found.kind == self.kind:
            return self._is_repeated(found, self.heading)
        return self._is_ended_by(found, self.heading)

    def _is_repeated(self, found: Heading, heading: Heading) -> bool:
        """Whether it says once more what kind of section this is, as models do that write an answer twice."""
        return found.strength == 2 and found.dress == heading.dress and (found.shouted or bool(found.tag))

    def _is_ended_by(self, found: Heading, heading: Heading) -> bool:
        """An answer may have sections of its own, and a word that begins a paragraph makes no section of it."""
        if self.kind == "summary" and self.is_certain:
            return found.strength == 2 and (found.dress == heading.dress or (self.blank and found.shouted))
        return found.strength > 0 or (self.kind != "guidance" and found.kind == "guidance")

    def _is_heading_here(self, found: Heading, heading: Heading) -> bool:
        """What has a number, or looks like an item, code or a tag, is a heading only among headings that do, too."""
        if heading.tag and not found.tag:
            return self.tag_closed
        is_first = self.blank and not self.is_certain
        return (is_first or found.looks <= heading.looks) and self._is_no_item(found, heading)

    def _is_no_item(self, found: Heading, heading: Heading) -> bool:
        """A number makes a heading where headings are numbered; elsewhere it makes an item of a list."""
        if not found.number or found.dress.startswith("#") or (found.shouted and found.alone):
            return True
        return not (found.number > 1 and self.last_item == found.number - 1) and heading.number == found.number - 1


class PlanReader:
    """Reads a reply piece by piece, as it comes; the pieces may be cut anywhere."""

    def __init__(self) -> None:
        self._sections = [_ReplySection()]
        self._all: list[str] = []
        self._thoughts = _ThoughtFilter()
        self._start = ""
        self._is_begun = False
        self._fence = ""
        self._settled = _SettledSummary()

    def feed(self, text: str) -> None:
        """Take more of the reply."""
        self._all.append(text)
        self._read(self._thoughts.feed(text))

    def take_settled(self) -> str:
        """Return more of the summary's text, as far as nothing that may still come can change it."""
        return self._settled.take(self._sections)

    def close(self) -> PlanReply:
        """Return what the reply is."""
        self._read(self._thoughts.rest())
        self._end_line()
        if summary := self._text_of("summary", _BLANK.match, certain=True):
            return SummaryReply(summary)
        if guidance := self._text_of("guidance", _BLANK.fullmatch):
            return GuidanceReply(guidance, self._text_of("analysis", _BLANK.match))
        summary = self._text_of("summary", None)
        return SummaryReply(summary) if summary else OtherReply("".join(self._all))

    def _text_of(self, kind: Kind, blank: Blank | None, *, certain: bool = False) -> str:
        """What all sections of a kind say, without those that say that there is nothing to say."""
        texts = (section.text for section in self._sections if section.kind == kind and section.is_certain >= certain)
        return "\n\n".join(text for text in texts if not _is_void(text, blank))

    def _read(self, text: str) -> None:
        first, *others = text.split("\n")
        self._read_line(first)
        for line in others:
            self._end_line()
            self._read_line(line)

    def _read_line(self, text: str) -> None:
        """Read more of the current line."""
        if self._is_begun:
            self._sections[-1].add(text)
            return
        self._start += text
        if len(self._start) >= WIDTH:
            self._begin_line()

    def _begin_line(self) -> None:
        """Decide what the line is: so much of it is there."""
        start, rest = self._start[:WIDTH], self._start[WIDTH:]
        self._start, self._is_begun = "", True
        found = None if self._is_code(start) else heading(start)
        if found and self._sections[-1].yields_to(found):
            self._sections.append(_ReplySection(found))
            self._sections[-1].add(found.rest + rest)
        else:
            self._sections[-1].add_line(start, rest)

    def _end_line(self) -> None:
        if not self._is_begun:
            self._begin_line()
        self._sections[-1].add("\n")
        self._is_begun = False

    def _is_code(self, line: str) -> bool:
        """Whether the line opens a fence, stands inside of one, or closes it."""
        found = _FENCE.match(line)
        marks = (found["ticks"] or found["tildes"]) if found else ""
        if not self._fence:
            self._fence = marks
            return bool(marks)
        if marks.startswith(self._fence) and line.strip() == marks:
            self._fence = ""
        return True


class _SettledSummary:
    """Takes the text of the summary out of the sections, each piece once."""

    def __init__(self) -> None:
        self._at = 0
        self._taken = 0
        self._held: list[str] = []
        self._is_begun = False
        self._has_said = False

    def take(self, sections: list[_ReplySection]) -> str:
        said: list[str] = []
        while True:
            section, is_last = sections[self._at], self._at == len(sections) - 1
            if section.kind == "summary" and section.is_certain:
                if section.heading and section.heading.tag:  # where it ends is known when all is there
                    return "".join(said)
                said.append(self._take_from(section, is_closed=not is_last))
            if is_last:
                return "".join(said)
            self._at, self._taken, self._held, self._is_begun = self._at + 1, 0, [], False

    def _take_from(self, section: _ReplySection, *, is_closed: bool) -> str:
        new = section.pieces[self._taken :]
        self._taken += len(new)
        self._held += new
        if not (is_closed or any(map(str.strip, new))):
            return ""
        text = "".join(self._held)
        if not self._is_begun:
            stripped = text.strip()
            if _is_void(stripped, _BLANK.match) if is_closed else len(stripped) <= _LONGEST_BLANK:
                return ""
            self._is_begun = True
            text = ("\n\n" if self._has_said else "") + text.lstrip()
            self._has_said = True
        said = text.rstrip()
        self._held = [text[len(said) :]]
        return said


class _ThoughtFilter:
    """Passes on what stands behind the reasoning that a text begins with; without any, all of it."""

    def __init__(self) -> None:
        self._held = ""
        self._closer: re.Pattern[str] | None = None
        self._is_past = False

    def feed(self, text: str) -> str:
        if self._is_past:
            return text
        self._held += text
        if self._closer is None:
            self._held = self._held.lstrip()
            if not (opened := OPEN.match(self._held)):
                is_open = not self._held or (self._held[0] in "<[◁" and len(self._held) < _LONGEST_TAG)
                self._is_past = not is_open
                return "" if is_open else self.rest()
            self._closer = closer(opened)
        if not (closed := self._closer.search(self._held)):
            self._held = self._held[-_LONGEST_TAG:]
            return ""
        self._is_past, self._closer = True, None
        text, self._held = self._held[closed.end() :], ""
        return text

    def rest(self) -> str:
        """Return what was held back as it might have become reasoning; reasoning without an end is never passed on."""
        held, self._held = self._held, ""
        return "" if self._closer else held


def _is_void(text: str, blank: Blank | None) -> bool:
    """Whether it says nothing, or what is `blank`. What a plan says behind "pending" is a plan."""
    if len(text) > _LONGEST_BLANK:
        return False
    said = plain_words(text.strip(_WRAPPING))
    return not said or said in _PLACEHOLDERS or bool(blank and blank(said))
