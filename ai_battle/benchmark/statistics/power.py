"""What a number of tasks can show at all."""

from math import ceil, sqrt

from .intervals import NORMAL

POWER, ALPHA = 0.8, 0.05


def smallest_seen(count: int, spread: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest true difference that `count` paired tasks show with probability `power`.

    `spread` is the sum of the squared differences that were found: for answers that are right or wrong, the number of
    tasks that only one setting solves. One more is counted, as the tasks seen are not all there are.
    """
    return min(1.0, _sigmas(alpha, power) * sqrt((spread + 1) / (count + 2) / count)) if count else 1.0


def seen_with(difference: float, share: float, alpha: float = ALPHA, power: float = POWER) -> int:
    """How many paired tasks show a difference when the settings differ on `share` of them."""
    return ceil((_sigmas(alpha, power) / difference) ** 2 * share)


def _sigmas(alpha: float, power: float) -> float:
    return NORMAL.inv_cdf(1 - alpha / 2) + NORMAL.inv_cdf(power)
