"""The garbage collector looks less often where many values are made that live long, or that go without it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 20
"""How many times more objects may be made between two looks."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    often, *others = gc.get_threshold()
    gc.set_threshold(often * SELDOM, *others)
    try:
        yield
    finally:
        gc.set_threshold(often, *others)


@contextmanager
def frozen() -> Iterator[None]:
    """What was made before lives longer than what is made now: the collector need not look at it again and again."""
    gc.freeze()
    try:
        with seldom_collected():
            yield
    finally:
        gc.unfreeze()
