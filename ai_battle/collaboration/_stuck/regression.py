"""Logistic regression with a Gaussian prior, in plain Python: a few hundred answers take a fraction of a second."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

STEPS = 30
SMALL = 1e-6
HALVINGS = 20
LARGEST = 30.0


def probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-LARGEST, min(LARGEST, logit))))


@dataclass(frozen=True, slots=True)
class Problem:
    """`columns` are the features, one list each, a column of ones among them where there is an intercept.

    `prior` is where the coefficients are expected, `strength` how firmly (one over the variance).
    """

    columns: Sequence[Sequence[float]]
    labels: Sequence[float]
    prior: Sequence[float]
    strength: Sequence[float]
    weights: Sequence[float]


def fit(problem: Problem) -> list[float]:
    """The coefficients that are most likely, by Newton's method; a step that leads nowhere is halved."""
    found = list(problem.prior)
    now = _misfit(problem, found)
    for _ in range(STEPS):
        step = _step(problem, found)
        for _ in range(HALVINGS):
            tried = [value - change for value, change in zip(found, step, strict=True)]
            then = _misfit(problem, tried)
            if then <= now:
                break
            step = [change / 2 for change in step]
        else:
            return found
        found, gained, now = tried, now - then, then
        if gained < SMALL:
            break
    return found


def _misfit(problem: Problem, found: Sequence[float]) -> float:
    """What the fit makes as small as can be: surprise at the labels, and distance from the prior."""
    rows = zip(problem.weights, problem.labels, linear(problem.columns, found), strict=True)
    surprise = sum(w * (_softplus(z) - y * z) for w, y, z in rows)
    apart = zip(problem.strength, found, problem.prior, strict=True)
    return surprise + sum(firm * (value - expected) ** 2 for firm, value, expected in apart) / 2


def _softplus(logit: float) -> float:
    return max(logit, 0.0) + math.log1p(math.exp(-abs(logit)))


def linear(columns: Sequence[Sequence[float]], coefficients: Sequence[float]) -> list[float]:
    """The logit of each row."""
    total = [0.0] * len(columns[0])
    for column, coefficient in zip(columns, coefficients, strict=True):
        if coefficient:
            total = [sum_ + coefficient * value for sum_, value in zip(total, column, strict=True)]
    return total


def _step(problem: Problem, found: list[float]) -> list[float]:
    columns, strength = problem.columns, problem.strength
    believed = list(map(probability, linear(columns, found)))
    surprise = [w * (p - y) for w, p, y in zip(problem.weights, believed, problem.labels, strict=True)]
    spread = [w * p * (1 - p) for w, p in zip(problem.weights, believed, strict=True)]
    gradient = [
        sum(map(mul, column, surprise)) + firm * (value - expected)
        for column, firm, value, expected in zip(columns, strength, found, problem.prior, strict=True)
    ]
    curvature = [[0.0] * len(columns) for _ in columns]
    for row, column in enumerate(columns):
        spread_column = list(map(mul, column, spread))
        for other in range(row + 1):
            curvature[row][other] = curvature[other][row] = sum(map(mul, spread_column, columns[other]))
        curvature[row][row] += strength[row] + 1e-9
    return _solved(curvature, gradient)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination; the matrix is positive definite, so the order of the rows does not matter."""
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
