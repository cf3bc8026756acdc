"""Measures what councils gain: `python -m research.councils DIR [OUTCOMES]`.

DIR holds `answers.<dataset>.jsonl.gz`, and for calibrated figures the prompts in `<dataset>.<small>.<large>.jsonl.gz`.
OUTCOMES has the results of the prompts' programs, as `python -m research.outcomes` writes them. The area is the mean,
over all shares of questions that go to the large model, of the part of its advantage that is recovered.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean

from ai_battle.collaboration._poll import CLEAR_MARGIN
from ai_battle.judging.agreement import DOUBT_FEATURE, Ballot, VoteCount, assessment_with_votes, features
from ai_battle.judging.assessment import Assessment
from ai_battle.judging.measures import apgr, curve
from ai_battle.judging.regression import folds
from ai_battle.signals.outcomes import ProgramOutcome
from research.answer_tables import AnsweredQuestion, Table, read_table

DIVISIONS = 4
LARGE = "gpt-4o-2024-08-06"
COUNCIL = ("Meta-Llama-3.1-8B-Instruct", "gemma-2-9b-it", "Qwen2-7B-Instruct")
FOUR_MODELS = (*COUNCIL, "Phi-3.5-mini-instruct")
MMLU_MEMBERS = ("Meta-Llama-3_1-8B-Instruct", "Phi-3-mini-4k-instruct", "mathstral-7B")
THIRTEEN_COUNCILS = (
    *(
        (dataset, members, LARGE)
        for dataset in ("gsm8k", "math-l5", "crux")
        for members in combinations(FOUR_MODELS, 3)
    ),
    ("mmlu-pro", MMLU_MEMBERS, "gemini-1.5-pro-002"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A council's decision on one question: whose answer it serves (None: the large model's), and how many it asked.

    `verified` is True if running has shown that answer to be right.
    """

    served: int | None
    asked: int
    ballots: tuple[Ballot | None, ...]
    verified: bool = False

    @property
    def place(self) -> int:
        """Returns whose answer is served if the large model is not asked: without a lead, the first ballot's."""
        if self.served is not None:
            return self.served
        return next((place for place, ballot in enumerate(self.ballots) if ballot), 0)

    @property
    def judged(self) -> Assessment:
        """Returns the assessment of the served answer, without its text."""
        quality, signals = (1.0, {"verified": 1.0}) if self.verified else (0.5, {})
        refuted = {} if self.ballots[self.place] else {"refuted": 1.0}
        return Assessment(0.0 if refuted and not self.verified else quality, 0.0, False, {**signals, **refuted})

    @property
    def doubt(self) -> float:
        """Returns the doubt of the served answer by the votes of the others and by running."""
        mine = self.ballots[self.place]
        others = [*self.ballots[: self.place], *self.ballots[self.place + 1 :]]
        return -(self.judged.quality if self.verified else assessment_with_votes(self.judged, mine, others).quality)


@dataclass(frozen=True, slots=True)
class Council:
    """The figures of a council. `recovered` has the recovered advantage over each member as the small model."""

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
class Area:
    """The mean area above the members of a council as the small model, and the area above what it serves."""

    above_members: float
    above_served: float

    def __str__(self) -> str:
        return f"{self.above_members:.3f} ({self.above_served:.3f})"


