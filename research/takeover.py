"""Measures what takeover gains at the detector's defaults: `python -m research.takeover DIR`.

If a small model's recorded answer is stuck, the large model's recorded answer replaces it. The weights have seen no
answer of the small model. Each model has one recorded answer, so the small one has no further attempts; with
`max_retries` above 1 it would be helped less often.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ai_battle.judging.measures import mean
from research.detector import by_weights, stuck_flags, weights_without
from research.records import Pair, pairs_named


@dataclass(frozen=True, slots=True)
class Row:
    """The qualities of the small and the large model alone and of the served answers, and the share taken over.

    `random` is the served quality if as many, but any, answers are taken over.
    """

    name: str
    small: float
    large: float
    helped: float
    served: float

    @property
    def random(self) -> float:
        return self.small + self.helped * (self.large - self.small)

    def __str__(self) -> str:
        figures = (self.small, self.large, self.helped, self.served, self.random)
        return f"{self.name:36} " + " ".join(f"{figure:6.3f}" for figure in figures)


def row(pair: Pair, pairs: Sequence[Pair]) -> Row:
    scores = by_weights(pair, weights_without(pair, pairs))
    helped = stuck_flags(scores)
    served = [large if each else small for each, small, large in zip(helped, pair.small, pair.large, strict=True)]
    return Row(pair.name, mean(pair.small), mean(pair.large), mean(helped), mean(served))


def main(arguments: Sequence[str]) -> None:
    pairs = pairs_named(arguments)
    print(f"{'pair':36} {'small':>6} {'large':>6} {'helped':>6} {'served':>6} {'random':>6}")
    for pair in pairs:
        print(row(pair, pairs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
