"""Sweeps 48 settings over 200 recorded answers, against reading their file with gzip and json alone."""

import gzip
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from ai_battle.benchmark.datasets.recorded import create
from ai_battle.benchmark.sweep import Replayed, grid, recorded_pairs, sweep

ANSWERS = Path(__file__).parents[2] / "configs/benchmarks/data/gsm8k.mixtral-8x7b.gpt-4-1106.jsonl.gz"
ITEMS = 200


def works(folder: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    """Returns the sweep of assessed answers, and the function that reads their file."""
    path = _few(folder)
    items = recorded_pairs(create().read(path))
    return lambda: _sweep(items), lambda: _read(path)


def _few(folder: Path) -> Path:
    path = folder / "few.jsonl.gz"
    with gzip.open(ANSWERS, "rt", encoding="utf-8") as lines, gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(islice(lines, ITEMS))
    return path


def _sweep(items: list[Replayed]) -> None:
    found = sweep(items, grid())
    assert (len(found), found[0].count) == (48, ITEMS)


def _read(path: Path) -> None:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        assert len([json.loads(line) for line in lines]) == ITEMS
