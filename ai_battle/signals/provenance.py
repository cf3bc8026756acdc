"""Looks up where the facts of a text come from: figures, times, codes, addresses and names.

A fact is supported if a source has it as it is, rounded, in another unit, or one step of arithmetic away.
"""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, combinations, groupby, islice, product
from typing import Any, Literal, NamedTuple

from .languages import language_of, languages, listed_words, plain_words
from .numbers import LATIN, plain_digits

LONGEST, MOST, PAIRED, _LONGEST_CELL = 20_000, 400, 40, 60
"""Most characters of a text, facts of it or cells of a table, numbers combined in pairs, characters of a cell."""
MOST_CLAUSES = 60
Kind = Literal["number", "time", "code", "address", "name"]
_FACT = re.compile(
    r"(?P<address>\b(?:https?://|www\.)[^\s<>()\[\]{}\"'`|,]{3,200}|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64})"
    r"|(?P<time>(?<![\d:.,])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])(?:\s?[ap]\.?m\b)?|(?<![\d:.,])\d{1,2}\s?[ap]\.?m\b)"
    rf"|(?P<code>(?<![{LATIN}\d-])(?=[A-Za-z]{{0,12}}[-_]?[A-Za-z\d_-]{{0,24}}\d)"
    rf"(?:[A-Za-z]{{1,12}}[-_]?(?=[A-Za-z\d_-]{{0,24}}\d)[A-Za-z\d_-]{{1,40}})(?![{LATIN}\d]))"
    rf"|(?P<number>(?<![{LATIN}\d#/])[#$\u20ac\u00a3\u00a5\u20b9]?\d{{1,15}}"
    r"(?:[ \u00a0\u202f](?=\d{3}(?!\d))\d{3}|[.,'\u2019\u066b\u066c]\d{1,15}){0,8})",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![^\W_])[^\W\d_]{2,30} [^\W\d_]{2,30}(?![^\W_])")
_JOINED = re.compile(r"(?<=\d)T(?=\d\d:)|(?<=[\d:]\d)Z\b")
_NO_FACTS = re.compile(
    r"```[\s\S]*?(?:```|\Z)|^[ \t>]{0,8}(?:\(?\d{1,2}[.):]|[-*+\u2022])[ \t]|^#{1,6} \d{1,2}\b", re.MULTILINE
)
_DIGITS = re.compile(r"\d+")
_PARTS = re.compile(r"\s*[,;|\t:]\s+|\s*[;|\t]\s*|,")
_CLAUSE = re.compile(r"[.;!?](?:\s|\Z)|,\s|\n|[\u3002\uff0c\uff1b\u061b\u060c\u3001]")
_DECIMAL = re.compile(r"(?<![\d.,])\d{1,15}[.,]\d{1,15}(?![.,]?\d)")
_FILLING = re.compile(r"[\W_]+")
_BEGINS, _ENDS = re.compile(r"(?<![\w.,:-])"), re.compile(r"(?![.,:]?\w|-)")
_HEAD, _CELL_END, _LINE_END = re.compile(r"[^\W\d],[^\W\d]"), re.compile(r",(?! )"), re.compile(r"(\n|\\n)")
# Factors that are common knowledge: doubling, units of time, percent, powers of ten and bytes; miles, pounds, inches.
_FACTORS = (
    *(2.0, 7.0, 12.0, 24.0, 30.0, 31.0, 52.0, 60.0, 365.0, 3600.0, 100.0, 1e3, 1e4, 1e6, 1e8, 1e9),
    *(1024.0, 1024.0**2, 1024.0**3),
)
_UNITS = (0.9144, 1.609344, 2.204623, 2.54, 0.3048, 3.6)
_CONSTANTS = sorted(
    (*_UNITS, 7.0, 12.0, 24.0, 30.0, 31.0, 52.0, 60.0, 100.0, 360.0, 365.0, 1000.0, 1024.0, 1440.0, 3600.0)
)
_LEAST_GAP = 10
"""Minutes; smaller numbers are not taken as durations that were added to a time."""
_MAX_ERROR = 0.02
"""The largest relative error of a derived figure."""
_MEASURED = re.compile(
    r"\s?(?:[\u00b0\u2103%\u20ac$\u00a3\u5ea6]|(?:km|mm|cm|kg|ms|gb|mb|deg|grad|usd|eur|gbp|chf"
    r"|mph|miles?|lbs?|pounds?|inch(?:es)?|feet|ft|yards?)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a text. `values` are the readings of a figure, each with half a unit of its last digit."""

    kind: Kind
    text: str
    values: tuple[tuple[float, float], ...] = ()
    measured: bool = False

    @property
    def is_small(self) -> bool:
        """Whether it is a figure without a unit that may only count or number things."""
        return self.kind == "number" and not self.measured and all(v <= 10 and half == 0.5 for v, half in self.values)

    def is_shown_as(self, other: "Fact") -> bool:
        """Checks whether the other fact is the same to the digits that it shows."""
        if self.kind != other.kind:
            return False
        return any(abs(value - known) <= half for value, half in other.values for known, _ in self.values)


class _TableCell(NamedTuple):
    """A cell of a table; `fact` is its figure if it has nothing else."""

    row: int
    column: Hashable
    value: str
    fact: Fact | None

    def place_in(self, text: str, facts_in_text: Sequence[Fact]) -> int:
        """Returns the place where a text gives the value, if it does so once; otherwise -1."""
        if self.fact is None:
            if self.value not in text:  # rules out most names in a tenth of the pattern's time
                return -1
            found = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(self.value)}(?!\w)", text)]
            return found[0] if len(found) == 1 else -1
        same = [fact.text for fact in facts_in_text if self.fact.is_shown_as(fact)]
        return text.find(same[0].casefold()) if len(same) == 1 else -1


