"""What reading along saves and costs: `python -m research.cutting DATA_DIR`.

Recorded answers are read as if they were streaming. To cut a wrong one saves the rest of it; to cut a right one loses
it where the helper does no better.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ai_battle.core.exchange import ModelRequest
from ai_battle.core.tokens import estimate_text
from ai_battle.judging.detector import StuckDetector
from research.records import Pair, Record, pairs_named

PIECE = 5
RIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """How many answers are cut short of how many, by whether they are right; `saved` are tokens, estimated."""

    name: str
    wrong_cut: int
    wrong: int
    right_cut: int
    right: int
    saved: int

    def __str__(self) -> str:
        return (
            f"{self.name:36} {self.wrong_cut:5} of {self.wrong:5} {self.right_cut:5} of {self.right:5} {self.saved:8}"
        )


def row(pair: Pair) -> Row:
    left = [(record.small > RIGHT, unread(record)) for record in pair.records]
    wrong, right = ([rest for is_right, rest in left if is_right == wanted] for wanted in (False, True))
    saved = sum(estimate_text(rest) for _, rest in left)
    return Row(pair.name, sum(map(bool, wrong)), len(wrong), sum(map(bool, right)), len(right), saved)


def unread(record: Record) -> str:
    """Returns what of an answer comes after the detector has given it up; nothing where it never does."""
    watcher = StuckDetector().watch(ModelRequest((), tools=record.context.tools))
    for start in range(0, len(record.response), PIECE):
        if watcher.feed(record.response[start : start + PIECE]):
            return record.response[start + PIECE :]
    return ""


def main(arguments: Sequence[str]) -> None:
    pairs = pairs_named(arguments)
    print(f"{'pair':36} {'wrong ones cut':>14} {'right ones cut':>14} {'tokens':>8}")
    for pair in pairs:
        print(row(pair), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
