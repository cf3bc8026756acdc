"""Measures whether a help rate holds: `python -m research.pacing DIR`.

Recorded answers arrive one after the other, as in a run. A fixed cut helps as many as the shipped quantile happens to
help for this model. A moving cut is adjusted after each turn. The weights have seen no answer of the small model.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ai_battle.judging.detector import next_shift
from ai_battle.judging.measures import mean
from ai_battle.judging.weights import Profile, Score
from research.detector import by_weights, weights_without
from research.records import Pair, pairs_named

RATE = 0.2
SHORT, LONG = 20, 100


@dataclass(frozen=True, slots=True)
class Row:
    """The shares of turns with help with a `fixed` cut, and with one that moves in runs of 20 and of 100 turns."""

    name: str
    fixed: float
    short: float
    long: float

    def __str__(self) -> str:
        return f"{self.name:36} {self.fixed:6.3f} {self.short:6.3f} {self.long:6.3f}"


def row(pair: Pair, pairs: Sequence[Pair], rate: float = RATE) -> Row:
    weights = weights_without(pair, pairs)
    scores, profile = by_weights(pair, weights), weights[pair.family]
    fixed = [bool(score.failed) or score.gain >= profile.gain_of(rate) for score in scores]
    return Row(pair.name, mean(fixed), *(_paced_rate(scores, profile, rate, turns) for turns in (SHORT, LONG)))


def _paced_rate(scores: Sequence[Score], profile: Profile, rate: float, turns: int) -> float:
    runs = (scores[start : start + turns] for start in range(0, len(scores), turns))
    return mean([stuck for run in runs for stuck in _stuck_flags(run, profile.gain_of(rate), rate)])


def _stuck_flags(scores: Sequence[Score], cut: float, rate: float) -> Iterator[bool]:
    shift = 0.0
    for score in scores:
        stuck = bool(score.failed) or score.gain >= cut + shift
        shift = next_shift(shift, rate, stuck=stuck)
        yield stuck


def main(arguments: Sequence[str]) -> None:
    pairs = pairs_named(arguments)
    print(f"{'pair':36} {'fixed':>6} {f'in {SHORT}':>6} {f'in {LONG}':>6}")
    for pair in pairs:
        print(row(pair, pairs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
