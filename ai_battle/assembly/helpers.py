"""Models that help another one: where they stand in its section, and how each is made."""

from collections.abc import Iterator

from ..config.collaboration import Help, HelperSettings
from ..config.problems import Path


def helpers_of(pair: Help) -> Iterator[tuple[Path, HelperSettings]]:
    """The models of a pair beside the primary, and where each stands in it."""
    yield from secondaries(pair)
    if pair.judge:
        yield ("judge",), pair.judge
    for key in ("models", "peers"):
        for index, helper in enumerate(getattr(pair, key)):
            yield (key, index), helper


def secondaries(pair: Help) -> Iterator[tuple[Path, HelperSettings]]:
    """One alone is written without a list."""
    for index, helper in enumerate(pair.secondary):
        yield ("secondary", index) if len(pair.secondary) > 1 else ("secondary",), helper
