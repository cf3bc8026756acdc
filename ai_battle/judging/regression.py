"""Logistic regression with a Gaussian prior in plain Python: a few hundred answers take a fraction of a second."""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import mul
from random import Random

NEWTON_STEPS = 30
CONVERGED = 1e-6
MAX_HALVINGS = 20
MAX_LOGIT = 30.0
"""The bound of a logit, so that `exp` can't overflow."""


def probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-MAX_LOGIT, min(MAX_LOGIT, logit))))


@dataclass(frozen=True, slots=True)
class Term:
    """A coefficient to fit. `column` has its factor in each row, 1 for an intercept.

    `prior` is its expected value, and `strength` the precision of that (1 / variance).
    """

    column: Sequence[float]
    strength: float
    prior: float = 0.0


@dataclass(frozen=True, slots=True)
class RegressionProblem:
    """The data of a fit: `labels` are from 0 to 1, `weights` the weight of each row."""

    terms: Sequence[Term]
    labels: Sequence[float]
    weights: Sequence[float]


def fit(problem: RegressionProblem) -> list[float]:
    """Returns the most likely coefficient of each term, by Newton's method. A step that does not improve is halved."""
    found = [term.prior for term in problem.terms]
    now = _loss(problem, found)
    for _ in range(NEWTON_STEPS):
        step = _step(problem, found)
        for _ in range(MAX_HALVINGS):
            tried = [value - change for value, change in zip(found, step, strict=True)]
            then = _loss(problem, tried)
            if then <= now:
                break
            step = [change / 2 for change in step]
        else:
            return found
        found, gained, now = tried, now - then, then
        if gained < CONVERGED:
            break
    return found


def _loss(problem: RegressionProblem, found: Sequence[float]) -> float:
    """Returns the function to minimise: the log loss plus the squared distance from the prior."""
    rows = zip(problem.weights, problem.labels, _linear(problem.terms, found), strict=True)
    surprise = sum(w * (_softplus(z) - y * z) for w, y, z in rows)
    apart = zip(problem.terms, found, strict=True)
    return surprise + sum(term.strength * (value - term.prior) ** 2 for term, value in apart) / 2


def _softplus(logit: float) -> float:
    return max(logit, 0.0) + math.log1p(math.exp(-abs(logit)))


def _linear(terms: Sequence[Term], coefficients: Sequence[float]) -> list[float]:
    """Returns the logit of each row."""
    total = [0.0] * len(terms[0].column)
    for term, coefficient in zip(terms, coefficients, strict=True):
        if coefficient:
            total = [sum_ + coefficient * value for sum_, value in zip(total, term.column, strict=True)]
    return total


def _step(problem: RegressionProblem, found: list[float]) -> list[float]:
    terms = problem.terms
    believed = list(map(probability, _linear(terms, found)))
    surprise = [w * (p - y) for w, p, y in zip(problem.weights, believed, problem.labels, strict=True)]
    spread = [w * p * (1 - p) for w, p in zip(problem.weights, believed, strict=True)]
    gradient = [
        sum(map(mul, term.column, surprise)) + term.strength * (value - term.prior)
        for term, value in zip(terms, found, strict=True)
    ]
    curvature = [[0.0] * len(terms) for _ in terms]
    for row, term in enumerate(terms):
        spread_column = list(map(mul, term.column, spread))
        for other in range(row + 1):
            curvature[row][other] = curvature[other][row] = sum(map(mul, spread_column, terms[other].column))
        # A column of zeros without a prior would make the matrix singular.
        curvature[row][row] += term.strength + 1e-9
    return _solution(curvature, gradient)


