"""What agreement between models brings, measured: `python -m ai_battle.collaboration.agreement_figures DIR`.

DIR holds `answers.<dataset>.jsonl.gz` and `gsm8k.mixtral-8x7b.gpt-4-1106.jsonl.gz`. Calibrated figures are of
questions whose labels were not learned from; the detector's weights have seen no answer of the model that they judge;
plain agreement uses no label at all.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean

from ..signals.final_answers import final_answer
from ._agreement import Ballot, Tally, weighed
from ._answer_tables import KINDS, Answered, Table, family, read_rows, read_table
from ._folds import folds
from ._logistic import Row
from ._measures import apgr, auroc, cpt
from ._polling import AHEAD
from ._stuck.assessment import Assessment
from ._stuck.detector import StuckDetector
from ._stuck.figures import by_weights, left_out
from ._stuck.records import read_pairs

DIVISIONS = 4
PAIR = "gsm8k.mixtral-8x7b.gpt-4-1106"
LARGE = "gpt-4o-2024-08-06"
COUNCIL = ("Meta-Llama-3.1-8B-Instruct", "gemma-2-9b-it", "Qwen2-7B-Instruct")
RESERVE = ("Phi-3.5-mini-instruct", "Mistral-Nemo-Instruct-2407", "Yi-1.5-9B-Chat")
LOCAL = (*COUNCIL, *RESERVE, "Meta-Llama-3-8B-Instruct")
LARGE_ONES = ("70b", "72b", "405b", "gpt-4", "sonnet", "gemini-1.5-pro", "mistral-large")


@dataclass(frozen=True, slots=True)
class Worth:
    """How often another family's small model says the same as one that is right, and as one that is wrong."""

    if_right: float
    if_wrong: float

    @property
    def odds(self) -> tuple[float, float]:
        """By what agreement and disagreement multiply the odds that an answer is right."""
        return self.if_right / self.if_wrong, (1 - self.if_right) / (1 - self.if_wrong)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Measures of one score of one pair."""

    auroc: float
    apgr: float
    cpt50: float
    cpt80: float

    @classmethod
    def of(cls, scores: Sequence[float], small: Sequence[float], large: Sequence[float]) -> "Escalation":
        wrong = [each < 0.5 for each in small]
        return cls(
            auroc(scores, wrong), apgr(scores, small, large), *(cpt(scores, small, large, x) for x in (0.5, 0.8))
        )


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


# -- what a vote is worth


def worth(table: Table) -> Worth:
    """Over all ordered pairs of small models of different families."""
    small = [each for each in table.answered.values() if not any(mark in each.model.casefold() for mark in LARGE_ONES)]
    pairs = [(a, b) for a, b in permutations(small, 2) if family(a.model) != family(b.model)]
    return Worth(fmean(_agreeing(a, b, 1.0) for a, b in pairs), fmean(_agreeing(a, b, 0.0) for a, b in pairs))


def _agreeing(one: Answered, other: Answered, right: float) -> float:
    same = [
        a is not None and a == b for a, b, r in zip(one.ballots, other.ballots, one.right, strict=True) if r == right
    ]
    return fmean(same)


# -- one peer


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer of the pair's small model, what the detector makes of it, and how good both models are on it."""

    id: str
    ballot: Ballot | None
    judged: Assessment
    small: float
    large: float


def read_attempts(folder: Path) -> list[Attempt]:
    detector = StuckDetector()
    attempts = []
    for row in read_rows(folder / f"{PAIR}.jsonl.gz"):
        found = final_answer(row["small_response"], row["prompt"])
        judged = detector.assess(row["small_response"], row["prompt"])
        ballot = Ballot(found.kind, found.key) if found else None
        attempts.append(Attempt(row["id"], ballot, judged, float(row["small_correct"]), float(row["large_correct"])))
    return attempts


