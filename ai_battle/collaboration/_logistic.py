"""Logistic regression for a few thousand rows of a few dozen features, without a library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, sqrt

Row = Mapping[str, float]
ROUNDS = 25
CLOSE = 1e-7
FAR = 4.0


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
        return sigmoid(self.score(row))


def sigmoid(score: float) -> float:
    return 1 / (1 + exp(-min(max(score, -60.0), 60.0)))


def fit(rows: Sequence[Row], labels: Sequence[float], penalty: float = 3.0) -> Weights:
    """The weights that make `labels` (0 to 1) likeliest, with `penalty` on their squares; by Newton's method."""
    names = sorted({name for row in rows for name in row})
    scales = {name: _scale([row.get(name, 0.0) for row in rows]) for name in names}
    plain = [[1.0, *((row.get(n, 0.0) - scales[n][0]) / scales[n][1] for n in names)] for row in rows]
    weights = [0.0] * (len(names) + 1)
    for _ in range(ROUNDS):
        step = _newton(plain, labels, weights, penalty)
        weights = [weight - change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < CLOSE:
            break
    return Weights(weights[0], {n: (*scales[n], w) for n, w in zip(names, weights[1:], strict=True)})


def _scale(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0


def _newton(
    rows: Sequence[Sequence[float]], labels: Sequence[float], weights: Sequence[float], penalty: float
) -> list[float]:
    size = len(weights)
    ridge = [1e-6, *[penalty] * (size - 1)]
    slope = [r * w for r, w in zip(ridge, weights, strict=True)]
    bend = [[ridge[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
    for row, label in zip(rows, labels, strict=True):
        likely = sigmoid(sum(w * x for w, x in zip(weights, row, strict=True)))
        spread = likely * (1 - likely) + 1e-9
        for i, x in enumerate(row):
            slope[i] += (likely - label) * x
            scaled, line = spread * x, bend[i]
            for j in range(i + 1):
                line[j] += scaled * row[j]
    return _solved(_mirrored(bend), slope)


def _mirrored(lower: list[list[float]]) -> list[list[float]]:
    return [[lower[max(i, j)][min(i, j)] for j in range(len(lower))] for i in range(len(lower))]


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a positive definite system, by elimination."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for at in range(size):
        pivot = rows[at][at]
        for below in rows[at + 1 :]:
            factor = below[at] / pivot
            for column in range(at, size + 1):
                below[column] -= factor * rows[at][column]
    solution = [0.0] * size
    for at in reversed(range(size)):
        known = sum(rows[at][column] * solution[column] for column in range(at + 1, size))
        solution[at] = (rows[at][size] - known) / rows[at][at]
    return solution
