"""The same bytes in every way that a network may cut them."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from hypothesis import strategies as st


def slices(data: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return (data[start:end] for start, end in pairwise(places))


def pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every way to cut it in two."""
    return ((data[:cut], data[cut:]) for cut in range(len(data) + 1))


cut_places = st.lists(st.integers(0, 100_000), max_size=12)
