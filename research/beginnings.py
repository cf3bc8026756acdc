"""Measures what the detector knows of an unfinished answer: `python -m research.beginnings DIR`.

Each recorded answer is cut after its last whole sentence or line at a third, a half and two thirds of its length, and
judged as if it were whole. Each cell has the area under the ROC curve of the doubt (0.5 is chance), and the share of
all answers that are doubted more than trusted.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean

from ai_battle.judging.detector import StuckDetector
from research.records import Pair, Record, read_pairs

PARTS = (1 / 3, 1 / 2, 2 / 3, 1.0)
MOST = 300
"""The most answers of each pair."""
_END = re.compile(r"[.!?](?=\s)|\n")


def beginning(text: str, part: float) -> str:
    """Returns the whole sentences or lines of the first `part` of a text."""
    if part == 1:
        return text
    ends = [found.end() for found in _END.finditer(text, 0, int(part * len(text)))]
    return text[: ends[-1]] if ends else ""


def area(doubts: Sequence[float], are_wrong: Sequence[bool]) -> float:
    wrong, right = (
        [doubt for doubt, each in zip(doubts, are_wrong, strict=True) if each is kind] for kind in (True, False)
    )
    return fmean((more > less) + (more == less) / 2 for more in wrong for less in right)


def doubts(records: Sequence[Record], part: float) -> list[float]:
    detector, texts = StuckDetector(), ((each, beginning(each.response, part)) for each in records)
    return [
        1 - detector.assess(text, each.prompt, each.context).quality if text.strip() else 0.5 for each, text in texts
    ]


def row(pair: Pair) -> str:
    records = Random(pair.name).sample(pair.records, min(MOST, len(pair.records)))  # noqa: S311
    are_wrong = [bool(each.small <= 0.5) for each in records]
    cells = []
    for part in PARTS:
        found = doubts(records, part)
        cells.append(f"{area(found, are_wrong):.2f}, {fmean(doubt > 0.5 for doubt in found):.0%}")
    return f"| {pair.name} | {fmean(are_wrong):.0%} | {' | '.join(cells)} |"


def lines(folder: Path) -> Iterator[str]:
    yield "| Pair | Wrong | A third | A half | Two thirds | Whole |\n|---|--:|--:|--:|--:|--:|"
    yield from map(row, read_pairs(folder))


if __name__ == "__main__":
    for line in lines(Path(*sys.argv[1:])):
        print(line, flush=True)
