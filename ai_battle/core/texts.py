"""Changes every text inside a value, makes texts, Markdown and addresses safe to show, and formats limits."""

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, cached_property, lru_cache
from math import floor, log10
from operator import is_
from typing import Any, get_args
from urllib.parse import urlsplit, urlunsplit

FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
INVISIBLE = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef"
)
"""Zero-width characters, direction marks, and tags, which can spell a text that nobody sees."""
STEERING = "\x80-\x9f\u202a-\u202e\u2066-\u206f"
"""8-bit control characters and direction overrides."""
JOINERS = "\u200c\u200d"
"""Persian, Hindi and many emoji need them; next to ASCII or each other they only hide something."""
_BESIDE = f"[\x00-\x7f{JOINERS}{INVISIBLE}]"
_FILTERED = (
    f"(?P<flag>{FLAG})|(?P<end>\r\n?|[\u2028\u2029])|(?P<control>[\x00-\x08\x0b\x0c\x0e-\x1f\x7f])"
    f"|(?P<steering>[{STEERING}])|[{INVISIBLE}]+|(?<={_BESIDE})[{JOINERS}]|[{JOINERS}](?={_BESIDE})"
)
TAB = "    "
BLANK_LETTERS = "\u034f\u115f\u1160\u2800\u3164\uffa0"
"""Letters that count as printable but show nothing."""
UNSAFE_IN_NAMES = BLANK_LETTERS + "⟨"
USER_KEYS = frozenset({"arguments", "parameters", "schema", "output_schema", "settings"})
"""Values under these keys are user data, so none of their keys is excluded, whatever its name."""
NO_KEYS: frozenset[str] = frozenset()
TEXTLESS = frozenset({int, float, bool, bytes, type(None)})
"""Types that hold no text; most values are of these."""
LEAST_DOLLARS = 1e-9
"""No token is cheaper; less is what sums of fractions leave over."""
CACHED_VALUES = 50
"""The number of unchanged values that are remembered."""
_CONTROL = bytes([*range(9), *range(11, 32), 127])
_UNSAFE = f"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029{STEERING}{INVISIBLE}{JOINERS}]"
_compiled = cache(re.compile)  # compiled at first use: these take longer than most programs here take to start


def printable(text: str) -> str:
    """Returns the text with visible signs for control characters and direction overrides, and nothing invisible.

    Line ends become newlines; tabs stay.
    """
    if text.isascii():  # most texts are; ten times as fast as the pattern
        suspect = len(text.encode().translate(None, _CONTROL)) < len(text)
    else:
        suspect = _compiled(_UNSAFE).search(text) is not None
    return _compiled(_FILTERED).sub(_sign, text) if suspect else text


