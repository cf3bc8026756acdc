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
_NUMERALS = {"一": 1, "二": 2, "三": 3, "i": 1, "ii": 2, "iii": 3}

_STRENGTHS = ("also", "meant", "own")
_OWN = _STRENGTHS.index("own")
Parts = Mapping[str, str]


def plain_words(text: str) -> str:
    """Without case, accents and surplus spaces."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss").casefold())
    return " ".join("".join(mark for mark in plain if not unicodedata.combining(mark)).split())


def _words() -> Iterator[tuple[str, tuple[Kind, int]]]:
    for line in files(__package__).joinpath("_boost_words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            meaning, _, words = line.partition(":")
            kind, strength = meaning.split()
            meant = cast(Kind, kind), _STRENGTHS.index(strength)
            yield from ((plain_words(word), meant) for word in words.split(","))


WORDS: Mapping[str, tuple[Kind, int]] = dict(_words())
_HEADING = re.compile(
    r"""[ \t\ufeff\u200b\u00a0]{0,3}
    (?P<bullet>[-*+\u2022][ \t]+)?
    (?P<hashes>\#{1,6}[ \t]*)?
    (?P<rule>[=~-]{2,8}[ \t]*)?
    (?:[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?[ \t]*)?
    (?P<outer>\*{1,3}|_{1,3})?
    (?:[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?[ \t]*)?
    (?P<count>(?P<format>(?:format|section|part|option|teil|partie|parte|格式|部分)[ \t]*)?
       \(?(?P<number>\d{1,2}|[一二三①②③④]|i{1,3}(?=[.)]))
       (?:\ufe0f?\u20e3)?(?P<dot>[ \t]?[.):\uff1a、\u2013—-]*)(?P<close>\*{1,3}|_{1,3})?[ \t]*)?
    (?P<inner>\*{1,3}|_{1,3})?
    (?P<tick>`)?
    (?P<bracket>[\[【「<])?
    (?P<label>[^\W\d_](?:[^\W\d_]|[\u0300-\u036f]|[ \t\u00a0\u202f&'\u2019/]){0,59})?
    (?P<unbracket>[\]】」>])?
    (?P<untick>`)?
    (?:[ \t]*(?P<qualifier>[(\uff08][^()\uff08\uff09/\n]{0,80}[)\uff09]))?
    (?:[ \t]*(?P<before>\*{1,3}|_{1,3}))?
    (?:[ \t]*(?P<mark>[:\uff1a\ufe55]{1,2}|[\u2013—-]{1,2}(?=\s|$)|[=~-]{2,8}(?=\s*$)))?
    (?P<endtick>`)?
    (?P<after>\*{1,3}|_{1,3})?
    (?P<rest>.*)$""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_TO_WHOM = re.compile(
    r" (?:for|to|an|fur|pour|para|per) [a-z ]*(?:aux|ausil|hilf|assistant|execut|agent)[a-z -]*$| section$| ?/.*$"
)
_LOOKS = frozenset("-`<")
_COLONS = tuple(":\uff1a\ufe55")


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that opens a section; `rest` is what stands behind it on the same line.

    `strength` is 2 for the format's own words, 1 for others that are meant as such, 0 for words that may as well begin
    a paragraph. `dress` is how it is written: two headings of one author are dressed alike. `number` is 0 for none, and
    `tag` is the name of one that is written as `<name>`.
    """

    kind: Kind
    strength: int
    dress: str
    rest: str
    number: int = 0
    shouted: bool = False
    tag: str = ""

    @property
    def alone(self) -> bool:
        return not self.rest.strip()

    @property
    def looks(self) -> frozenset[str]:
        """What it looks like, as well as like a heading: an item of a list, code, a tag."""
        return _LOOKS.intersection(self.dress)


def heading(line: str) -> Heading | None:
    """The heading that a line is; `line` is its first `WIDTH` characters at most."""
    found = _HEADING.match(line)
    parts = found.groupdict("") if found else {}
    if not (meant := _kind_and_strength(parts)):
        return None
    rest, shouted = _rest(parts), (parts["label"] or parts["format"]).isupper()
    if _is_mere_item(parts, shouted=shouted) or not _is_set_off(parts, rest, strong=meant[1] > 0, shouted=shouted):
        return None
    number = 0 if parts["format"] else _number(parts["number"])
    tag = parts["label"] if parts["bracket"] == "<" else ""
    return Heading(*meant, _dress(parts, shouted=shouted), rest, number, shouted, tag)


def _dress(parts: Parts, *, shouted: bool) -> str:
    bullet, bold = "-" * bool(parts["bullet"]), "*" * bool(_opening(parts))
    return f"{bullet}{parts['hashes'].strip()}{bold}{parts['tick']}{parts['bracket']}{'A' if shouted else 'a'}"


def _kind_and_strength(parts: Parts) -> tuple[Kind, int] | None:
    if not _is_closed(parts):
        return None
    return _meant_by_label(parts) if parts["label"] else _meant_by_number(parts)


def _meant_by_label(parts: Parts) -> tuple[Kind, int] | None:
    """In a list or a tag only the format's own words are meant."""
    label = plain_words(parts["label"])
    if parts["format"] and label == "other":
        return "other", 2
    meant = WORDS.get(label) or WORDS.get(_TO_WHOM.sub("", label))
    is_own = meant is not None and meant[1] == _OWN
    return meant if is_own or not (parts["bullet"] or parts["bracket"] == "<") else None


def _is_closed(parts: Parts) -> bool:
    """Whether its brackets and ticks come in pairs; what stands between ticks is a heading only with a colon."""
    ticks = bool(parts.get("untick") or parts.get("endtick"))
    if bool(parts.get("tick")) != ticks or bool(parts.get("bracket")) != bool(parts.get("unbracket")):
        return False
    return not ticks or parts["mark"].startswith(_COLONS)


def _meant_by_number(parts: Parts) -> tuple[Kind, int] | None:
    """A bare "FORMAT 1", when something ends it."""
    kind = _FORMATS.get(_number(parts["number"]))
    is_format = parts["format"].strip().casefold() in ("format", "格式")
    ended = any((parts["dot"].strip(), parts["mark"], parts["before"], not parts["rest"].strip()))
    return (kind, 0) if kind and is_format and ended else None


def _number(written: str) -> int:
    if written.isdecimal():
        return int(written)
    return _NUMERALS.get(written.lower()) or int(unicodedata.digit(written or "0"))


def _opening(parts: Parts) -> str:
    """What has the heading in bold, or in italics."""
    return parts["inner"] or ("" if parts["close"] else parts["outer"])


def _rest(parts: Parts) -> str:
    """What stands behind the heading; marks that don't belong to the heading belong to it."""
    opening, before, after, rest = _opening(parts), parts["before"], parts["after"], parts["rest"]
    if parts["hashes"] and not rest.strip(" \t#\r"):
        rest = ""
    if not opening:
        return before + after + rest
    if before:
        return after + rest
    return rest if after or not rest.strip() else opening + rest.lstrip()


def _is_mere_item(parts: Parts, *, shouted: bool) -> bool:
    """Whether it is an item of a list and nothing more."""
    return bool(parts["bullet"]) and not (shouted or _is_enclosed(parts))


def _is_set_off(parts: Parts, rest: str, *, strong: bool, shouted: bool) -> bool:
    """Whether it stands out from its text as a heading does."""
    if parts["mark"].startswith(_COLONS) or not parts["label"]:
        return True
    alone = not rest.strip()
    if parts["mark"]:
        return _is_marked(parts) or shouted or alone
    if alone:
        return _is_marked(parts) or strong
    return _is_enclosed(parts) and strong and _is_apart(parts, rest)


def _is_apart(parts: Parts, rest: str) -> bool:
    """Whether it is not the first word of the text behind it."""
    return rest[0].isspace() or parts["bracket"] in ("【", "<")


def _is_marked(parts: Parts) -> bool:
    return _is_enclosed(parts) or bool(parts["hashes"] + parts["rule"])


def _is_enclosed(parts: Parts) -> bool:
    return bool(parts["bracket"] or (_opening(parts) and parts["before"] + parts["after"]))