def facts(text: str) -> tuple[Fact, ...]:
    """Returns figures, times, codes and addresses in order, then names, without numbering of lists and code blocks."""
    return _facts(text[:LONGEST])


@lru_cache(maxsize=256)  # several checks read each result, and each step of a turn reads them all again
def _facts(text: str) -> tuple[Fact, ...]:
    return tuple(_read_facts(_JOINED.sub(" ", plain_digits(_NO_FACTS.sub("\n", text)))))


def _read_facts(plain: str) -> Iterator[Fact]:
    for _, found in zip(range(MOST), _FACT.finditer(plain), strict=False):
        kind: Kind = found.lastgroup  # type: ignore[assignment]
        match_text = found.group()
        values: tuple[tuple[float, float], ...] = ()
        if kind == "number":
            values = tuple(_readings(match_text.lstrip("#$\u20ac\u00a3\u00a5\u20b9")))
        elif kind == "time":
            values = tuple((minutes, 0.0) for minutes in _minutes(match_text))
        measured = kind == "number" and (not match_text[0].isdigit() or bool(_MEASURED.match(plain, found.end())))
        yield Fact(kind, match_text, values, measured)
    yield from (Fact("name", name) for name in _NAME.findall(plain)[:MOST] if name.istitle())


@lru_cache(maxsize=512)  # each step of a turn reads the same results again
def _with_spaced_cells(source: str) -> str:
    r"""Adds a space after the commas of a table (CSV), so that "12500,9800" is read as two figures.

    A table is a run of lines with equally many commas, of which one, the head, separates words. A line may end with a
    written `\\n`.
    """
    if not _HEAD.search(source):
        return source
    lines = _LINE_END.split(source)
    for count, run in groupby(range(0, len(lines), 2), key=lambda at: len(_CELL_END.findall(lines[at]))):
        places = list(run)
        if count and len(places) > 1 and any(_HEAD.search(lines[at]) for at in places):
            for at in places:
                lines[at] = _CELL_END.sub(", ", lines[at])
    return "".join(lines)


