"""How long it takes to find the lessons for a request among 100,000."""

import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import quantiles
from time import perf_counter

from ai_battle.evidence.lessons import find_lessons, keep_lesson
from ai_battle.evidence.store import EvidenceStore

PAIR, NUMBER = "small + large", 100_000


def lessons() -> None:
    """Words are as often as in a language (Zipf's law), so that some are in most of the requests."""
    random = Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(random.choices(letters, k=random.randrange(3, 12))) for _ in range(30_000)]
    often = [*accumulate(1 / (place + 10) for place in range(len(words)))]

    def request(length: int) -> str:
        return " ".join(random.choices(words, cum_weights=often, k=length))

    with tempfile.TemporaryDirectory() as folder:
        store = EvidenceStore(Path(folder))
        for _ in range(NUMBER):
            keep_lesson(store, PAIR, request(random.randrange(8, 120)), "So.", "")
        for length in (10, 50, 200):
            taken = [_seconds(store, request(length)) * 1e3 for _ in range(100)]
            _tell(f"lessons of {NUMBER:,} for a request of {length} words", taken)
        store.close()


def _seconds(store: EvidenceStore, prompt: str) -> float:
    begun = perf_counter()
    find_lessons(store, PAIR, prompt, 3)
    return perf_counter() - begun


def _tell(what: str, taken: Sequence[float]) -> None:
    _, middle, high = quantiles(taken, n=4)
    print(f"{what:60} {middle:6.2f} ms ({high:.2f} in a quarter, {max(taken):.2f} at most)", flush=True)
