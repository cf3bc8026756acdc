"""What can wait until a server listens: prices, and what the garbage collector need not look at."""

import gc
from collections.abc import Iterable

from ..assembly.models import Model

MANY, OFTEN, SELDOM = 2_000, 5, 2


def settle(models: Iterable[Model]) -> None:
    """Looks up prices before the first answer needs them; then what is there stays out of the collector's way."""
    for model in models:
        model.find_price()
    gc.collect()
    gc.freeze()
    gc.collect()  # the next whole one waits until there is a quarter more than the last one left: that is now little
    gc.set_threshold(MANY, OFTEN, SELDOM)
