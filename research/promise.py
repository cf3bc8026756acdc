"""How often a promise is broken, and what it costs: `python -m research.promise DIR`.

The detector's weights have seen no answer of the small model. Each split draws labels without replacement; the promise
is broken where the pair, at the cut that was chosen, loses more than it may on all of its answers. Help in hindsight is
the least at which it loses no more than it may.

In the second half only the answers that get help last have labels, and the others count as helped. So many answers are
drawn, with replacement, that the labels reach as far as hindsight lets answers go without help.
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
from research.peers import Beside, judge_unseen, read_attempts
from research.records import read_pairs

LOSSES, LABELS, SPLITS, CONFIDENCE = (0.03, 0.05), (100, 200, 500), 1_000, 0.95
LEAST_BESIDE = 200
"""Answers that are left beside the labels of a split."""
NEVER = (1e9, 0.0)


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Who has the highest score gets help first; `losses` are what not helping loses, in the same order."""

    name: str
    scores: Sequence[float]
    losses: Sequence[float]

    def hindsight(self, loss: float) -> float:
        """Returns the least share of help at which no more than `loss` is lost."""
        lost, ordered = 0.0, sorted(zip(self.scores, self.losses, strict=True))
        for place, (_, each) in enumerate(ordered):
            lost += each
            if lost > loss * len(ordered) + 1e-9:
                return 1 - place / len(ordered)
        return 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """Of a thousand splits: the share in which the promise is broken, and the help above that in hindsight."""

    name: str
    broken: float
    above: float


def cell(pair: ScoredPair, loss: float, labels: int, *, chosen: bool) -> Cell:
    dice = Random(f"{pair.name} {loss} {labels}")  # noqa: S311
    # A lot for each answer parts those of one score, as the product does by their texts.
    ranks = [(score, dice.random()) for score in pair.scores]
    best, broken, above = pair.hindsight(loss), 0, []
    for _ in range(SPLITS):
        every = range(len(ranks))
        drawn = dice.choices(every, k=int(labels / (1 - best))) if chosen else dice.sample(every, labels)
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


def with_peers(folder: Path) -> list[ScoredPair]:
    """One pair beside each of several local models."""
    attempts, table = judge_unseen(read_attempts(folder), folder), read_table(folder, "gsm8k")
    each = ((peer, Beside.of(attempts, table, peer)) for peer in LOCAL)
    return [
        ScoredPair(f"with {peer}", beside.doubts, [float(one.large > 0.5 >= one.small) for one in beside.attempts])
        for peer, beside in each
    ]


def lines(folder: Path) -> Iterator[str]:
    groups = {"the detector alone": scored_pairs(folder), "with one peer": with_peers(folder)}
    for chosen, title, loss, labels in product((False, True), groups, LOSSES, LABELS):
        pairs = [pair for pair in groups[title] if len(pair.scores) >= labels + LEAST_BESIDE]
        cells = [cell(pair, loss, labels, chosen=chosen) for pair in pairs]
        most = max(cells, key=lambda each: each.above)
        yield (
            f"{title:19} loss {loss:.0%} {labels:4} labels{' of those helped last' * chosen}, {len(cells):2} pairs: "
            f"broken at most in {max(each.broken for each in cells):.1%}, help above hindsight "
            f"{fmean(each.above for each in cells):.3f}, at most {most.above:.3f} ({most.name})"
        )
    try:
        safe_cut([(0.0, n) for n in range(30)], [0.0] * 30, LOSSES[0], CONFIDENCE, NEVER)
    except ConfigError as error:
        yield str(error)


def main(arguments: Sequence[str]) -> None:
    for line in lines(Path(arguments[0] if arguments else ".")):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