def unseen(attempts: Sequence[Attempt], folder: Path) -> list[Attempt]:
    """The same, judged by weights that were learned without any answer of this small model, where there are others."""
    if len(list(folder.glob("gsm8k.*"))) == 1:
        return list(attempts)
    pairs = read_pairs(folder, "gsm8k", "math-l5")
    pair = next(each for each in pairs if each.name == PAIR)
    scores = by_weights(pair, left_out(pair, pairs))
    return [
        replace(attempt, judged=replace(attempt.judged, quality=score.quality))
        for attempt, score in zip(attempts, scores, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Beside:
    """The answers of the pair's small model, with those of a peer."""

    attempts: Sequence[Attempt]
    peers: Sequence[Ballot | None]

    @classmethod
    def of(cls, attempts: Sequence[Attempt], table: Table, peer: str) -> "Beside":
        place = {each: n for n, each in enumerate(table.ids)}
        known = [each for each in attempts if each.id in place]
        return cls(known, [table.answered[peer].ballots[place[each.id]] for each in known])

    @property
    def differs(self) -> list[float]:
        both = zip(self.attempts, self.peers, strict=True)
        return [float(mine.ballot is None or mine.ballot != its) for mine, its in both]

    def disagreement(self) -> Escalation:
        return self._measured(self.differs)

    def with_detector(self) -> Escalation:
        judged = [_with(mine, its) for mine, its in zip(self.attempts, self.peers, strict=True)]
        return self._measured([-each.quality for each in judged])

    def calibrated(self) -> Escalation:
        """For gain, on the labels of other questions."""
        rows = [
            {**mine.judged.signals, "differs": apart} for mine, apart in zip(self.attempts, self.differs, strict=True)
        ]
        gains = [float(each.large > each.small) for each in self.attempts]
        scores = {n: score for fold in folds(rows, gains) for n, score in fold.held.items()}
        return self._measured([scores[n] for n in range(len(rows))])

    def _measured(self, scores: Sequence[float]) -> Escalation:
        return Escalation.of(scores, [each.small for each in self.attempts], [each.large for each in self.attempts])


def _with(mine: Attempt, peer: Ballot | None) -> Assessment:
    """An answer that says nothing is no better for a peer that says something."""
    if mine.ballot is None:
        return replace(mine.judged, quality=0.0)
    return weighed(mine.judged, mine.ballot, [peer])


# -- a council


def council(table: Table, members: Sequence[str], reserve: Sequence[str] = (), large: str = LARGE) -> Council:
    """The plurality is served; without one the large model answers. No label is used."""
    voters, helper = table.of(*members, *reserve), table.answered[large]
    verdicts = [_verdict([each.ballots[n] for each in voters], len(members)) for n in range(len(table.ids))]
    quality = fmean(
        helper.right[n] if verdict.served is None else voters[verdict.served].right[n]
        for n, verdict in enumerate(verdicts)
    )
    return Council(
        tuple((quality - each.quality) / (helper.quality - each.quality) for each in voters[: len(members)]),
        fmean(verdict.served is None for verdict in verdicts),
        fmean(verdict.asked - len(members) for verdict in verdicts),
    )


def calibrated(
    table: Table, members: Sequence[str], reserve: Sequence[str] = (), large: str = LARGE, share: float = 0.098
) -> Council:
    """As above, but the large model answers about `share` of the questions: those that are likeliest to gain."""
    voters, helper = table.of(*members, *reserve), table.answered[large]
    verdicts = [_verdict([each.ballots[n] for each in voters], len(members)) for n in range(len(table.ids))]
    served = [voters[verdict.served or 0].right[n] for n, verdict in enumerate(verdicts)]
    gains = [float(helper.right[n] > right) for n, right in enumerate(served)]
    rows = [_pattern(verdict) for verdict in verdicts]
    every = [fold for division in range(DIVISIONS) for fold in folds(rows, gains, division)]
    escalated = [each for fold in every for each in fold.escalated(share)]
    quality = fmean(part * helper.right[n] + (1 - part) * served[n] for n, part in escalated)
    return Council(
        tuple((quality - each.quality) / (helper.quality - each.quality) for each in voters[: len(members)]),
        fmean(part for _, part in escalated),
        fmean(verdict.asked - len(members) for verdict in verdicts),
    )


def councils(table: Table, reserve: int = 0) -> Iterator[Council]:
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


def _pattern(verdict: Verdict) -> Row:
    """Who stands apart from those who lead, and what they say."""
    led = set(Tally.of(verdict.ballots).leading)
    ballot = verdict.ballots[verdict.served] if verdict.served is not None else None
    return {
        "divided": float(not led),
        "of_one_mind": float(len(led) == len(verdict.ballots)),
        "asked": float(verdict.asked),
        "fraction": float(ballot is not None and "." in ballot.key),
        "digits": float(len(ballot.key)) if ballot else 0.0,
        **{f"apart_{n}": float(bool(led) and n not in led) for n in range(len(verdict.ballots))},
    }


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0] if arguments else ".")
    for dataset in KINDS:
        if (folder / f"answers.{dataset}.jsonl.gz").is_file():
            found = worth(read_table(folder, dataset))
            print(f"{dataset:10} agrees if right {found.if_right:.3f}, if wrong {found.if_wrong:.3f}", end="")
            print(f"; odds times {found.odds[0]:.2f} or {found.odds[1]:.2f}")
    table, attempts = read_table(folder, "gsm8k"), unseen(read_attempts(folder), folder)
    for peer in LOCAL:
        beside = Beside.of(attempts, table, peer)
        for way in (Beside.disagreement, Beside.with_detector, Beside.calibrated):
            each = way(beside)
            print(f"{peer:28} {way.__name__:13} AUROC {each.auroc:.3f} APGR {each.apgr:.3f} CPT80 {each.cpt80:.3f}")
    for count in range(len(RESERVE) + 1):
        _show(f"council, {count} in reserve", council(table, COUNCIL, RESERVE[:count]))
        _show("  the same, calibrated", calibrated(table, COUNCIL, RESERVE[:count]))
    for count in range(3):
        every = list(councils(table, count))
        print(f"all {len(every)} councils, {count} in reserve: {fmean(each.mean for each in every):.3f}", end=" ")
        print(f"of the advantage with {fmean(each.large_calls for each in every):.3f} large calls")


def _show(what: str, found: Council) -> None:
    parts = " ".join(f"{each:.3f}" for each in found.recovered)
    print(f"{what}: {found.mean:.3f} ({parts}), large calls {found.large_calls:.3f}, reserve {found.reserve_calls:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
