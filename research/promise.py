"""Measures how often a promise is broken, and what it costs: `python -m research.promise DIR`.

The detector's weights have seen no answer of the small model. Each split draws labels without replacement and chooses a
cut on them. The promise is broken if the pair loses more than promised on all of its answers. Help in hindsight is the
least help at which the pair loses no more than promised.

In the second half only the answers that get help last have labels, and the others count as helped. The number of
answers, drawn with replacement, is chosen so that the labels reach as far as hindsight lets answers go without help.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean

from ai_battle.core.errors import ConfigError
from ai_battle.judging.promise import safe_cut
from research.agreement import LOCAL
from research.answer_tables import read_table
from research.detector import by_weights, weights_without
from research.peers import PeerAnswers, judge_unseen, read_attempts
from research.records import read_pairs

LOSSES, LABELS, SPLITS, CONFIDENCE = (0.03, 0.05), (100, 200, 500), 1_000, 0.95
LEAST_BESIDE = 200
"""The least answers of a pair besides the labels of a split."""
NEVER = (1e9, 0.0)
HEADER = """| | Loss | Labels | Pairs | Broken at most in | Help above hindsight, mean | At most |
|---|--:|--:|--:|--:|--:|--:|"""


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """The answers of a pair. The highest score gets help first, and `losses` are the losses without help."""

    name: str
    scores: Sequence[float]
    losses: Sequence[float]

    def hindsight(self, loss: float) -> float:
        """Returns the least share of help at which at most `loss` is lost."""
        lost, ordered = 0.0, sorted(zip(self.scores, self.losses, strict=True))
        for place, (_, each) in enumerate(ordered):
            lost += each
            if lost > loss * len(ordered) + 1e-9:
                return 1 - place / len(ordered)
        return 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """The share of splits in which the promise is broken, and the mean help above hindsight."""

    name: str
    broken: float
    above: float


def cell(pair: ScoredPair, loss: float, labels: int, *, last_only: bool) -> Cell:
    dice = Random(f"{pair.name} {loss} {labels}")  # noqa: S311
    # A random number separates answers with equal scores, as the product does by their texts.
    ranks = [(score, dice.random()) for score in pair.scores]
    best, broken, above = pair.hindsight(loss), 0, []
    for _ in range(SPLITS):
        every = range(len(ranks))
        drawn = dice.choices(every, k=int(labels / (1 - best))) if last_only else dice.sample(every, labels)
        drawn.sort(key=ranks.__getitem__)
        known = [pair.losses[n] if at < labels else None for at, n in enumerate(drawn)]
        found = safe_cut([ranks[n] for n in drawn], known, loss, CONFIDENCE, NEVER)
        alone = [each for rank, each in zip(ranks, pair.losses, strict=True) if rank < found]
        broken += sum(alone) > loss * len(ranks) + 1e-9
        above.append(1 - len(alone) / len(ranks) - best)
    return Cell(pair.name, broken / SPLITS, fmean(above))


def scored_pairs(folder: Path) -> list[ScoredPair]:
    pairs = read_pairs(folder)
    return [
        ScoredPair(
            pair.name,
            [found.gain + bool(found.failed) for found in by_weights(pair, weights_without(pair, pairs))],
            [float(large > 0.5 >= small) for small, large in zip(pair.small, pair.large, strict=True)],
        )
        for pair in pairs
    ]


def pairs_with_peers(folder: Path) -> list[ScoredPair]:
    """Returns the pair with each of several local models as its peer."""
    attempts, table = judge_unseen(read_attempts(folder), folder), read_table(folder, "gsm8k")
    answers = ((peer, PeerAnswers.of(attempts, table, peer)) for peer in LOCAL)
    return [
        ScoredPair(f"with {peer}", both.doubts, [float(one.large > 0.5 >= one.small) for one in both.attempts])
        for peer, both in answers
    ]


def lines(folder: Path) -> Iterator[str]:
    groups = {"the detector alone": scored_pairs(folder), "with one peer": pairs_with_peers(folder)}
    for last_only in (False, True):
        yield f"\nLabels of {'the answers that get help last' if last_only else 'randomly chosen answers'}\n\n{HEADER}"
        for title, loss, labels in product(groups, LOSSES, LABELS):
            pairs = [pair for pair in groups[title] if len(pair.scores) >= labels + LEAST_BESIDE]
            cells = [cell(pair, loss, labels, last_only=last_only) for pair in pairs]
            yield f"| {title} | {loss:.0%} | {labels} | {len(cells)} {_columns(cells)}"
    yield ""
    try:
        safe_cut([(0.0, n) for n in range(30)], [0.0] * 30, LOSSES[0], CONFIDENCE, NEVER)
    except ConfigError as error:
        yield str(error)


def _columns(cells: Sequence[Cell]) -> str:
    broken, above = max(each.broken for each in cells), fmean(each.above for each in cells)
    most = max(cells, key=lambda each: each.above)
    name = most.name.removeprefix("with ")
    return f"| {broken:.1%} | {100 * above:.1f} points | {100 * most.above:.1f} (`{name}`) |"


def main(arguments: Sequence[str]) -> None:
    for line in lines(Path(arguments[0] if arguments else ".")):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