def one_line(text: str, width: int) -> str:
    """Returns the printable text on one line of at most `width` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def both_ends(text: str, width: int) -> str:
    """Returns the printable text on one line, cut in its middle: an error says first what failed, and last why."""
    line, half = printable(" ".join(text.split())), width // 2
    return line if len(line) <= width else f"{line[: half - 1]}…{line[-half:]}"


def _sign(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "flag":
            return found[0]
        case "end":
            return "\n"
        case "control":
            return chr(0x2400 + min(ord(found[0]), 0x21))
        case "steering":
            return "\N{REPLACEMENT CHARACTER}"
    return ""


def visible(text: str) -> str:
    """Returns the text on one line, with a visible sign for each character that is invisible or steers a terminal."""
    if text.isprintable() and not any(letter in text for letter in BLANK_LETTERS):
        return text
    return "".join(map(_visible_sign, text))


def _visible_sign(character: str) -> str:
    if character == "\t":
        return TAB
    if character.isprintable() and character not in BLANK_LETTERS:
        return character
    return chr(0x2400 + ord(character)) if character < " " else f"⟨U+{ord(character):04X}⟩"


_ESCAPED = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")


def escaped_name(name: str) -> str:
    """Returns the file name with an escape for each character that is invisible or changes the text direction."""
    return "".join(f"⟨U+{ord(each):04X}⟩" if _is_hidden(each) else each for each in name)


def unescaped_name(shown: str) -> str:
    """Returns the name that `escaped_name` shows as `shown`."""
    return _ESCAPED.sub(lambda sign: each if _is_hidden(each := _character(sign[1])) else sign[0], shown)


def _is_hidden(character: str) -> bool:
    return not character.isprintable() or character in UNSAFE_IN_NAMES


def _character(digits: str) -> str:
    return chr(min(int(digits, 16), sys.maxunicode))


def each_text(value: Any, change: Callable[[str], str], but: frozenset[str] = NO_KEYS) -> Any:
    """Returns the value with every text in it changed, keys too; the same object if nothing changes.

    `but` are keys and fields whose text stays as it is, except inside `USER_KEYS` ones. Dataclasses are walked as well.
    """
    return TextWalker(change, but).walk(value)


class TextWalker:
    """Changes every text inside values as `each_text` does.

    Instances of `recurring` classes, which are frozen and appear again inside others, are walked once: those in which
    nothing changed are remembered.
    """

    def __init__(
        self, change: Callable[[str], str], but: frozenset[str] = NO_KEYS, recurring: frozenset[type] = frozenset()
    ) -> None:
        self._change = change
        self._but = but
        self._recurring = recurring
        self._unchanged: dict[int, Any] = {}

    @cached_property
    def _in_free(self) -> "TextWalker":
        return TextWalker(self._change) if self._but else self

    def walk(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind is str:
            return self._change(value)
        if kind in TEXTLESS:
            return value
        if kind is dict:
            return self._walk_mapping(value) if value else value
        if (names := _field_names(kind, self._but)) is None:
            return self._walk_collection(value)
        if kind in self._recurring:
            return self._walk_once(value, names)
        return self._walk_fields(value, names) if names else value

    def _walk_once(self, value: Any, names: tuple[str, ...]) -> Any:
        if self._unchanged.get(id(value)) is value:
            return value
        made = self._walk_fields(value, names)
        if made is value:
            if len(self._unchanged) >= CACHED_VALUES:
                self._unchanged.clear()
            # The reference keeps the value alive, so that no other object can get its id.
            self._unchanged[id(value)] = value
        return made

    def _walk_collection(self, value: Any) -> Any:
        match value:
            case str():
                return self._change(value)
            case tuple() | list():
                kind: Any = type(value)
                made = [*map(self.walk, value)]
                return value if all(map(is_, made, value)) else kind(made)
            case Mapping():
                return self._walk_mapping(value)
        return value

    def _below(self, key: Any, value: Any) -> Any:
        if type(value) in TEXTLESS or key in self._but:
            return value
        return (self._in_free if key in USER_KEYS else self).walk(value)

    def _walk_mapping(self, value: Mapping[Any, Any]) -> Any:
        made = {
            (self._change(key) if isinstance(key, str) else key): self._below(key, item) for key, item in value.items()
        }
        same = len(made) == len(value) and all(map(is_, made, value)) and all(map(is_, made.values(), value.values()))
        return value if same else made

    def _walk_fields(self, value: Any, names: tuple[str, ...]) -> Any:
        made = {}
        for name in names:
            old = getattr(value, name)
            if not old or type(old) in TEXTLESS:
                continue
            if (new := (self._in_free if name in USER_KEYS else self).walk(old)) is not old:
                made[name] = new
        return replace(value, **made) if made else value


@lru_cache(1_000)
def _field_names(kind: type, but: frozenset[str]) -> tuple[str, ...] | None:
    """Returns the fields that a dataclass is made with and that can hold a text; None for any other class."""
    if not is_dataclass(kind):
        return None
    given: list[tuple[str, Any]] = [
        (each.name, each.type) for each in fields(kind) if each.init and each.name not in but
    ]
    texts = ((name, inner) for name, inner in given if not TEXTLESS.issuperset(get_args(inner) or (inner,)))
    return tuple(name for name, inner in texts if _field_names(inner, but) != ())


def one_of(words: Collection[str]) -> str:
    """Returns a pattern for the longest of the words, as a trie: its time does not grow with their number."""
    tree: dict[str, Any] = {}
    for word in words:
        place = tree
        for letter in word:
            place = place.setdefault(letter, {})
        place[""] = {}
    return _branch(tree) if words else "(?!)"


def _branch(tree: Mapping[str, Any]) -> str:
    written = []
    for letter, below in tree.items():
        run = letter
        while len(below) == 1 and "" not in below:
            ((letter, below),) = below.items()
            run += letter
        if run:
            written.append(re.escape(run) + (_branch(below) if below.keys() != {""} else ""))
    whole = "|".join(written)
    return f"(?:{whole})?" if "" in tree else f"(?:{whole})" if len(written) > 1 else whole


@lru_cache
def public_url(url: str) -> str:
    """Returns a URL without user, password and query, so that it may be shown."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def about(*, estimated: bool) -> str:
    """Returns a mark to put in front of figures that are (partly) estimated."""
    return "≈ " if estimated else ""


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=\s)")
_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)")
_HARMLESS = r"<?(?:https?://|mailto:|[#/.?]|[\w-]+(?:[./#?>)\s]|$))"
"""The start of a harmless link target: a web address, an anchor, or a relative path."""
_RISK = re.compile(rf"<(?=[A-Za-z/!?])|!\[|\](?=\((?!\s*{_HARMLESS}))", re.IGNORECASE)
_DEFINITION = re.compile(rf"^([\s>*+-]*\[[^\]]{{0,999}})\](?=:(?!\s*{_HARMLESS}))", re.IGNORECASE)
_RISK_OR_CODE = re.compile(f"{_CODE_SPAN.pattern}|{_RISK.pattern}")
_INERT = {"<": "&lt;", "![": "!\\[", "]": "\\]"}
LOWERED, DEEPEST = 3, 6
"""The number of levels by which headings are lowered, and the deepest level."""