@dataclass(frozen=True, slots=True)
class Session:
    """The verdicts of a council with a reserve on all questions, without any label."""

    members: int
    voters: Sequence[AnsweredQuestion]
    helper: AnsweredQuestion
    verdicts: Sequence[Verdict]
    prompts: Sequence[str]

    @classmethod
    def of(cls, table: Table, members: Sequence[str], reserve: Sequence[str], large: str) -> "Session":
        voters = table.of(*members, *reserve)
        ballots = zip(*(each.ballots for each in voters), strict=True)
        verified = zip(*(each.verified for each in voters), strict=True)
        verdicts = [_verdict(*both, len(members)) for both in zip(ballots, verified, strict=True)]
        return cls(len(members), voters, table.answered[large], verdicts, table.prompts)

    @property
    def served(self) -> list[float]:
        """Returns the quality of each served answer if the large model is not asked."""
        return [self.voters[verdict.place].right[n] for n, verdict in enumerate(self.verdicts)]

    @property
    def rows(self) -> list[dict[str, float]]:
        """Returns the features from which a calibration learns."""
        both = zip(self.verdicts, self.prompts, strict=True)
        every = (features(each.judged, each.ballots, each.place, prompt) for each, prompt in both)
        return [{name: value for name, value in row.items() if name != DOUBT_FEATURE} for row in every]

    @property
    def gains(self) -> list[float]:
        return [float(right > served) for right, served in zip(self.helper.right, self.served, strict=True)]

    def council(self, parts: Iterable[tuple[int, float]]) -> Council:
        """Returns the figures if the given part of each question, by its place, goes to the large model."""
        served, parts = self.served, list(parts)
        quality = fmean(part * self.helper.right[n] + (1 - part) * served[n] for n, part in parts)
        return Council(
            tuple(
                (quality - each.quality) / (self.helper.quality - each.quality) for each in self.voters[: self.members]
            ),
            fmean(part for _, part in parts),
            fmean(verdict.asked - self.members for verdict in self.verdicts),
        )

    def area(self, doubts: Sequence[float]) -> Area:
        """Returns the area if the questions with the largest doubts go to the large model first."""
        served, large = self.served, self.helper.right
        qualities, most = curve(doubts, served, large), self.helper.quality
        above = ([(a + b - 2 * each.quality) / 2 / (most - each.quality) for a, b in pairwise(qualities)]
                 for each in self.voters[: self.members])  # fmt: skip
        return Area(fmean(map(fmean, above)), apgr(doubts, served, large))


def council(table: Table, members: Sequence[str], reserve: Sequence[str] = (), large: str = LARGE) -> Council:
    """Measures a council that serves the plurality and else asks the large model. No label is used."""
    session = Session.of(table, members, reserve, large)
    return session.council((n, float(verdict.served is None)) for n, verdict in enumerate(session.verdicts))


def calibrated_council(
    table: Table, members: Sequence[str], reserve: Sequence[str] = (), large: str = LARGE, share: float = 0.098
) -> Council:
    """Measures a council whose large model answers the `share` of the questions that are likeliest to gain."""
    session = Session.of(table, members, reserve, large)
    rows, gains = session.rows, session.gains
    every = (fold for division in range(DIVISIONS) for fold in folds(rows, gains, division))
    return session.council(each for fold in every for each in fold.rows_to_escalate(share))


def area(table: Table, members: Sequence[str], large: str = LARGE) -> tuple[Area, Area]:
    """Returns the area by votes and running alone, and calibrated on the labels of other questions."""
    session = Session.of(table, members, (), large)
    held = {n: score for fold in folds(session.rows, session.gains) for n, score in fold.held.items()}
    return session.area([each.doubt for each in session.verdicts]), session.area([held[n] for n in range(len(held))])


def _verdict(ballots: Sequence[Ballot | None], verified: Sequence[bool], first: int) -> Verdict:
    """Decides as `Poll` does: it asks the reserve until an answer is verified or two votes ahead."""
    asked = first
    while (tally := VoteCount.of(ballots[:asked])).margin < min(CLEAR_MARGIN, first) and asked < len(ballots):
        if any(verified[:asked]):
            break
        asked += 1
    proved = next((place for place in range(asked) if verified[place]), None)
    served = next(iter(tally.leading), None) if proved is None else proved
    return Verdict(served, asked, tuple(ballots[:asked]), proved is not None)


def read_outcomes(path: Path) -> dict[str, ProgramOutcome]:
    """Reads the results of programs, by the id of their question."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: ProgramOutcome(row["text"], row["is_printed"]) for row in rows}


def lines(folder: Path, outcomes: Mapping[str, ProgramOutcome]) -> Iterator[str]:
    """Yields the area above the members (and above what is served) of each of the thirteen councils, and the means."""
    tables = {dataset: read_table(folder, dataset, outcomes) for dataset, _, _ in THIRTEEN_COUNCILS}
    areas = []
    for dataset, members, large in THIRTEEN_COUNCILS:
        areas.append(area(tables[dataset], members, large))
        yield f"{dataset:9} without labels {areas[-1][0]} calibrated {areas[-1][1]}  {', '.join(members)}"
    for place, name in enumerate(("no label", "calibrated")):
        means = (fmean(each[place].above_members for each in areas), fmean(each[place].above_served for each in areas))
        yield f"mean of {len(areas)}, {name}: {Area(*means)}"


def main(arguments: Sequence[str]) -> None:
    folder, *outcomes = map(Path, arguments or ("."))
    for line in lines(folder, read_outcomes(outcomes[0]) if outcomes else {}):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
