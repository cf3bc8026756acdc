"""Who speaks next."""

from collections.abc import Sequence
from random import Random


def round_robin(names: Sequence[str], order: Sequence[str], last: str) -> str:
    """The first of `names` after `last` in speaking order."""
    start = order.index(last) + 1 if last in order else 0
    return next(name for name in (*order[start:], *order[:start]) if name in names)


def drawn(names: Sequence[str], last: str, seed: int, turn: int) -> str:
    """Anyone but the last speaker; the same seed draws the same speaker for the same turn, whatever happened before."""
    others = [name for name in names if name != last] or list(names)
    return Random(f"{seed}:{turn}").choice(others)  # noqa: S311 - no secret depends on it
