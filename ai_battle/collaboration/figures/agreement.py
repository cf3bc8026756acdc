"""What agreement between models brings, measured: `python -m ai_battle.collaboration.figures.agreement DIR`.

DIR holds `answers.<dataset>.jsonl.gz` and `gsm8k.mixtral-8x7b.gpt-4-1106.jsonl.gz`. Calibrated figures are of
questions whose labels were not learned from; the detector's weights have seen no answer of the model that they judge;
plain agreement uses no label at all.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean

from .._agreement import Ballot, Tally, pattern
from .._folds import folds
from .._polling import AHEAD
from ._answer_tables import KINDS, Answered, Table, family, read_table
from ._peers import Attempt, Beside, read_attempts, unseen, worth
from ._second_look import alone, second_look

DIVISIONS = 4
THRESHOLDS = (0.7, 0.8, 0.85)
LARGE = "gpt-4o-2024-08-06"
COUNCIL = ("Meta-Llama-3.1-8B-Instruct", "gemma-2-9b-it", "Qwen2-7B-Instruct")
RESERVE = ("Phi-3.5-mini-instruct", "Mistral-Nemo-Instruct-2407", "Yi-1.5-9B-Chat")
LOCAL = (*COUNCIL, *RESERVE, "Meta-Llama-3-8B-Instruct")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a council does with one question: whose answer it serves (None: the large model's), and whom it asked."""

    served: int | None
    asked: int
    ballots: tuple[Ballot | None, ...]


@dataclass(frozen=True, slots=True)
class Council:
    """`recovered` is the part of the large model's advantage, over each of the first three as the small model."""

    recovered: tuple[float, ...]
    large_calls: float
    reserve_calls: float

    @property
    def mean(self) -> float:
        return fmean(self.recovered)

    def __str__(self) -> str:
        parts = " ".join(f"{each:.3f}" for each in self.recovered)
        return f"{self.mean:.3f} ({parts}), large calls {self.large_calls:.3f}, reserve {self.reserve_calls:.3f}"


@dataclass(frozen=True, slots=True)
class Session:
    """What a council with a reserve does with each question, without any label."""

    members: int
    voters: Sequence[Answered]
    helper: Answered
    verdicts: Sequence[Verdict]

    @classmethod
    def of(cls, table: Table, members: Sequence[str], reserve: Sequence[str], large: str) -> "Session":
        voters = table.of(*members, *reserve)
        ballots = zip(*(each.ballots for each in voters), strict=True)
        return cls(len(members), voters, table.answered[large], [_verdict(each, len(members)) for each in ballots])

    @property
    def served(self) -> list[float]:
        """How good the served answers are; where none leads, the first voter's."""
        return [self.voters[verdict.served or 0].right[n] for n, verdict in enumerate(self.verdicts)]

    def council(self, parts: Iterable[tuple[int, float]]) -> Council:
        """Of each question (by its place), the part of it that goes to the large model."""
        served, parts = self.served, list(parts)
        quality = fmean(part * self.helper.right[n] + (1 - part) * served[n] for n, part in parts)
        return Council(
            tuple(
                (quality - each.quality) / (self.helper.quality - each.quality) for each in self.voters[: self.members]
            ),
            fmean(part for _, part in parts),
            fmean(verdict.asked - self.members for verdict in self.verdicts),
        )


def council(table: Table, members: Sequence[str], reserve: Sequence[str] = (), large: str = LARGE) -> Council:
    """The plurality is served; without one the large model answers. No label is used."""
    session = Session.of(table, members, reserve, large)
    return session.council((n, float(verdict.served is None)) for n, verdict in enumerate(session.verdicts))


def calibrated(
    table: Table, members: Sequence[str], reserve: Sequence[str] = (), large: str = LARGE, share: float = 0.098
) -> Council:
    """As above, but the large model answers about `share` of the questions: those that are likeliest to gain."""
    session = Session.of(table, members, reserve, large)
    gains = [float(right > served) for right, served in zip(session.helper.right, session.served, strict=True)]
    rows = [pattern(verdict.ballots) for verdict in session.verdicts]
    every = (fold for division in range(DIVISIONS) for fold in folds(rows, gains, division))
    return session.council(each for fold in every for each in fold.escalated(share))


def councils(table: Table, reserve: int) -> Iterator[Council]:
    """Of all local models, three of different families, and so many others in reserve."""
    for members in combinations(LOCAL, 3):
        families = {family(each) for each in members}
        others = [each for each in LOCAL if family(each) not in families]
        if len(families) == 3:
            yield from (council(table, members, chosen) for chosen in permutations(others, reserve))


def _verdict(ballots: Sequence[Ballot | None], first: int) -> Verdict:
    """As `Poll` decides: the reserve is asked until an answer is two votes ahead."""
    asked = first
    while (tally := Tally.of(ballots[:asked])).margin < min(AHEAD, first) and asked < len(ballots):
        asked += 1
    return Verdict(next(iter(tally.leading), None), asked, tuple(ballots[:asked]))


def lines(folder: Path) -> Iterator[str]:
    for dataset in (each for each in KINDS if (folder / f"answers.{each}.jsonl.gz").is_file()):
        found = worth(read_table(folder, dataset))
        yield (
            f"{dataset:10} agrees if right {found.if_right:.3f}, if wrong {found.if_wrong:.3f}; "
            f"odds times {found.odds[0]:.2f} or {found.odds[1]:.2f}"
        )
    table = read_table(folder, "gsm8k")
    yield from _of_peers(unseen(read_attempts(folder), folder), table)
    yield from _of_councils(table)


def _of_peers(attempts: Sequence[Attempt], table: Table) -> Iterator[str]:
    for peer in LOCAL:
        beside = Beside.of(attempts, table, peer)
        for way in (Beside.disagreement, Beside.with_detector, Beside.calibrated):
            found = way(beside)
            measures = f"AUROC {found.auroc:.3f} APGR {found.apgr:.3f} CPT80 {found.cpt80:.3f}"
            yield f"{peer:28} {way.__name__:13} {measures}"
        for threshold in THRESHOLDS:
            yield f"{peer:28} asked where it matters, threshold {threshold}: {second_look(beside, threshold)}"
    for threshold in THRESHOLDS:
        yield f"no peer, threshold {threshold}: {alone(beside, threshold)}"


def _of_councils(table: Table) -> Iterator[str]:
    for count in range(len(RESERVE) + 1):
        yield f"council, {count} in reserve: {council(table, COUNCIL, RESERVE[:count])}"
        yield f"  the same, calibrated: {calibrated(table, COUNCIL, RESERVE[:count])}"
    for count in range(3):
        every = list(councils(table, count))
        recovered, calls = fmean(each.mean for each in every), fmean(each.large_calls for each in every)
        yield f"all {len(every)} councils, {count} in reserve: {recovered:.3f}, large calls {calls:.3f}"


def main(arguments: Sequence[str]) -> None:
    for line in lines(Path(arguments[0] if arguments else ".")):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
