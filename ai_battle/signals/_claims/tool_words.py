"""The words for what tools do, by their kind, and what of it the tools at hand can do."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from ...core.exchange import ToolSpec

ANY = "any"
NONE: frozenset[str] = frozenset()


def _of(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _by_word(table: dict[str, str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for kind, words in table.items():
        for word in words.split():
            found[word] = found.get(word, NONE) | {kind}
    return found


_TABLES = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
DEED = _by_word(_TABLES["deeds"])
EFFECT = _by_word(_TABLES["effects"])
THING = _by_word(_TABLES["things"])
SOURCE = _by_word(_TABLES["sources"])
KINDS = frozenset(_TABLES["things"])
SMALL = {name: _of(words) for name, words in _TABLES["small"].items()}
_NAME = _by_word(_TABLES["names"])
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_STEM = 6


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What the offered tools can do: their `kinds` and `names`, and by stems what they deal with.

    `own` is from their names, `about` from their descriptions, `live` from names of those that say how things stand.
    """

    kinds: frozenset[str] = NONE
    names: frozenset[str] = NONE
    own: frozenset[str] = NONE
    pieces: frozenset[str] = NONE
    about: frozenset[str] = NONE
    live: frozenset[frozenset[str]] = frozenset()

    def may(self, kinds: frozenset[str]) -> bool:
        """Whether one of the kinds is offered; where nothing is known of the tools, each may be."""
        return not self.names or ANY in kinds or bool(kinds & self.kinds) or not kinds <= KINDS

    def things(self, word: str) -> frozenset[str]:
        """The kinds of tools that deal with it; a word of a tool's name stands for itself."""
        kinds = THING.get(word, NONE)
        if word in self.names:
            return kinds | {ANY, word}
        return kinds | {stem} if (stem := stem_of(word)) in self.own else kinds

    def does(self, deed: str) -> bool:
        """Whether the name of a tool says just that: created, of `create_issue`."""
        return any(piece[:4] == deed[:4] or piece[:3] == deed[:3] in ("sen", "sav", "add") for piece in self.pieces)


def toolbox(specs: Iterable[ToolSpec]) -> Toolbox:
    return _toolbox(tuple((spec.name, spec.description[:400]) for spec in specs))


@lru_cache(maxsize=64)
def _toolbox(specs: tuple[tuple[str, str], ...]) -> Toolbox:
    names = frozenset(name for name, _ in specs)
    return Toolbox(
        kinds=NONE.union(*(kinds_of(name, told) for name, told in specs)),
        names=frozenset(map(str.lower, names)),
        own=_stems(names) - _stems(THING),
        pieces=NONE.union(*map(words_of, names)),
        about=_stems(told.partition(".")[0] for _, told in specs),
        live=frozenset(_stems([name]) for name, told in specs if _is_live(name, told)) - {NONE},
    )


def _stems(texts: Iterable[str]) -> frozenset[str]:
    words = {word for text in texts for word in words_of(text)} - SMALL["common"]
    return frozenset(stem_of(word) for word in words if len(word) > 2)


def _is_live(name: str, told: str) -> bool:
    kinds = kinds_of(name, told)
    return not kinds - {"weather"} and bool(words_of(name) & SMALL["asks"])


def kinds_of(name: str, description: str = "") -> frozenset[str]:
    """The kinds that the name tells; where it tells none, those of the description."""
    return _kinds_in(words_of(name)) or _kinds_in(words_of(description))


def stem_of(word: str) -> str:
    return word.rstrip("s")[:_STEM]


def words_of(text: str) -> set[str]:
    """Those of a name in snake case or camel case too."""
    return {piece.lower() for piece in _PIECE.findall(text)}


def _kinds_in(words: Iterable[str]) -> frozenset[str]:
    return NONE.union(*(_NAME.get(word, NONE) for word in words))
