"""Scores of rows that the weights have not seen, fold by fold."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random

from ._logistic import Row, fit

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