def _solution(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solves by Gaussian elimination. The matrix is positive definite, so no pivoting is needed."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place, row in enumerate(rows):
        for below in rows[place + 1 :]:
            if factor := below[place] / row[place]:
                below[place:] = [b - factor * a for a, b in zip(row[place:], below[place:], strict=True)]
    answer = [0.0] * len(rows)
    for place in reversed(range(len(rows))):
        known = sum(rows[place][other] * answer[other] for other in range(place + 1, len(rows)))
        answer[place] = (rows[place][-1] - known) / rows[place][place]
    return answer


Row = Mapping[str, float]
MAX_DEVIATIONS = 4.0
"""The bound of a feature, in deviations."""
BIAS_PRECISION = 1e-6
"""The prior precision of the bias: nearly none."""


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """A logistic model on standardised features, each given as (mean, deviation, weight)."""

    bias: float
    features: Mapping[str, tuple[float, float, float]] = field(hash=False)

    def score(self, row: Row) -> float:
        """Returns the log odds. A missing feature counts as its mean, an extreme one as `MAX_DEVIATIONS` deviations."""
        return self.bias + sum(
            weight * min(max((row.get(name, mean) - mean) / deviation, -MAX_DEVIATIONS), MAX_DEVIATIONS)
            for name, (mean, deviation, weight) in self.features.items()
        )

    def probability(self, row: Row) -> float:
        return probability(self.score(row))


def fit_model(rows: Sequence[Row], labels: Sequence[float], penalty: float = 3.0) -> LogisticModel:
    """Returns the most likely weights for `labels` (0 to 1), with an L2 `penalty`."""
    names = sorted({name for row in rows for name in row})
    columns = [[row.get(name, 0.0) for row in rows] for name in names]
    scales = [_scale(column) for column in columns]
    ones = [1.0] * len(rows)
    terms = [Term(_scaled_column(column, scale), penalty) for column, scale in zip(columns, scales, strict=True)]
    bias, *found = fit(RegressionProblem([Term(ones, BIAS_PRECISION), *terms], labels, ones))
    features = {name: (*scale, weight) for name, scale, weight in zip(names, scales, found, strict=True)}
    return LogisticModel(bias, features)


def _scale(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    # A constant feature gets deviation 1: its standardised values are 0, and so is its weight.
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0


def _scaled_column(values: Sequence[float], scale: tuple[float, float]) -> list[float]:
    mean, width = scale
    return [(value - mean) / width for value in values]


FOLDS, PENALTY = 10, 30.0


@dataclass(frozen=True, slots=True)
class Fold:
    """Scores of rows by place, for the rows that were learned on and the rows that were held out."""

    learned: Mapping[int, float]
    held: Mapping[int, float]

    def rows_to_escalate(self, share: float) -> Iterator[tuple[int, float]]:
        """Yields the held-out rows to escalate if `share` of the learned ones are; ties in part."""
        scores = sorted(self.learned.values(), reverse=True)
        wanted = share * len(scores)
        cut = scores[int(wanted)]
        above, equal = sum(score > cut for score in scores), scores.count(cut)
        for place, score in self.held.items():
            yield place, 1.0 if score > cut else (wanted - above) / equal if score == cut else 0.0


def folds(rows: Sequence[Row], labels: Sequence[float], division: int = 0) -> Iterator[Fold]:
    """Yields the folds, the same ones for each call. Missing features count as 0."""
    names = sorted({name for row in rows for name in row})
    whole = [{name: row.get(name, 0.0) for name in names} for row in rows]
    dice = Random(division)  # noqa: S311
    fold = [dice.randrange(FOLDS) for _ in rows]
    for held in range(FOLDS):
        yield _fold(whole, labels, {place for place, of in enumerate(fold) if of == held})


def _fold(rows: Sequence[Row], labels: Sequence[float], held: Set[int]) -> Fold:
    others = [place for place in range(len(rows)) if place not in held]
    weights = fit_model([rows[place] for place in others], [labels[place] for place in others], PENALTY)
    scores = [round(weights.score(row), 9) for row in rows]
    return Fold({place: scores[place] for place in others}, {place: scores[place] for place in sorted(held)})
