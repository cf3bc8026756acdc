"""Benchmarks that are killed at any moment and taken up again give the table of one that was left alone."""

import random
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ai_battle.benchmark.sample import SampleKey
from ai_battle.benchmark.store import Store
from ai_battle.core.errors import JournalError
from ai_battle.testing import FakeProviders, reply
from tests.nursery import Nursery

from .nursery import TOLD
from .suites import rows, samples

MODULE = "tests.benchmark.nursery"
TASKS, AT_ONCE = 40, 8
SETTINGS = {"phi4:latest": "a", "gemma3:1b": "b"}
KILLS = 50


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    opened = Nursery(MODULE)
    yield opened
    opened.close()


def write_suite(folder: Path, url: str) -> Path:
    rows(folder / "tasks.jsonl", ({"id": str(n), "prompt": f"Number {n}?", "reference": "4"} for n in range(TASKS)))
    suite = {
        "benchmark": {
            "datasets": [{"path": "tasks.jsonl"}],
            "scorers": ["numeric"],
            "settings": [{"name": name, "model": f"ollama/{model}"} for model, name in SETTINGS.items()],
            "concurrency": AT_ONCE,
        },
        "providers": {"ollama": {"base_url": url}},
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite))
    return folder / "suite.yaml"


def reported_count(folder: Path) -> int:
    """The most samples that were said to be finished."""
    path = folder.with_name(f"{folder.name}.{TOLD}")
    words = path.read_text().split() if path.exists() else []  # none where it is killed before its first word
    return int(words[-1]) if words else 0


def finished_keys(folder: Path) -> set[SampleKey]:
    try:
        store = Store.open(folder)
    except JournalError:
        return set()
    try:
        return store.finished_keys()
    finally:
        store.close()


def table(folder: Path) -> Mapping[SampleKey, Any]:
    return {key: (sample.answer, sample.score) for key, sample in samples(folder).items()}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_benchmark_that_is_killed_and_resumed_gives_the_same_table(tmp_path: Path, nursery: Nursery) -> None:
    """Nothing that was told to be finished is lost, and nothing that is finished is asked again."""
    dice = random.Random(KILLS)
    with FakeProviders.in_thread(keep=100_000) as fakes:
        fakes.ollama.always(lambda body: reply(f"It is {len(body['messages'][-1]['content']) % 5}.", delay=0.02))
        suite = write_suite(tmp_path, fakes.ollama.url)
        whole = tmp_path / "whole"
        begun = time.monotonic()
        assert nursery.play("begin", whole, suite) == 0
        longest = time.monotonic() - begun
        for point in range(KILLS):
            folder = tmp_path / f"killed-{point}"
            nursery.play("begin", folder, suite, kill_after=dice.uniform(0, longest))
            kept = finished_keys(folder)
            assert len(kept) >= reported_count(folder)
            if not (folder / "suite.yaml").exists():
                continue  # killed before anything was begun
            fakes.ollama.requests.clear()
            assert nursery.play("resume", folder, suite) == 0
            asked = set(questions(fakes))
            assert not asked & {(key.setting, key.task) for key in kept}
            assert len(asked) == 2 * TASKS - len(kept)
            assert table(folder) == table(whole)


def questions(fakes: FakeProviders) -> Iterator[tuple[str, str]]:
    """The setting and the task of each request."""
    for request in fakes.ollama.requests:
        if messages := request.body.get("messages"):
            yield SETTINGS[request.body["model"]], re.sub(r"\D", "", messages[-1]["content"])
