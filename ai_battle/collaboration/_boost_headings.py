"""The headings of a planning model's reply, in the many ways in which models write them."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, cast

Kind = Literal["analysis", "guidance", "summary", "other"]
WIDTH = 240
"""No heading is longer: only so much of a line decides whether it is one."""

_FORMATS: dict[int, Kind] = {1: "summary", 2: "guidance", 3: "other"}
_NUMERALS = {"一": 1, "二": 2, "三": 3}

_STRENGTHS = ("also", "meant", "own")


def folded(text: str) -> str:
    """Without case, accents and surplus spaces."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss").casefold())
    return " ".join("".join(mark for mark in plain if not unicodedata.combining(mark)).split())


def _words() -> Iterator[tuple[str, tuple[Kind, int]]]:
    for line in files(__package__).joinpath("_boost_words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            meaning, _, words = line.partition(":")
            kind, strength = meaning.split()
            yield from ((folded(word), (cast(Kind, kind), _STRENGTHS.index(strength))) for word in words.split(","))


WORDS: Mapping[str, tuple[Kind, int]] = dict(_words())
_HEADING = re.compile(
    r"""[ \t\ufeff]{0,3}
    (?P<hashes>\#{1,6}[ \t]*)?
    (?P<rule>[=~-]{2,8}[ \t]*)?
    (?:[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?[ \t]*)?
    (?P<outer>\*{1,3}|_{1,3})?
    (?P<count>(?P<format>(?:format|section|part|option|teil|partie|parte|格式|部分)[ \t]*)?
       \(?(?P<number>\d{1,2}|[一二三①②③④])(?P<dot>[ \t]?[.):\uff1a、\u2013—-]*)(?P<close>\*{1,3}|_{1,3})?[ \t]*)?
    (?P<inner>\*{1,3}|_{1,3})?
    (?P<bracket>[\[【「])?
    (?P<label>[^\W\d_](?:[^\W\d_]|[\u0300-\u036f]|[ \t&'\u2019/]){0,59})?
    (?P<unbracket>[\]】」])?
    (?:[ \t]*(?P<qualifier>[(\uff08][^()\uff08\uff09/\n]{0,80}[)\uff09]))?
    (?:[ \t]*(?P<before>\*{1,3}|_{1,3}))?
    (?:[ \t]*(?P<mark>[:\uff1a]|[\u2013—-]{1,2}(?=\s|$)|[=~-]{2,8}(?=\s*$)))?
    (?P<after>\*{1,3}|_{1,3})?
    (?P<rest>.*)$""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_TO_WHOM = re.compile(
    r" (?:for|to|an|fur|pour|para) (?:the |das |le |el )?(?:auxiliary|aux|hilfs|auxiliar)[a-z -]*$| section$"
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that opens a section; `rest` is what stands behind it on the same line.

    `strength` is 2 for the format's own words, 1 for others that are meant as such, 0 for words that may as well begin
    a paragraph. `dress` is how it is written: two headings of one author are dressed alike. `number` is 0 for none.
    """

    kind: Kind
    strength: int
    dress: str
    rest: str
    number: int = 0
    shouted: bool = False

    @property
    def alone(self) -> bool:
        return not self.rest.strip()


def heading(line: str) -> Heading | None:
    """The heading that a line is; `line` is its first `WIDTH` characters at most."""
    found = _HEADING.match(line)
    if not found or not (found["label"] or found["format"]):
        return None
    meant = _meant(found)
    if meant is None or bool(found["bracket"]) != bool(found["unbracket"]):
        return None
    shouted = (found["label"] or found["format"]).isupper()
    rest, bold = _rest(found)
    if not _is_set_off(found, meant[1], rest, bold=bold, shouted=shouted):
        return None
    dress = f"{(found['hashes'] or '').strip()}{'*' * bold}{found['bracket'] or ''}{'A' if shouted else 'a'}"
    return Heading(*meant, dress, rest, 0 if found["format"] else _number(found), shouted)


def _meant(found: re.Match[str]) -> tuple[Kind, int] | None:
    if found["label"]:
        label = folded(found["label"])
        if found["format"] and label == "other":
            return "other", 0
        return WORDS.get(label) or WORDS.get(_TO_WHOM.sub("", label))
    ended = found["dot"].strip() or found["mark"] or found["before"] or not found["rest"].strip()
    kind = _FORMATS.get(_number(found))
    return (kind, 0) if kind and ended and found["format"].strip().casefold() in ("format", "格式") else None


def _number(found: re.Match[str]) -> int:
    number = found["number"]
    if not number:
        return 0
    return _NUMERALS.get(number) or int(unicodedata.digit(number[0]) if len(number) == 1 else int(number))


def _rest(found: re.Match[str]) -> tuple[str, bool]:
    """What stands behind the heading, and whether that is in bold; marks of its own it keeps."""
    opened, rest = found["inner"] or (found["outer"] if not found["close"] else None), found["rest"]
    before, after = found["before"] or "", found["after"] or ""
    if found["hashes"] and not rest.strip(" \t#\r"):
        rest = ""
    if not opened:
        return before + after + rest, False
    if before:
        return after + rest, True
    if after or not rest.strip():
        return rest, True
    return opened + rest.lstrip(), True


def _is_set_off(found: re.Match[str], strength: int, rest: str, *, bold: bool, shouted: bool) -> bool:
    """Whether it stands out from its text as a heading does."""
    alone = not rest.strip()
    closed = bold and bool(found["before"] or found["after"] or alone)
    marked = bool(found["hashes"] or found["rule"] or found["bracket"]) or closed
    if found["mark"] in (":", "\uff1a") or not found["label"]:
        return True
    if found["mark"]:
        return alone or marked or shouted
    if alone:
        return marked or strength > 0
    return (closed or bool(found["bracket"])) and strength > 0 and rest[0].isspace()