def cell(text: str) -> str:
    """Returns the text as a line that is safe in a Markdown table: no tags, and links in place of pictures."""
    line = " ".join(printable(text).split())
    return _escape_line(line, _RISK).replace("|", "\\|")


def code_block(text: str) -> str:
    """Returns the text in a code fence longer than any fence inside it."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    return f"{'`' * (longest + 1)}\n{printable(text)}\n{'`' * (longest + 1)}"


def contain_markdown(text: str, lowered: int = LOWERED) -> str:
    """Returns Markdown that can't affect its surroundings: no tags, fetched pictures or script links, lower headings.

    Every code fence is closed.
    """
    reader = _MarkdownReader(lowered)
    lines = [reader.take(line) for line in printable(text).strip("\n").split("\n")]
    return "\n".join([*lines, reader.fence] if reader.fence else lines)


class _MarkdownReader:
    """Reads lines in order. `fence` is the opening fence of the current code block, or empty.

    After a stray backtick it is ambiguous where code spans of that paragraph begin, so none of them is trusted.
    """

    def __init__(self, lowered: int) -> None:
        self.fence = ""
        self._lowered = lowered
        self._stray = False

    def take(self, line: str) -> str:
        if self._is_code(line):
            self._stray = False
            return line
        self._stray = self._stray and bool(line.strip())
        line = _DEFINITION.sub(r"\1\\]", line)
        inert = _escape_line(line, _RISK if self._stray else _RISK_OR_CODE)
        self._stray = self._stray or "`" in _CODE_SPAN.sub("", line)
        return _HEADING.sub(lambda found: found[1] + "#" * min(len(found[2]) + self._lowered, DEEPEST), inert)

    def _is_code(self, line: str) -> bool:
        """Returns whether the line belongs to a code block, its fences included."""
        if self.fence:
            if _closes(line, self.fence):
                self.fence = ""
            return True
        if opening := _FENCE.match(line):
            self.fence = opening[1]
        return bool(self.fence)


def _escape_line(line: str, risk: re.Pattern[str]) -> str:
    return risk.sub(lambda found: _INERT.get(found[0], found[0]), line)


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}


def in_dollars(amount: float) -> str:
    """Formats dollars: whole cents from a dollar on, four digits below, and two telling ones of what is smaller."""
    if amount >= 1:
        return f"${amount:,.2f}"
    if amount >= 0.0001:
        return f"${amount:.4f}"
    return f"${amount:.{1 - floor(log10(amount))}f}" if amount >= LEAST_DOLLARS else "$0"


def limit_amount(limit: str, value: float) -> str:
    """Formats a value of a limit: dollars to six digits, seconds to a tenth, tokens and calls in full."""
    return f"{value:.6g}" if limit == "cost_usd" else f"{value:.1f}".removesuffix(".0")
