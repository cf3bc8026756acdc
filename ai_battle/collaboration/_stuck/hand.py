"""Weights that are set by hand, on the logit of failure, and how good answers are assumed to be.

A check that fires with precision p gets about logit(p) - logit(share of wrong answers), not above 3. The precisions
are those of published measurements; no model answers were learned on here.
"""

from collections.abc import Mapping
from typing import Any

from .family import Family

ASSUMED: Mapping[Family, float] = {"math": -1.1, "mcq": -0.8, "code": -1.2}
"""The logit of failure of an average answer. Without labels of one's own nobody knows how good a model is."""

EVERYWHERE: Mapping[str, float] = {
    "wrong_sums": 1.0,
    "no_final": 1.0,
    "json_unreadable": 1.5,
    "json_unfit": 1.5,
    "contradiction": 1.0,
    "code_does_not_parse": 2.0,
    "no_code": 2.0,
    "admission": 1.5,
    "refusal": 1.5,
    "said_before": 3.0,
    "only_goodbye": 0.5,
    "token_doubt": 1.0,
    "token_doubt_worst": 1.0,
    "call_repeated": 2.0,
    "errors_in_a_row": 2.0,
    "same_error_twice": 2.0,
    "guard_tripped": 2.0,
    "nothing_found": 0.5,
    "judged_wrong": 1.2,
    "judged_right": -0.7,
    "check_fails": 3.0,
    "check_passes": -3.0,
    "program_fails": 1.5,
    "program_runs": -0.2,
    "opinion_agrees": -1.0,
    "opinion_differs": 1.0,
}
USUAL_SPREAD = 0.3
_TOOL = {
    "unknown_parameter": 3.0,
    "missing_required": 3.0,
    "wrong_type": 1.0,
    "no_call_among_many": 3.0,
    "no_call_though_named": 3.0,
    "odd_spelling": 2.5,
    "value_from_nowhere": 0.8,
    "named_but_left_out": 0.6,
    "number_not_passed_on": 0.8,
    "call_repeated_in_answer": 2.0,
    "placeholder": 1.5,
    "prompt_not_served": 1.5,
    "name_not_asked_for": 0.7,
}
CHANCE = [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.6]
"""Quantiles of the gain where nothing was measured."""

_CHAT = {"repeated_words": 4.0, "wrong_sums": 2.5, "stops_short": 2.0, "nothing_new": 1.0, "length": -0.5}


def _as_profile(intercept: float, weights: Mapping[str, float], rescue: float) -> dict[str, Any]:
    return {
        "spread": {name: [0.0, USUAL_SPREAD] for name in weights},
        "failure": {
            "intercept": intercept,
            "weights": {name: weight * USUAL_SPREAD for name, weight in weights.items()},
        },
        "rescue": {"intercept": rescue, "weights": {}},
        "spoilt": 0.05,
        "gains": CHANCE,
    }


BY_HAND: Mapping[Family, dict[str, Any]] = {
    "tool": _as_profile(-2.3, _TOOL, 1.0),
    "chat": _as_profile(-1.8, _CHAT, 1.0),
}
