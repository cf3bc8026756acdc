"""What watching tool trajectories brings, measured: `python -m research.trajectory DIR`.

DIR holds `intercode-sql.*.jsonl.gz`: recorded trajectories of a small and a large model. With `--write` the weights
are learned anew on all of them. Each figure is of weights that were learned on other questions.
"""

import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from operator import and_
from pathlib import Path
from random import Random
from typing import Any, Self

from ai_battle.judging.measures import auroc, mean
from ai_battle.judging.regression import LogisticModel, fit_model
from ai_battle.judging.trajectory import FIRST_TURN, HAND_OVER
from ai_battle.signals.trouble import ToolStep, in_trouble, troubles

FOLDS = 5
SOURCE = "princeton-nlp/intercode (MIT), SQL: gpt-3.5-turbo, helped by gpt-4"


@dataclass(frozen=True)
class Trajectory:
    """What the small model did, and whether it and the large one got there."""

    prompt: str
    steps: tuple[ToolStep, ...]
    small: float
    large: float

    @cached_property
    def moments(self) -> dict[int, dict[str, float]]:
        """What is measured after each turn at which it could be handed over."""
        turns = range(FIRST_TURN, len(self.steps))
        return {turn: troubles(self.steps[:turn], self.prompt) for turn in turns}


def read(folder: Path) -> list[Trajectory]:
    found = sorted(folder.glob("intercode-sql.*.jsonl.gz"))
    if not found:
        raise SystemExit(f"{folder} has no file intercode-sql.*.jsonl.gz")
    with gzip.open(found[0], "rt", encoding="utf-8") as lines:
        return [_trajectory(json.loads(line)) for line in lines]


def learned(trajectories: Sequence[Trajectory]) -> LogisticModel:
    """From every beginning of three turns or more that did not end there."""
    moments = [(measured, 1 - each.small) for each in trajectories for measured in each.moments.values()]
    return fit_model([features for features, _ in moments], [label for _, label in moments])


@dataclass(frozen=True, slots=True)
class End:
    """How a task ends: how well, after how many turns of the small model, and whether the large one took it over."""

    quality: float
    turns: int
    handed_over: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """A trajectory with the probability to fail after each turn."""

    of: Trajectory
    scores: Mapping[int, float]

    def end(self, above: float) -> End:
        turn = next((turn for turn, score in self.scores.items() if score > above), None)
        if turn is None:
            return End(self.of.small, len(self.of.steps), handed_over=False)
        return End(self.of.large, turn, handed_over=True)


@dataclass(frozen=True, slots=True)
class Foresight:
    """How well it is told at the third turn who fails, of those that go on: by the weights, and by the rules alone."""

    auroc: float
    rule_precision: float
    rule_recall: float

    @classmethod
    def of(cls, scored: Sequence[Scored]) -> Self:
        going_on = [each for each in scored if each.scores]
        fails = [not each.of.small for each in going_on]
        flagged = [bool(in_trouble(each.of.steps[:FIRST_TURN])) for each in going_on]
        hits = sum(map(and_, flagged, fails))
        found = auroc([each.scores[FIRST_TURN] for each in going_on], fails)
        return cls(found, hits / sum(flagged), hits / sum(fails))


@dataclass(frozen=True, slots=True)
class Relief:
    """What handing over comes to: `small_turns` is the part of its turns that the small model still takes."""

    quality: float
    small_quality: float
    large_quality: float
    small_turns: float
    handed_over: float

    @classmethod
    def of(cls, scored: Sequence[Scored], above: float = HAND_OVER) -> Self:
        ends = [each.end(above) for each in scored]
        return cls(
            quality=mean([end.quality for end in ends]),
            small_quality=mean([each.of.small for each in scored]),
            large_quality=mean([each.of.large for each in scored]),
            small_turns=sum(end.turns for end in ends) / sum(len(each.of.steps) for each in scored),
            handed_over=mean([float(end.handed_over) for end in ends]),
        )


def unseen(trajectories: Sequence[Trajectory]) -> Iterator[Scored]:
    """Each by weights of the other folds."""
    fold = [Random(place).randrange(FOLDS) for place in range(len(trajectories))]  # noqa: S311
    for held in range(FOLDS):
        weights = learned([each for each, of in zip(trajectories, fold, strict=True) if of != held])
        for each, of in zip(trajectories, fold, strict=True):
            if of == held:
                yield Scored(each, {turn: weights.probability(found) for turn, found in each.moments.items()})


def _trajectory(row: Mapping[str, Any]) -> Trajectory:
    steps = tuple(ToolStep(s["action"], s["observation"], not s["valid"]) for s in row["small_steps"])
    return Trajectory(row["prompt"], steps, float(row["small_correct"]), float(row["large_correct"]))


def _write(weights: LogisticModel) -> None:
    said = {
        "source": SOURCE,
        "bias": round(weights.bias, 4),
        "features": {name: [round(value, 4) for value in values] for name, values in weights.features.items()},
    }
    target = Path(str(files("ai_battle.judging") / "trajectory.json"))
    target.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    folder = Path(next((each for each in arguments if not each.startswith("-")), "."))
    trajectories = read(folder)
    scored = list(unseen(trajectories))
    for name, value in (asdict(Foresight.of(scored)) | asdict(Relief.of(scored))).items():
        print(f"{name:16} {value:.3f}")
    if "--write" in arguments:
        _write(learned(trajectories))


if __name__ == "__main__":
    main(sys.argv[1:])