class Known:
    """Everything that was known before a text: prompts, earlier messages, arguments and results of calls."""

    def __init__(self, sources: Iterable[str], known_facts: Sequence[Fact] | None = None) -> None:
        """Keeps the sources. `known_facts` replaces reading them, and may hold further facts."""
        self._sources = [_with_spaced_cells(source[:LONGEST]) for source in sources]
        self.text = "\n".join(self._sources)[: 4 * LONGEST]
        self._told = known_facts

    @cached_property
    def _facts(self) -> Sequence[Fact]:
        """The facts of the sources. Reading each source by itself lets the cache serve all but the newest."""
        if self._told is not None:
            return self._told
        starts = accumulate(map(len, self._sources), initial=0)
        rooms = (max(0, LONGEST - start) for start in starts)
        found = (facts(text[:room]) for text, room in zip(self._sources, rooms, strict=False))
        return [*islice(chain.from_iterable(found), MOST)]

    def with_more(self, more: Iterable[Fact]) -> "Known":
        """Returns the same with further facts, without reading the sources again."""
        return Known(self._sources, [*self._facts, *more])

    def supports(self, fact: Fact) -> bool:
        """Checks whether a fact was known, directly or one step away, or is common knowledge about units and days."""
        return self.has(fact) or self.yields(fact) or is_constant(fact)

    def yields(self, fact: Fact) -> bool:
        """Checks whether a fact is one step away from the known ones."""
        if fact.kind == "time":
            return any(self._is_step_from_time(minutes) for minutes, _ in fact.values)
        ways = (self._derived_values, self._converted_values) if fact.measured else (self._derived_values,)
        return any(_has_near(way, value, min(half, _MAX_ERROR * value)) for value, half in fact.values for way in ways)

    def has(self, fact: Fact) -> bool:
        """Checks whether a fact was known directly. Figures may be rounded, and one word of a name is enough."""
        return self._has_written(fact.text) or _LOOKUPS[fact.kind](self, fact)

    def _has_written(self, fact: str) -> bool:
        """Checks whether the text has a fact letter by letter, which is faster than comparing facts."""
        at = self.text.find(fact)
        while at >= 0 and not (_BEGINS.match(self.text, at) and _ENDS.match(self.text, at + len(fact))):
            at = self.text.find(fact, at + 1)
        return at >= 0

    def has_name(self, fact: Fact) -> bool:
        return any(word[:4] in self.text.casefold() for word in fact.text.casefold().split())

    def has_letters(self, fact: Fact) -> bool:
        return _FILLING.sub("", fact.text).casefold() in self._letters

    def has_time(self, fact: Fact) -> bool:
        """Checks whether a time was known, also twelve hours away."""
        return any(not self._times.isdisjoint((minutes, (minutes + 720) % 1440)) for minutes, _ in fact.values)

    def has_number(self, fact: Fact) -> bool:
        """Checks whether a figure was known. 9.30 may be a time, and 3.11.2 part of a longer figure."""
        if any(_has_near(self._all_numbers, value, half) for value, half in fact.values):
            return True
        parts = [int(digits) for digits in _DIGITS.findall(fact.text)]
        is_time = len(parts) == 2 and parts[1] < 60 and parts[0] * 60 + parts[1] in self._times
        return is_time or (len(parts) > 2 and self._parts.issuperset(parts))

    @cached_property
    def _letters(self) -> str:
        return _FILLING.sub("", self.text).casefold()

    @cached_property
    def _parts(self) -> frozenset[int]:
        """All runs of digits: days, hours, and other parts of longer figures."""
        return frozenset().union(*map(_integers, self._sources))

    @cached_property
    def _times(self) -> frozenset[float]:
        return frozenset(value for fact in self._facts if fact.kind == "time" for value, _ in fact.values)

    @cached_property
    def _all_numbers(self) -> list[float]:
        return sorted({*self._numbers, *map(float, self._parts)})

    @cached_property
    def _numbers(self) -> list[float]:
        values = (value for fact in self._facts if fact.kind == "number" for value, _ in fact.values)
        return list(dict.fromkeys(values))

    @cached_property
    def _derived_values(self) -> list[float]:
        """The results of one step of arithmetic on the known numbers, and the number of them."""
        base = self._numbers[:PAIRED]
        found = {float(len(base)), sum(base) / max(1, len(base)), *(100 - value for value in base)}
        # Sums of neighbours only, as the lines of a bill or a column stand together; any subset would yield any figure.
        found |= {sum(base[at : at + many]) for at in range(len(base)) for many in range(3, PAIRED)}
        factors = frozenset(_FACTORS).union(*map(_numerals, self._sources))
        found = found.union(_multiples(base, factors), *(_steps(a, b) for a, b in combinations(base, 2)))
        gaps = (abs(a - b) for a, b in combinations(sorted(self._times)[:PAIRED], 2))
        return sorted(found.union(*((minutes, minutes / 60, minutes % 60) for minutes in gaps)))

    @cached_property
    def _converted_values(self) -> list[float]:
        """The known numbers in other units."""
        base = self._numbers[:PAIRED]
        return sorted({*_multiples(base, _UNITS), *(v * 1.8 + 32 for v in base), *((v - 32) / 1.8 for v in base)})

    def _is_step_from_time(self, minutes: float) -> bool:
        if minutes % 60 == 0 and not {int(minutes // 60), int(minutes // 60) % 12}.isdisjoint(self._parts):
            return True
        gaps = {abs(minutes - time) for time in self._times}
        return any((gap in self._numbers and gap >= _LEAST_GAP) or gap / 60 in self._numbers for gap in gaps)


_LOOKUPS: Mapping[Kind, Callable[[Known, Fact], bool]] = {
    "name": Known.has_name,
    "code": Known.has_letters,
    "address": Known.has_letters,
    "time": Known.has_time,
    "number": Known.has_number,
}


@lru_cache(maxsize=256)
def _integers(text: str) -> frozenset[int]:
    plain = _DECIMAL.sub(" ", plain_digits(text))
    return frozenset(int(digits) for digits in _DIGITS.findall(plain) if len(digits) <= 15)


@lru_cache(maxsize=256)
def _numerals(text: str) -> frozenset[int]:
    """Returns the numbers in words up to ten, in the language of a text: "three tickets" cost three times as much."""
    said, known = {*plain_words(text)}, language_of(text)
    numerals = (listed_words(language, "numerals") for language in ((known,) if known else languages()))
    return frozenset(value for words in numerals for value, word in enumerate(words, 1) if word in said)


def is_constant(fact: Fact) -> bool:
    return not fact.measured and any(_has_near(_CONSTANTS, value, half) for value, half in fact.values)


def _multiples(values: Iterable[float], factors: Iterable[float]) -> Iterator[float]:
    for value, factor in product(values, factors):
        yield value * factor
        yield value / factor


def _steps(a: float, b: float) -> Iterator[float]:
    """Yields the results of combining two numbers."""
    yield from (a + b, abs(a - b), a * b, a * b / 100, (a + b) / 2)
    for one, other in ((a, b), (b, a)):
        if other:
            yield from (one / other, 100 * one / other, 100 * abs(a - b) / other)


def _has_near(values: list[float], value: float, within: float) -> bool:
    place = bisect_left(values, value - within - 1e-6)
    return place < len(values) and values[place] <= value + within + 1e-6


def _readings(written: str) -> Iterator[tuple[float, float]]:
    """Yields the readings of a figure: in 1.482 the separator may group thousands or begin decimals."""
    *groups, last = _DIGITS.findall(written)
    separators = {char for char in written if not char.isdigit()}
    if not groups or (len(last) == 3 and len(groups[0]) <= 3 and len(separators) == 1) or len(groups) > 1:
        yield float("".join((*groups, last))), 0.5
    if groups and separators & set(".,\u066b") and not (len(groups) > 1 and len(separators) == 1):
        yield float(f"{''.join(groups)}.{last}"), 0.5 * 10 ** -len(last)


def _minutes(written: str) -> Iterator[float]:
    """Yields a time of day in minutes after midnight, or a duration in its smaller unit."""
    hours, minutes = [*map(int, _DIGITS.findall(written)), 0][:2]
    if minutes > 59:
        return
    if "p" in written.lower() and hours < 12:
        hours += 12
    elif "a" in written.lower() and hours == 12:
        hours = 0
    yield float(hours * 60 + minutes)


def misplaces(text: str, table: str) -> bool:
    """Checks whether a text combines different rows of a table: the time of one train, the price of another."""
    if len(rows := list(_rows(table))) < 2:  # like nearly all results, so their facts need not be read
        return False
    text, cells = text[:LONGEST], list(islice(_cells(rows), MOST))
    times = Counter(cell.value for cell in cells)
    unique = [cell for cell in cells if times[cell.value] == 1]
    if len({cell.row for cell in unique}) < 2:
        return False
    clauses = _CLAUSE.split(text)[:MOST_CLAUSES]
    return any(_mixes_rows(clause, unique, fewest=1) for clause in clauses) or _mixes_rows(text, unique, fewest=2)


def _mixes_rows(text: str, cells: Sequence[_TableCell], fewest: int) -> bool:
    """Checks whether two columns have the same rows in another order, or one value each from different rows."""
    orders = _row_orders(text.casefold(), cells, fewest)
    if all(len(order) == 1 for order in orders):
        return len(set(chain.from_iterable(orders))) > 1
    return any(one != other and sorted(one) == sorted(other) for one, other in combinations(orders[:PAIRED], 2))


def _row_orders(text: str, cells: Sequence[_TableCell], fewest: int) -> list[list[int]]:
    """Returns the rows of each column of which the text gives enough values, in the text's order."""
    columns: dict[Hashable, list[tuple[int, int]]] = {}
    found_facts = facts(text)
    for cell in cells:
        if (place := cell.place_in(text, found_facts)) >= 0:
            columns.setdefault(cell.column, []).append((place, cell.row))
    return [[row for _, row in sorted(found)] for found in columns.values() if len(found) >= fewest]


def _cells(rows: Iterable[Any]) -> Iterator[_TableCell]:
    """Yields the cells of a table. A cell that is a single figure has its fact."""
    for row, values in enumerate(rows):
        for column, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, str | int | float) and (written := str(value).strip().casefold()):
                known = facts(written[:_LONGEST_CELL])
                yield _TableCell(row, column, written, next((f for f in known if f.values and f.text == written), None))


def _rows_of_lines(written: Sequence[str]) -> Iterable[Any]:
    if len(written) < 2:  # like nearly all results
        return ()
    lines = [_PARTS.split(line.strip(" |")) for line in written]
    return map(dict, map(enumerate, lines)) if len(set(map(len, lines))) == 1 else ()


def _rows(table: str) -> Iterable[Any]:
    """Returns the rows of a list of objects, an object with one list or only numbers, or lines with equal parts."""
    try:
        found = json.loads(table[:LONGEST])
    except (ValueError, RecursionError):
        return _rows_of_lines(table[:LONGEST].splitlines())
    named = found if isinstance(found, dict) else {"": found}
    lists = [value for value in named.values() if isinstance(value, list)]
    if len(lists) == 1:
        return lists[0]
    return map(dict, map(enumerate, named.items())) if set(map(type, named.values())) <= {int, float} else ()
