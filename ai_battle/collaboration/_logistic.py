"""Logistic regression on rows of named features, and scores of rows that the weights have not seen."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import sqrt
from random import Random

from ._stuck.regression import Problem, Term, probability
from ._stuck.regression import fit as most_likely

Row = Mapping[str, float]
FAR = 4.0
"""Deviations beyond which a feature counts no more."""
FREE = 1e-6
"""How firmly the bias is expected at 0: hardly."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Of features that are brought to mean 0 and deviation 1; `features` maps each to (mean, deviation, weight)."""

    bias: float
    features: Mapping[str, tuple[float, float, float]] = field(hash=False)

    def score(self, row: Row) -> float:
        """The logarithm of the odds; a feature that is missing counts as its mean, one far out as if it were nearer."""
        return self.bias + sum(
            weight * min(max((row.get(name, mean) - mean) / deviation, -FAR), FAR)
            for name, (mean, deviation, weight) in self.features.items()
        )

    def probability(self, row: Row) -> float:
        return probability(self.score(row))


def fit(rows: Sequence[Row], labels: Sequence[float], penalty: float = 3.0) -> Weights:
    """The weights that make `labels` (0 to 1) likeliest, with `penalty` on their squares."""
    names = sorted({name for row in rows for name in row})
    columns = [[row.get(name, 0.0) for row in rows] for name in names]
    scales = [_scale(column) for column in columns]
    ones = [1.0] * len(rows)
    terms = [Term(_scaled(column, scale), penalty) for column, scale in zip(columns, scales, strict=True)]
    bias, *found = most_likely(Problem([Term(ones, FREE), *terms], labels, ones))
    features = {name: (*scale, weight) for name, scale, weight in zip(names, scales, found, strict=True)}
    return Weights(bias, features)


def _scale(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0


def _scaled(values: Sequence[float], scale: tuple[float, float]) -> list[float]:
    mean, width = scale
    return [(value - mean) / width for value in values]


FOLDS, PENALTY = 10, 30.0


@dataclass(frozen=True, slots=True)
class Fold:
    """Scores of rows by place: those that the weights were learned on, and those that were held out."""

    learned: Mapping[int, float]
    held: Mapping[int, float]

    def escalated(self, share: float) -> Iterator[tuple[int, float]]:
        """Which held-out rows go to the large model when `share` of the others do; of equal scores, that part."""
        scores = sorted(self.learned.values(), reverse=True)
        wanted = share * len(scores)
        cut = scores[int(wanted)]
        above, equal = sum(score > cut for score in scores), scores.count(cut)
        for place, score in self.held.items():
            yield place, 1.0 if score > cut else (wanted - above) / equal if score == cut else 0.0


def folds(rows: Sequence[Row], labels: Sequence[float], division: int = 0) -> Iterator[Fold]:
    """What a row lacks counts as 0. The same each time."""
    names = sorted({name for row in rows for name in row})
    whole = [{name: row.get(name, 0.0) for name in names} for row in rows]
    dice = Random(division)  # noqa: S311
    fold = [dice.randrange(FOLDS) for _ in rows]
    for held in range(FOLDS):
        yield _fold(whole, labels, {place for place, of in enumerate(fold) if of == held})


def _fold(rows: Sequence[Row], labels: Sequence[float], held: Set[int]) -> Fold:
    others = [place for place in range(len(rows)) if place not in held]
    weights = fit([rows[place] for place in others], [labels[place] for place in others], PENALTY)
    scores = [round(weights.score(row), 9) for row in rows]
    return Fold({place: scores[place] for place in others}, {place: scores[place] for place in sorted(held)})
