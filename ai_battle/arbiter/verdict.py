"""What judges made of a run: their ratings, what follows from them, and how far judges and orders agree."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import permutations
from math import fsum, isclose
from pathlib import Path
from statistics import fmean
from typing import Any

from ..core.errors import JournalError
from ..core.exchange import NOTHING_USED, Usage
from ..core.files import lock_directory, open_private
from ..wire.genai import usage_from_json, usage_to_json

FILE = "judgements.jsonl"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Rating:
    """One score of one judge, in the one or the other order of the participants (`swapped`).

    Only a `score` whose `quotation` is in turn `turn` of the participant stands; else it is None, and `fault` says why.
    `false_quotations` are those that were not there, also where a later one was.
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
    """The ratings of a run. `weights` of criteria add up to 1, `scale` is the lowest and the highest score.

    What is computed of them is None where it was not measured: a judge's score for a criterion counts when both orders
    gave one, as only their mean is free of the place that a participant had. `usage` is what judging took, `notes` say
    what went wrong or was left out on the way.
    """

    participants: tuple[str, ...]
    judges: tuple[str, ...]
    weights: Mapping[str, float]
    scale: tuple[float, float]
    ratings: tuple[Rating, ...]
    usage: Usage = NOTHING_USED
    notes: tuple[str, ...] = ()

    @property
    def measured_by(self) -> tuple[Any, ...]:
        """Returns what two verdicts have to have in common for their scores to be compared."""
        return self.judges, (*self.weights.items(),), self.scale

    @cached_property
    def _given(self) -> Mapping[tuple[str, str, str, bool], float]:
        return {(r.judge, r.participant, r.criterion, r.swapped): r.score for r in self.ratings if r.score is not None}

    def given(self, judge: str, participant: str, criterion: str) -> float | None:
        """Returns the mean of both orders."""
        pair = [self._given.get((judge, participant, criterion, swapped)) for swapped in (False, True)]
        scores = [score for score in pair if score is not None]
        return fmean(scores) if len(scores) == 2 else None

    def score(self, participant: str, criterion: str) -> float | None:
        """Returns the mean of the judges whose score stands."""
        scores = [self.given(judge, participant, criterion) for judge in self.judges]
        known = [score for score in scores if score is not None]
        return fmean(known) if known else None

    def total(self, participant: str) -> float | None:
        """Returns the weighted mean of all criteria; None where one of them was not measured."""
        scores = {criterion: self.score(participant, criterion) for criterion in self.weights}
        known = [score * self.weights[criterion] for criterion, score in scores.items() if score is not None]
        return fsum(known) if len(known) == len(self.weights) else None

    @property
    def mean(self) -> float | None:
        """Returns the mean total of the participants, which is the score of the whole run."""
        totals = [total for total in map(self.total, self.participants) if total is not None]
        return fmean(totals) if totals and len(totals) == len(self.participants) else None

    @property
    def is_comparable(self) -> bool:
        """Whether all participants were measured by the same judges in all that counts."""
        if self.mean is None:
            return False
        rows = [
            {self.given(judge, each, criterion) is None for each in self.participants}
            for judge in self.judges
            for criterion in self.weights
        ]
        return all(len(row) == 1 for row in rows)

    @property
    def leader(self) -> str:
        """Returns who is ahead in both orders; empty where that is nobody: a tie, or not to be compared."""
        if not self.is_comparable or len(self.participants) < 2:
            return ""
        ahead = {self._ahead(swapped) for swapped in (False, True)}
        return ahead.pop() if len(ahead) == 1 else ""

    def _ahead(self, swapped: bool) -> str:
        totals = {each: self._total_in(each, swapped) for each in self.participants}
        best = max(totals.values())
        first, *others = [each for each, total in totals.items() if isclose(total, best, abs_tol=1e-9)]
        return "" if others else first

    def _total_in(self, participant: str, swapped: bool) -> float:
        """The total of one order, by the judges who count for each criterion."""
        return fsum(
            weight
            * fmean(
                self._given[judge, participant, criterion, swapped]
                for judge in self.judges
                if self.given(judge, participant, criterion) is not None
            )
            for criterion, weight in self.weights.items()
        )

    @property
    def agreement(self) -> float | None:
        """Returns Krippendorff's alpha of the judges, over each criterion of each participant."""
        units = [[self.given(judge, *unit) for judge in self.judges] for unit in self._units]
        return krippendorff_alpha(units)

    @property
    def _units(self) -> Sequence[tuple[str, str]]:
        return [(each, criterion) for each in self.participants for criterion in self.weights]

    def order_gap(self, judge: str) -> tuple[float, float] | None:
        """Returns how far a judge's scores of the two orders lie apart: on average, and at the most."""
        orders = [[self._given.get((judge, *unit, swapped)) for swapped in (False, True)] for unit in self._units]
        gaps = [abs(first - second) for first, second in orders if first is not None and second is not None]
        return (fmean(gaps), max(gaps)) if gaps else None

    @property
    def false_quotations(self) -> int:
        return sum(len(rating.false_quotations) for rating in self.ratings)

    @property
    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yields a table: the participants, their scores by each criterion, and in all."""
        yield ("", *self.participants)
        for name, weight in self.weights.items():
            yield (f"{name} ({weight:.0%})", *(_figure(self.score(each, name)) for each in self.participants))
        yield (f"all ({self.scale_words})", *(_figure(self.total(each)) for each in self.participants))

    @property
    def totals(self) -> str:
        """Names each participant with the score in all."""
        return ", ".join(f"{each} {_figure(self.total(each))}" for each in self.participants)

    @property
    def scale_words(self) -> str:
        return f"from {self.scale[0]:g} to {self.scale[1]:g}"

    @property
    def outcome(self) -> str:
        """Says in a sentence who is ahead."""
        if self.leader:
            return f"{self.leader} is ahead, in both orders."
        if len(self.participants) < 2:
            return ""
        if not self.is_comparable:
            return "Nobody is ahead, as not everything was measured for all of them."
        return "A tie: nobody is ahead in both orders."

    @property
    def remarks(self) -> Iterator[str]:
        """Says how far the scores can be trusted, and what is missing."""
        if (alpha := self.agreement) is not None:
            yield f"Agreement of {len(self.judges)} judges: Krippendorff's alpha {alpha:.2f} (interval level)."
        for judge in self.judges:
            if gap := self.order_gap(judge):
                yield (
                    f"With the participants in the other order, scores of {judge} differ by {gap[0]:.2g} on average, "
                    f"{gap[1]:.2g} at the most."
                )
        if count := self.false_quotations:
            dropped = sum(bool(rating.fault) for rating in self.ratings)
            yield f"Quotations that are not in the transcript: {count}. Scores that do not count: {dropped}."
        yield from self.notes

    def to_json(self) -> dict[str, Any]:
        """Returns it for files and programs, with what follows from the ratings."""
        totals = {each: self.total(each) for each in self.participants}
        scores = {each: {name: self.score(each, name) for name in self.weights} for each in self.participants}
        followed = {"scores": scores, "totals": totals, "leader": self.leader, "agreement": self.agreement}
        return {
            "participants": [*self.participants],
            "judges": [*self.judges],
            "weights": dict(self.weights),
            "scale": [*self.scale],
            **followed,
            "false_quotations": self.false_quotations,
            "ratings": [asdict(rating) for rating in self.ratings],
            "usage": usage_to_json(self.usage),
            "notes": [*self.notes],
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> "Verdict":
        """Raises `KeyError`, `TypeError` or `ValueError` for what is none."""
        low, high = said["scale"]
        ratings = ({**each, "false_quotations": tuple(each["false_quotations"])} for each in said["ratings"])
        return cls(
            tuple(said["participants"]),
            tuple(said["judges"]),
            dict(said["weights"]),
            (low, high),
            tuple(Rating(**each) for each in ratings),
            usage_from_json(said["usage"]),
            tuple(said["notes"]),
        )


def _figure(score: float | None) -> str:
    return "\N{EN DASH}" if score is None else f"{score:.2f}"


def krippendorff_alpha(units: Sequence[Sequence[float | None]]) -> float | None:
    """Returns the agreement of raters, at interval level: 1 is perfect, 0 is what chance would bring, less is worse.

    Each unit has the value of each rater, None where one gave none. None is returned where nothing can be compared: no
    unit with two values, or the same value everywhere. Klaus Krippendorff, "Computing Krippendorff's
    Alpha-Reliability" (2011), https://repository.upenn.edu/asc_papers/43.
    """
    paired = [values for unit in units if len(values := [value for value in unit if value is not None]) > 1]
    pooled = [value for values in paired for value in values]
    expected = fsum((a - b) ** 2 for a, b in permutations(pooled, 2))
    if not expected:
        return None
    observed = fsum(fsum((a - b) ** 2 for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in paired)
    return 1 - (len(pooled) - 1) * observed / expected


def keep(run_dir: Path, verdict: Verdict) -> Path:
    """Adds the verdict to the file of them beside the journal, which stays as it is; raises `JournalError`."""
    path = run_dir / FILE
    line = {"v": VERSION, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), **verdict.to_json()}
    with lock_directory(run_dir):
        try:
            fd = open_private(str(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            with open(fd, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise JournalError(f"{path} can't be written: {error.strerror}.") from error
    return path


def kept(run_dir: Path) -> Iterator[Verdict]:
    """Yields what was judged after the run, in order; raises `JournalError` for a line that can't be read."""
    path = run_dir / FILE
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield Verdict.from_json(json.loads(line))
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(f"{path}:{number}: this is no verdict; mend or remove the line.") from error
