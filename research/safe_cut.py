"""Measures what the last safe cut of a pair is worth after a change: `python -m research.safe_cut DIR [RUNS]`.

The cut of a pair is chosen on 500 labels. Its shadow compares 500 answers like these, and then answers among which the
small model's losses are more frequent. After each alarm the safe cut of the newest verdicts replaces the cut, as
in the product. The loss is counted over all answers of the pair, weighted by their frequency.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean

from ai_battle.evidence.watch import LossWatch
from ai_battle.judging.promise import Rank, least_labels, safe_cut
from research.promise import CONFIDENCE, NEVER, ScoredPair, scored_pairs

LOSS, LABELS, CHANGES, WINDOWS = 0.03, 500, (4.0, 10.0), (1, 2, 4)
LONGEST, RUNS = 3_000, 12
"""The verdicts after the change at which a run ends, and the runs of each pair."""
ALL_HELPED = (-1e9, 0.0)
HEADER = """| Losses | Newest | Loss, old cut | With alarm | Loss after it | At the end | At most 3 % | Help | Cuts |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


@dataclass(frozen=True, slots=True)
class RankedAnswers:
    """Answers by rank, their losses without help, and their frequencies."""

    ranks: Sequence[Rank]
    losses: Sequence[float]
    frequencies: Sequence[float]

    def loss_at(self, cut: Rank) -> float:
        lost = (
            loss * times
            for rank, loss, times in zip(self.ranks, self.losses, self.frequencies, strict=True)
            if rank < cut
        )
        return sum(lost) / sum(self.frequencies)

    def help_at(self, cut: Rank) -> float:
        return sum(times for rank, times in zip(self.ranks, self.frequencies, strict=True) if rank >= cut) / sum(
            self.frequencies
        )


@dataclass(frozen=True, slots=True)
class Run:
    """The losses after the change by the old cut, by the first that replaces it, and by the last."""

    before: float
    first: float
    last: float
    help: float
    cuts: int


def run(pair: ScoredPair, worse: float, window: int, number: int) -> Run | None:
    """Runs a pair through a change. Returns None if the cut loses no more than promised after the change."""
    random = Random(f"{pair.name} {number}")  # noqa: S311 - a simulation
    ranks = [(score, random.random()) for score in pair.scores]
    drawn = random.sample(range(len(ranks)), LABELS)
    cut: Rank = safe_cut([ranks[n] for n in drawn], [pair.losses[n] for n in drawn], LOSS, CONFIDENCE, NEVER)
    usual = RankedAnswers(ranks, pair.losses, [1.0] * len(ranks))
    later = RankedAnswers(ranks, pair.losses, [worse if loss else 1.0 for loss in pair.losses])
    if (before := later.loss_at(cut)) <= LOSS:
        return None
    places = [place for of, count in ((usual, LABELS), (later, LONGEST)) for place in _draw(random, of, count)]
    lost, watch = [], LossWatch(LOSS)
    for seen, place in enumerate(places, 1):
        watch = watch.record(pair.losses[place] * (ranks[place] < cut))
        if watch.alarm_at:
            newest = places[max(0, seen - window * least_labels(LOSS, CONFIDENCE)) : seen]
            safer = safe_cut([ranks[n] for n in newest], [pair.losses[n] for n in newest], LOSS, CONFIDENCE, NEVER)
            cut, watch = safer if safer < cut else ALL_HELPED, LossWatch(LOSS)
            lost.append(later.loss_at(cut))
    first, last = (lost[0], lost[-1]) if lost else (before, before)
    return Run(before, first, last, later.help_at(cut), len(lost))


def _draw(random: Random, traffic: RankedAnswers, count: int) -> list[int]:
    return random.choices(range(len(traffic.ranks)), traffic.frequencies, k=count)


def lines(pairs: Sequence[ScoredPair], runs: int) -> Iterator[str]:
    yield HEADER
    for worse in CHANGES:
        for window in WINDOWS:
            made = [run(pair, worse, window, number) for pair in pairs for number in range(runs)]
            changed = [each for each in made if each]
            yield _row(worse, window, changed, [each for each in changed if each.cuts])


def _row(worse: float, window: int, changed: Sequence[Run], of: Sequence[Run]) -> str:
    first, last, help_ = (fmean(getattr(each, name) for each in of) for name in ("first", "last", "help"))
    return (
        f"| x {worse:g} | {window * least_labels(LOSS, CONFIDENCE)} | {fmean(each.before for each in changed):.1%} "
        f"| {len(of)} of {len(changed)} | {first:.1%} | {last:.1%} | {fmean(each.last <= LOSS for each in of):.0%} "
        f"| {help_:.0%} | {fmean(each.cuts for each in of):.2f} |"
    )


def main(arguments: Sequence[str]) -> None:
    pairs = [pair for pair in scored_pairs(Path(arguments[0] if arguments else ".")) if len(pair.scores) > LABELS]
    for line in lines(pairs, int(arguments[1]) if len(arguments) > 1 else RUNS):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
