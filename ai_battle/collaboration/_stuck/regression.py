"""Logistic regression with a Gaussian prior, in plain Python: a few hundred answers take a fraction of a second."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

STEPS = 30
SMALL = 1e-6
HALVINGS = 20
LARGEST = 30.0
"""Of a logit, so that `exp` can't overflow."""


def probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-LARGEST, min(LARGEST, logit))))


@dataclass(frozen=True, slots=True)
class Term:
    """A coefficient to find: what it is multiplied by in each row; that of an intercept are ones.

    `prior` is where it is expected, `strength` how firmly (one over the variance).
    """

    column: Sequence[float]
    strength: float
    prior: float = 0.0


@dataclass(frozen=True, slots=True)
class Problem:
    """`labels` are from 0 to 1, `weights` how much each row counts."""

    terms: Sequence[Term]
    labels: Sequence[float]
    weights: Sequence[float]


def fit(problem: Problem) -> list[float]:
    """The most likely coefficient of each term, by Newton's method; a step that leads nowhere is halved."""
    found = [term.prior for term in problem.terms]
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
    rows = zip(problem.weights, problem.labels, _linear(problem.terms, found), strict=True)
    surprise = sum(w * (_softplus(z) - y * z) for w, y, z in rows)
    apart = zip(problem.terms, found, strict=True)
    return surprise + sum(term.strength * (value - term.prior) ** 2 for term, value in apart) / 2


def _softplus(logit: float) -> float:
    return max(logit, 0.0) + math.log1p(math.exp(-abs(logit)))


def _linear(terms: Sequence[Term], coefficients: Sequence[float]) -> list[float]:
    """The logit of each row."""
    total = [0.0] * len(terms[0].column)
    for term, coefficient in zip(terms, coefficients, strict=True):
        if coefficient:
            total = [sum_ + coefficient * value for sum_, value in zip(total, term.column, strict=True)]
    return total


def _step(problem: Problem, found: list[float]) -> list[float]:
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
        curvature[row][row] += term.strength + 1e-9
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
