"""Measures what one peer's vote on an answer is worth, on recorded answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import log
from pathlib import Path
from statistics import fmean

from ai_battle.judging.agreement import WORTH, Ballot, assessment_with_votes, pattern
from ai_battle.judging.assessment import Assessment
from ai_battle.judging.detector import StuckDetector
from ai_battle.judging.measures import apgr, auroc, cpt
from ai_battle.judging.regression import folds
from ai_battle.signals.final_answers import final_answer
from research.answer_tables import AnsweredQuestion, Table, family, read_rows
from research.detector import by_weights, weights_without
from research.records import read_pairs

PAIR = "gsm8k.mixtral-8x7b.gpt-4-1106"
LARGE_ONES = ("70b", "72b", "405b", "gpt-4", "sonnet", "gemini-1.5-pro", "mistral-large")


@dataclass(frozen=True, slots=True)
class Worth:
    """The shares of right and of wrong answers that another family's small model gives as well."""

    if_right: float
    if_wrong: float

    @property
    def odds(self) -> tuple[float, float]:
        """Returns the factors of agreement and of disagreement for the odds that an answer is right."""
        return self.if_right / self.if_wrong, (1 - self.if_right) / (1 - self.if_wrong)


@dataclass(frozen=True, slots=True)
class Escalation:
    """The measures of one score of one pair."""

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


def vote_worth(table: Table) -> Worth:
    """Returns the mean over all ordered pairs of small models of different families."""
    small = [each for each in table.answered.values() if not any(mark in each.model.casefold() for mark in LARGE_ONES)]
    pairs = [(a, b) for a, b in permutations(small, 2) if family(a.model) != family(b.model)]
    return Worth(
        fmean(_agreement_share(a, b, 1.0) for a, b in pairs), fmean(_agreement_share(a, b, 0.0) for a, b in pairs)
    )


def _agreement_share(one: AnsweredQuestion, other: AnsweredQuestion, right: float) -> float:
    same = [
        a is not None and a == b for a, b, r in zip(one.ballots, other.ballots, one.right, strict=True) if r == right
    ]
    return fmean(same)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer of the pair's small model with the detector's assessment, and the qualities of both models."""

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


def judge_unseen(attempts: Sequence[Attempt], folder: Path) -> list[Attempt]:
    """Returns the attempts, judged by weights that have seen no answer of this small model.

    A folder with one pair has nothing else to learn from, so its attempts are returned as they are.
    """
    if len(list(folder.glob("gsm8k.*"))) == 1:
        return list(attempts)
    pairs = read_pairs(folder, "gsm8k", "math-l5")
    pair = next(each for each in pairs if each.name == PAIR)
    scores = by_weights(pair, weights_without(pair, pairs))
    return [
        replace(attempt, judged=replace(attempt.judged, quality=score.quality))
        for attempt, score in zip(attempts, scores, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class PeerAnswers:
    """The answers of the pair's small model and the ballots of a peer."""

    attempts: Sequence[Attempt]
    peers: Sequence[Ballot | None]

    @classmethod
    def of(cls, attempts: Sequence[Attempt], table: Table, peer: str) -> "PeerAnswers":
        place = {each: n for n, each in enumerate(table.ids)}
        known = [each for each in attempts if each.id in place]
        return cls(known, [table.answered[peer].ballots[place[each.id]] for each in known])

    @property
    def differs(self) -> list[float]:
        both = zip(self.attempts, self.peers, strict=True)
        return [float(mine.ballot is None or mine.ballot != its) for mine, its in both]

    @property
    def doubts(self) -> list[float]:
        judged = [_assessment_with_peer(mine, its) for mine, its in zip(self.attempts, self.peers, strict=True)]
        return [-each.quality for each in judged]

    def disagreement(self) -> Escalation:
        return self._measure(self.differs)

    def with_detector(self) -> Escalation:
        return self._measure(self.doubts)

    def calibrate(self) -> Escalation:
        """Returns the measures of a score for gain, learned from the labels of other questions."""
        both = zip(self.attempts, self.peers, strict=True)
        rows = [{**mine.judged.signals, **pattern([mine.ballot, its])} for mine, its in both]
        gains = [float(each.large > each.small) for each in self.attempts]
        scores = {n: score for fold in folds(rows, gains) for n, score in fold.held.items()}
        return self._measure([scores[n] for n in range(len(rows))])

    def _measure(self, scores: Sequence[float]) -> Escalation:
        return Escalation.of(scores, [each.small for each in self.attempts], [each.large for each in self.attempts])


def _assessment_with_peer(mine: Attempt, peer: Ballot | None) -> Assessment:
    """Returns the assessment of an answer with a peer's vote. An answer without a ballot has the quality 0."""
    if mine.ballot is None:
        return replace(mine.judged, quality=0.0)
    return assessment_with_votes(mine.judged, mine.ballot, [peer])


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """The shares of questions that go to a peer and to the large model, and the recovered part of its advantage."""

    peer_calls: float
    large_calls: float
    recovered: float

    def __str__(self) -> str:
        return f"peer calls {self.peer_calls:.3f}, large calls {self.large_calls:.3f}, recovered {self.recovered:.3f}"


def with_peer(both: PeerAnswers, threshold: float) -> SecondOpinion:
    """Lets the large model answer each stuck question, with a peer's vote where it could change the decision."""
    found = [_decide(mine, its, threshold) for mine, its in zip(both.attempts, both.peers, strict=True)]
    return SecondOpinion(
        fmean(asked for asked, _ in found), *_served_quality(both.attempts, [stuck for _, stuck in found])
    )


def without_peer(both: PeerAnswers, threshold: float) -> SecondOpinion:
    """Lets the large model answer each question that is stuck by the detector alone."""
    return SecondOpinion(
        0.0, *_served_quality(both.attempts, [_is_stuck(mine, 0.0, threshold) for mine in both.attempts])
    )


def _decide(mine: Attempt, peer: Ballot | None, threshold: float) -> tuple[bool, bool]:
    """Returns whether the peer is asked, and whether the answer is stuck after its vote."""
    stuck = _is_stuck(mine, 0.0, threshold)
    if mine.ballot is None:
        return False, stuck
    agrees, differs = (_is_stuck(mine, log(odds), threshold) for odds in WORTH[mine.ballot.kind])
    if agrees == differs == stuck:
        return False, stuck
    return True, agrees if peer == mine.ballot else differs


def _is_stuck(mine: Attempt, shift: float, threshold: float) -> bool:
    quality = min(max(mine.judged.quality, 1e-9), 1 - 1e-9)
    return mine.judged.at_once or log(quality / (1 - quality)) + shift < log(threshold / (1 - threshold))


def _served_quality(attempts: Sequence[Attempt], stuck: Sequence[bool]) -> tuple[float, float]:
    small, large = fmean(each.small for each in attempts), fmean(each.large for each in attempts)
    right = fmean(each.large if is_stuck else each.small for each, is_stuck in zip(attempts, stuck, strict=True))
    return fmean(stuck), (right - small) / (large - small)
