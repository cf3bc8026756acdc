"""Suites for tests: small ones with scripted models, and what their samples were."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ai_battle.benchmark.loading import LoadOptions, load
from ai_battle.benchmark.run import RunOptions, RunOutcome, begin, run
from ai_battle.benchmark.sample import Sample, SampleKey
from ai_battle.benchmark.store import Store

SUMS = [{"id": f"s{n}", "prompt": f"What is {n} + {n}?", "reference": str(2 * n)} for n in range(1, 5)]
KNOWS = {"type": "scripted/knows", "when": [{"match": rf"^What is {n} \+", "say": f"It is {2 * n}."} for n in range(9)]}
ALWAYS_4 = {"type": "scripted/always-4", "script": ["I think it is 4."]}


def rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def suite(folder: Path, *settings: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Sums in `folder`, scored by number."""
    if not (folder / "sums.jsonl").exists():
        rows(folder / "sums.jsonl", SUMS)
    beside: dict[str, Any] = {key: more.pop(key) for key in ("providers", "prices") if key in more}
    said = {"datasets": [{"path": "sums.jsonl"}], "scorers": ["numeric"], "settings": list(settings), **more}
    return {"benchmark": said, **beside}


def play_suite(
    folder: Path, written: Mapping[str, Any], options: RunOptions | None = None, loading: LoadOptions | None = None
) -> tuple[RunOutcome, dict[SampleKey, Sample]]:
    """Returns how a suite ended, and its samples."""
    loaded = load(written, loading or LoadOptions(), base=folder)
    store = begin(loaded, folder / "out")
    try:
        ended = run(loaded, store, options or RunOptions())
        return ended, {sample.key: sample for sample in store.samples()}
    finally:
        store.close()


def samples(folder: Path) -> dict[SampleKey, Sample]:
    store = Store.open(folder)
    try:
        return {sample.key: sample for sample in store.samples()}
    finally:
        store.close()
