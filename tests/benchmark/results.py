"""Results made by hand: settings and what they answered, without a run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ai_battle.benchmark.sample import NO_HELP, AnswerScore, HelpRecord, Sample
from ai_battle.benchmark.store import Store
from ai_battle.benchmark.tasks import Task
from ai_battle.core.exchange import Usage

SMALL = {"model": "ollama/small"}
LARGE = {"model": "openai/large"}
HELPED = {"model": "ollama/small", "secondary": ["openai/large"], "strategy": "takeover", "threshold": 0.7}


def results(
    folder: Path, settings: Mapping[str, Mapping[str, Any]], samples: Iterable[Sample], tasks: Iterable[Task] = ()
) -> Store:
    """`tasks` are by default those of the samples."""
    made = list(samples)
    ids = dict.fromkeys(sample.task for sample in made)
    store = Store.create(folder)
    store.begin(tuple(tasks) or tuple(Task(each, f"Prompt of {each}.") for each in ids), settings)
    store.set_fact("name", folder.name)
    store.set_fact("repeats", 1 + max((sample.repeat for sample in made), default=0))
    store.add(made)
    return store


def scored_samples(
    setting: str, values: Iterable[float | None], cost: float | None = 0.001, **more: Any
) -> list[Sample]:
    """A sample for each value, to the tasks t0, t1 ..."""
    usage = Usage(100, 50, cost_usd=cost)
    return [
        Sample(setting, f"t{n}", 0, f"Answer {n}.", AnswerScore(value), usage, 0.5 + n / 100, **more)
        for n, value in enumerate(values)
    ]


def helped_samples(right_first: str, right_after: str, got_help: str, quality: float = 0.5) -> list[Sample]:
    """Samples of the setting "helped": a letter for each task, `x` where it holds."""
    return [
        Sample(
            "helped",
            f"t{n}",
            0,
            "In the end.",
            AnswerScore(float(after == "x")),
            Usage(200, 100, cost_usd=0.011 if got == "x" else 0.001),
            1.0,
            got == "x",
            Usage(100, 50, cost_usd=0.001) if got == "x" else Usage(cost_usd=0.0),
            quality if got == "x" else 0.9,
            {"doubtful": 1.0} if got == "x" else {"plain": 1.0},
            "it is doubtful" if got == "x" else "",
            "First.",
            "Of the large one." if got == "x" else "",
            small_score=float(first == "x"),
            large_score=1.0 if got == "x" else None,
            help=HelpRecord(1, cost_usd=None) if got == "x" else NO_HELP,
        )
        for n, (first, after, got) in enumerate(zip(right_first, right_after, got_help, strict=True))
    ]
