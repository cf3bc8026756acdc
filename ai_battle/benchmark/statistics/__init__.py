"""How sure a benchmark is: intervals, paired tests, and the verdict in words; tasks are what is counted.

Several answers of one setting to one task are one value, their mean: they hang together, and only tasks are drawn
independently. So an interval, a test and a bootstrap over tasks are clustered by task without further ado.
"""

from .intervals import Interval, bca, drawn_means, mean_interval, quantile_interval, rate_interval, wilson
from .paired import (
    ComparedPair,
    PairedDifference,
    Verdict,
    compare_pairs,
    conclusions,
    difference,
    holm,
    mcnemar,
    seen_with,
    sign_flips,
    smallest_seen,
)

__all__ = [
    "ComparedPair",
    "Interval",
    "PairedDifference",
    "Verdict",
    "bca",
    "compare_pairs",
    "conclusions",
    "difference",
    "drawn_means",
    "holm",
    "mcnemar",
    "mean_interval",
    "quantile_interval",
    "rate_interval",
    "seen_with",
    "sign_flips",
    "smallest_seen",
    "wilson",
]
