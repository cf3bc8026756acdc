"""What a number of tasks can show at all."""

from math import ceil, sqrt

from .intervals import NORMAL

POWER, ALPHA = 0.8, 0.05
SIGMAS = NORMAL.inv_cdf(1 - ALPHA / 2) + NORMAL.inv_cdf(POWER)


def smallest_seen(count: int, spread: float) -> float:
    """The smallest true difference that `count` paired tasks show with probability `POWER`.

    `spread` is the sum of the squared differences that were found: for answers that are right or wrong, the number of
    tasks that only one setting solves. One more is counted, as the tasks seen are not all there are.
    """
    return min(1.0, SIGMAS * sqrt((spread + 1) / (count + 2) / count)) if count else 1.0


def seen_with(difference: float, share: float) -> int:
    """How many paired tasks show a difference when the settings differ on `share` of them."""
    return ceil((SIGMAS / difference) ** 2 * share)
