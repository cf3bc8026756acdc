"""Measures deliberation by how its members rank answers: `python -m research.deliberation DIR`.

DIR holds `answers.<dataset>.jsonl.gz`. The answers are recorded but the rankings are not, so three rules make them. A
member prefers answers that say what its own says (`own`), or right answers (`truth`), or none (`lots`). Real rankings
lie between the last two. The pooled ranks are served, as no recording holds a chair.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from ai_battle.collaboration._ranking import Ranking, pool, reading_order
from ai_battle.judging.agreement import VoteCount
from research.answer_tables import AnsweredQuestion, read_table
from research.councils import THIRTEEN_COUNCILS

Preference: TypeAlias = Callable[[Sequence[AnsweredQuestion], int, int, int], bool]
"""Checks whether a member (third argument) prefers the answer of another (fourth) to a question (second)."""


def says_the_same(members: Sequence[AnsweredQuestion], question: int, reader: int, other: int) -> bool:
    own, its = members[reader].ballots[question], members[other].ballots[question]
    return own is not None and own == its


def is_right(members: Sequence[AnsweredQuestion], question: int, reader: int, other: int) -> bool:
    return members[other].right[question] > 0


def is_drawn(members: Sequence[AnsweredQuestion], question: int, reader: int, other: int) -> bool:
    return False


RULES: dict[str, Preference] = {"own": says_the_same, "truth": is_right, "lots": is_drawn}


def choice_by_ranks(members: Sequence[AnsweredQuestion], question: int, prefers: Preference) -> int:
    numbers = range(len(members))

    def ranking(reader: int) -> Ranking:
        shown = reading_order(str(question), members[reader].model, (n for n in numbers if n != reader))
        return tuple(sorted(shown, key=lambda other: not prefers(members, question, reader, other)))

    return pool(numbers, map(ranking, numbers))[0].number


def choice_by_vote(members: Sequence[AnsweredQuestion], question: int) -> int:
    """Returns the member with the plurality, or the first, as no large model can be asked here."""
    return next(iter(VoteCount.of([member.ballots[question] for member in members]).leading), 0)


def lines(folder: Path) -> Iterator[str]:
    tables = {dataset: read_table(folder, dataset) for dataset, _, _ in THIRTEEN_COUNCILS}
    yield f"{'dataset':9} {'best':>6} {'mean':>6} {'vote':>6} " + " ".join(f"{name:>6}" for name in RULES)
    rows = []
    for dataset, names, _ in THIRTEEN_COUNCILS:
        members, questions = tables[dataset].of(*names), range(len(tables[dataset].ids))
        qualities = [member.quality for member in members]
        vote = fmean(members[choice_by_vote(members, n)].right[n] for n in questions)
        ranked = [
            fmean(members[choice_by_ranks(members, n, rule)].right[n] for n in questions) for rule in RULES.values()
        ]
        rows.append((max(qualities), fmean(qualities), vote, *ranked))
        yield f"{dataset:9} {_figures(rows[-1])}  {', '.join(names)}"
    yield f"{'mean':9} {_figures([fmean(column) for column in zip(*rows, strict=True)])}"


def _figures(row: Sequence[float]) -> str:
    return " ".join(f"{each:6.3f}" for each in row)


def main(arguments: Sequence[str]) -> None:
    for line in lines(Path(*arguments)):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
