"""Measures what handing over stalled work gains, on recorded tasks: `python -m research.trajectory DIR`.

DIR holds `intercode-sql.*.jsonl.gz`: recorded trajectories of a small and a large model. Nothing is learned from them.
"""

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from ai_battle.judging.measures import mean
from ai_battle.signals.progress import ToolStep, why_no_progress


@dataclass(frozen=True)
class Trajectory:
    """The steps of the small model, and whether it and the large one solve the task."""

    steps: tuple[ToolStep, ...]
    small: float
    large: float

    @property
    def stall_place(self) -> int | None:
        """Returns the steps after which the task is handed over, or None. A finished task is not handed over."""
        return next((n for n in range(1, len(self.steps)) if why_no_progress(self.steps[:n])), None)


@dataclass(frozen=True, slots=True)
class HandoverResult:
    """The figures of handing over. `small_turns` is the part of its turns that the small model still takes.

    `unsolved` is the share of the handed-over tasks that the small model did not solve.
    """

    quality: float
    small_quality: float
    large_quality: float
    small_turns: float
    handed_over: float
    unsolved: float

    @classmethod
    def of(cls, tasks: Sequence[Trajectory]) -> Self:
        ends = [(task, task.stall_place) for task in tasks]
        return cls(
            quality=mean([task.small if end is None else task.large for task, end in ends]),
            small_quality=mean([task.small for task in tasks]),
            large_quality=mean([task.large for task in tasks]),
            small_turns=sum(end or len(task.steps) for task, end in ends) / sum(len(task.steps) for task in tasks),
            handed_over=mean([float(end is not None) for _, end in ends]),
            unsolved=1 - mean([task.small for task, end in ends if end is not None]),
        )


def read_trajectories(folder: Path) -> list[Trajectory]:
    found = sorted(folder.glob("intercode-sql.*.jsonl.gz"))
    if not found:
        raise SystemExit(f"{folder} has no file intercode-sql.*.jsonl.gz")
    with gzip.open(found[0], "rt", encoding="utf-8") as lines:
        return [_trajectory(json.loads(line)) for line in lines]


def _trajectory(row: Mapping[str, Any]) -> Trajectory:
    steps = tuple(ToolStep(s["action"], s["observation"], not s["valid"]) for s in row["small_steps"])
    return Trajectory(steps, float(row["small_correct"]), float(row["large_correct"]))


def main(arguments: Sequence[str]) -> None:
    for name, figure in asdict(HandoverResult.of(read_trajectories(Path(*arguments)))).items():
        print(f"{name:<16} {figure:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
