"""Measures what stopping a streamed answer early saves and costs: `python -m research.cutting DIR`.

Recorded answers are read as if they were streaming. Cutting a wrong one saves the rest of it; cutting a right one loses
it unless the helper does better.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ai_battle.core.exchange import ModelRequest, estimate_text
from ai_battle.judging.detector import StuckDetector
from research.records import Pair, Record, pairs_named

PIECE = 5
RIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """The answers that are cut short, by whether they are right. `saved` is an estimate of the tokens saved."""

    name: str
    wrong_cut: int
    wrong: int
    right_cut: int
    right: int
    saved: int

    def __str__(self) -> str:
        return (
            f"{self.name:36} {self.wrong_cut:5} of {self.wrong:5} {self.right_cut:5} of {self.right:5} {self.saved:12}"
        )


def row(pair: Pair) -> Row:
    left = [(record.small > RIGHT, rest_after_stop(record)) for record in pair.records]
    wrong, right = ([rest for is_right, rest in left if is_right == wanted] for wanted in (False, True))
    saved = sum(estimate_text(rest) for _, rest in left)
    return Row(pair.name, sum(map(bool, wrong)), len(wrong), sum(map(bool, right)), len(right), saved)


def rest_after_stop(record: Record) -> str:
    """Returns the rest of an answer after the point where the detector stops it, or an empty text."""
    watcher = StuckDetector().watch(ModelRequest((), tools=record.context.tools))
    for start in range(0, len(record.response), PIECE):
        if watcher.feed(record.response[start : start + PIECE]):
            return record.response[start + PIECE :]
    return ""


def main(arguments: Sequence[str]) -> None:
    pairs = pairs_named(arguments)
    print(f"{'pair':36} {'wrong ones cut':>14} {'right ones cut':>14} {'tokens saved':>12}")
    for pair in pairs:
        print(row(pair), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
