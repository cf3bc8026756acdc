"""Measures the search for the lessons of a request among 100,000, by words and by meaning."""

import tempfile
from array import array
from base64 import b64encode
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import quantiles
from time import perf_counter

from ai_battle.evidence.lessons import TextPlace, find_lessons, keep_lesson, lessons_near
from ai_battle.evidence.store import EvidenceStore

PAIR, NUMBER = "small + large", 100_000


def lessons() -> None:
    """Prints the times of the search.

    Words are as frequent as in a language (Zipf's law), so that some are in most of the requests.
    """
    random = Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(random.choices(letters, k=random.randrange(3, 12))) for _ in range(30_000)]
    often = [*accumulate(1 / (place + 10) for place in range(len(words)))]

    def request(length: int) -> str:
        return " ".join(random.choices(words, cum_weights=often, k=length))

    with tempfile.TemporaryDirectory() as folder:
        store = EvidenceStore(Path(folder))
        places = [_place(random) for _ in range(200)]
        for number in range(NUMBER):
            keep_lesson(store, PAIR, request(random.randrange(8, 120)), "So.", "", places[number % len(places)])
        for length in (10, 50, 200):
            prompts = [request(length) for _ in range(100)]
            _print_times(
                f"lessons of {NUMBER:,} for a request of {length} words", [_seconds(store, each) for each in prompts]
            )
            _print_times("  by meaning, in 512 dimensions", [_seconds(store, each, places[0]) for each in prompts])
        store.close()


def _place(random: Random) -> TextPlace:
    vector = array("f", (random.gauss(0, 1) for _ in range(512)))
    return TextPlace(b64encode(vector.tobytes()).decode(), "any", 0.7)


def _seconds(store: EvidenceStore, prompt: str, place: TextPlace | None = None) -> float:
    begun = perf_counter()
    if place:
        lessons_near(store, PAIR, prompt, 3, place)
    else:
        find_lessons(store, PAIR, prompt, 3)
    return (perf_counter() - begun) * 1e3


def _print_times(what: str, taken: Sequence[float]) -> None:
    _, middle, high = quantiles(taken, n=4)
    print(f"{what:60} {middle:6.2f} ms (third quartile {high:.2f}, highest {max(taken):.2f})", flush=True)
