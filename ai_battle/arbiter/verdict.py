"""Holds judges' ratings of a run, computes scores and agreement from them, and keeps them in a file."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, permutations
from math import fsum, isclose
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic_core import from_json

from ..core.errors import JournalError
from ..core.exchange import NOTHING_USED, Usage
from ..core.files import write_private
from ..wire.bodies import dumps
from ..wire.genai import usage_from_json, usage_to_json

FILE = "judgements.jsonl"
VERSION = 1
BOTH_ORDERS = (0, 1)
"""The orders of the participants: as they are, and swapped."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One judge's score of a participant for a criterion, in one order of the participants (`swapped`).

    A `score` is valid only if the participant said `quotation` in turn `turn`; otherwise it is None, and `fault` says
    why. `false_quotations` were not found, even if a later one was.
    """

    judge: str
    swapped: bool
    participant: str
    criterion: str
    score: float | None = None
    quotation: str = ""
    turn: int = 0
    reason: str = ""
    fault: str = ""
    false_quotations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The ratings of a run. The `weights` of the criteria add up to 1; `scale` is the lowest and the highest score.

    Values computed from ratings are None if not measured. A judge's score counts only if both orders gave one, because
    only their mean is free of position bias. `usage` is the usage of judging; `notes` say what went wrong or was left
    out.
    """

    participants: tuple[str, ...]
    judges: tuple[str, ...]
    weights: Mapping[str, float]
    scale: tuple[float, float]
    ratings: tuple[Rating, ...]
    usage: Usage = NOTHING_USED
    notes: tuple[str, ...] = ()

    @cached_property
    def _pairs(self) -> Mapping[tuple[str, str, str], tuple[float, float]]:
        """The scores of both orders, by judge, participant and criterion. If one is missing, neither counts."""
        first, other = (
            {(r.judge, r.participant, r.criterion): r.score for r in self.ratings if r.swapped is swapped}
            for swapped in (False, True)
        )
        pairs = {key: (score, other.get(key)) for key, score in first.items()}
        return {key: (a, b) for key, (a, b) in pairs.items() if a is not None and b is not None}

    def _scores(self, participant: str, criterion: str, orders: Sequence[int] = BOTH_ORDERS) -> Sequence[float]:
        pairs = [self._pairs.get((judge, participant, criterion)) for judge in self.judges]
        return [pair[order] for pair in pairs if pair for order in orders]

    def score(self, participant: str, criterion: str) -> float | None:
        """Returns the mean of the judges' valid scores."""
        scores = self._scores(participant, criterion)
        return fmean(scores) if scores else None

    def total(self, participant: str, orders: Sequence[int] = BOTH_ORDERS) -> float | None:
        """Returns the weighted mean of all criteria; None if one of them was not measured."""
        scores = {criterion: self._scores(participant, criterion, orders) for criterion in self.weights}
        return fsum(self.weights[name] * fmean(scores[name]) for name in scores) if all(scores.values()) else None

    @property
    def mean(self) -> float | None:
        """The mean total of the participants, which is the score of the whole run."""
        totals = [total for each in self.participants if (total := self.total(each)) is not None]
        return fmean(totals) if totals and len(totals) == len(self.participants) else None

    @property
    def basis(self) -> Hashable:
        """The judges, criteria, weights and scale that comparable verdicts share; None if participants' differ."""
        used = {frozenset(key[::2] for key in self._pairs if key[1] == each) for each in self.participants}
        is_comparable = len(used) == 1 and self.mean is not None
        return (used.pop(), (*self.weights.items(),), self.scale) if is_comparable else None

    @property
    def leader(self) -> str:
        """The participant who is ahead in both orders; empty if there is a tie, or no fair comparison."""
        ahead = {self._leader(order) for order in BOTH_ORDERS}
        return ahead.pop() if len(ahead) == 1 and len(self.participants) > 1 and self.basis else ""

    def _leader(self, order: int) -> str:
        totals = {each: self.total(each, (order,)) or 0.0 for each in self.participants}
        first, *others = [each for each in totals if isclose(totals[each], max(totals.values()), abs_tol=1e-9)]
        return "" if others else first

    @property
    def agreement(self) -> float | None:
        """Krippendorff's alpha of the judges, over each criterion of each participant."""
        units = [(each, criterion) for each in self.participants for criterion in self.weights]
        pairs = [[self._pairs.get((judge, *unit)) for judge in self.judges] for unit in units]
        return krippendorff_alpha([[fmean(pair) if pair else None for pair in row] for row in pairs])

    def order_gap(self, judge: str) -> tuple[float, float] | None:
        """Returns the mean and the largest difference between a judge's scores in the two orders."""
        gaps = [abs(first - other) for key, (first, other) in self._pairs.items() if key[0] == judge]
        return (fmean(gaps), max(gaps)) if gaps else None

    @property
    def false_quotations(self) -> int:
        return sum(len(rating.false_quotations) for rating in self.ratings)

    @property
    def rows(self) -> Iterator[tuple[str, ...]]:
        """A table of the participants' scores: a header, a row for each criterion, and the total."""
        yield ("", *self.participants)
        for name, weight in self.weights.items():
            yield (f"{name} ({weight:.0%})", *(_figure(self.score(each, name)) for each in self.participants))
        yield (f"all ({self.scale_words})", *(_figure(self.total(each)) for each in self.participants))

    @property
    def totals(self) -> str:
        """Each participant's name with its total."""
        return ", ".join(f"{each} {_figure(self.total(each))}" for each in self.participants)

    @property
    def scale_words(self) -> str:
        return f"from {self.scale[0]:g} to {self.scale[1]:g}"

    @property
    def outcome(self) -> str:
        """A sentence that says who is ahead."""
        if self.leader:
            return f"{self.leader} is ahead, in both orders."
        if len(self.participants) < 2:
            return ""
        if not self.basis:
            return "Nobody is ahead, as not everything was measured for all of them."
        return "A tie: nobody is ahead in both orders."

    @property
    def remarks(self) -> Iterator[str]:
        """Sentences on how far the scores can be trusted, and on what is missing."""
        if (alpha := self.agreement) is not None:
            yield f"Agreement of {len(self.judges)} judges: Krippendorff's alpha {alpha:.2f} (interval level)."
        for judge in self.judges:
            if gap := self.order_gap(judge):
                yield (
                    f"With the participants in the other order, scores of {judge} differ by {gap[0]:.2g} on average, "
                    f"{gap[1]:.2g} at most."
                )
        if count := self.false_quotations:
            dropped = sum(bool(rating.fault) for rating in self.ratings)
            yield f"Quotations that are not in the transcript: {count}. Scores that do not count: {dropped}."
        yield from self.notes

    def to_json(self) -> dict[str, Any]:
        """Returns the ratings and the values computed from them, for files and programs."""
        followed = {
            "scores": {each: {name: self.score(each, name) for name in self.weights} for each in self.participants},
            "totals": {each: self.total(each) for each in self.participants},
            "leader": self.leader,
            "agreement": self.agreement,
        }
        return {**asdict(self), **followed, "usage": usage_to_json(self.usage)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Verdict":
        """Raises `JournalError` if the data is not a verdict."""
        try:
            lists = {name: tuple(data[name]) for name in ("participants", "judges", "scale", "notes")}
            ratings = [Rating(**{**each, "false_quotations": (*each["false_quotations"],)}) for each in data["ratings"]]
            usage, weights = usage_from_json(data["usage"]), dict(data["weights"])
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(f"this is not a verdict ({error!r}); repair or remove the line.") from error
        return cls(**lists, weights=weights, ratings=tuple(ratings), usage=usage)


def _figure(score: float | None) -> str:
    return "\N{EN DASH}" if score is None else f"{score:.2f}"


def krippendorff_alpha(units: Sequence[Sequence[float | None]]) -> float | None:
    """Returns the agreement of raters at interval level: 1 is perfect, 0 is chance, less is worse than chance.

    Each unit has a value of each rater, or None if the rater gave none. Returns None if nothing can be compared: no
    unit has two values, or all values are equal. Klaus Krippendorff, "Computing Krippendorff's Alpha-Reliability"
    (2011), https://repository.upenn.edu/asc_papers/43.
    """
    paired = [values for unit in units if len(values := [value for value in unit if value is not None]) > 1]
    pooled = [*chain(*paired)]
    expected = fsum((a - b) ** 2 for a, b in permutations(pooled, 2))
    if not expected:
        return None
    observed = fsum(fsum((a - b) ** 2 for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in paired)
    return 1 - (len(pooled) - 1) * observed / expected


def keep(run_dir: Path, verdict: Verdict) -> None:
    """Appends the verdict to the file in a run directory, which has to be locked. Raises `JournalError`."""
    path = run_dir / FILE
    line = {"v": VERSION, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), **verdict.to_json()}
    try:
        # Rewrite the file instead of appending, because `write_private` replaces it atomically.
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        write_private(path, [before, dumps(line).decode(), "\n"])
    except OSError as error:
        raise JournalError(f"{path} can't be written: {error.strerror}.") from error


def read_verdicts(run_dir: Path) -> Iterator[Verdict]:
    """Yields the verdicts made after the run, in order. Raises `JournalError` for an unreadable line."""
    path = run_dir / FILE
    lines = path.read_bytes().splitlines() if path.is_file() else ()
    for number, line in enumerate(lines, 1):
        try:
            yield Verdict.from_json(from_json(line))
        except (ValueError, JournalError) as error:
            raise JournalError(f"{path}:{number}: {error}") from error
