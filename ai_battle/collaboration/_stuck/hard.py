"""The checks that say at once that an answer needs help, whatever it would be worth otherwise."""

from collections.abc import Mapping

from ...signals.looping import looping_tail
from ...signals.truncation import cut_off
from .case import Case
from .family import wants_number

REPETITION = 0.6
DOUBT = 3.5
"""What a failed hard check adds to the logit of failure: nineteen of twenty such answers are wrong."""

WHY: Mapping[str, str] = {
    "empty": "there is no answer",
    "filtered": "the provider cut the answer off",
    "loop": "the answer goes round in circles at its end",
    "repetition": "most of the answer was said before",
    "truncated": "the answer stops in the middle",
    "gives_up": "the model says that it can't",
    "no_answer": "no final answer is given",
    "unfit_again": "a tool call does not fit its schema, after one such call had failed",
}


def failed(case: Case, signals: Mapping[str, float]) -> dict[str, float]:
    """The hard checks that failed, by name, each with its measure; `signals` are those of the answer."""
    found = {
        "empty": float(not case.text.strip() and not case.calls),
        "filtered": float(case.context.stop in ("content_filter", "refusal")),
        "loop": float(looping_tail(case.whole)),
        "repetition": signals.get("repeated_words", 0.0) if signals.get("repeated_words", 0.0) > REPETITION else 0.0,
        "truncated": float(case.context.stop == "length" or cut_off(case.whole)),
        "gives_up": float(_gives_up(case, signals)),
        "no_answer": float(_lacks_answer(case, signals) and not _gives_up(case, signals)),
        "unfit_again": float(_is_unfit(signals) and _had_error(case)),
    }
    return {name: value for name, value in found.items() if value}


def _gives_up(case: Case, signals: Mapping[str, float]) -> bool:
    """It admits or refuses where an answer would stand, and names none all the same."""
    said = signals.get("admission") or signals.get("refusal")
    return bool(said) and not (case.final and case.final.stated and case.family in ("math", "mcq", "code"))


def _lacks_answer(case: Case, signals: Mapping[str, float]) -> bool:
    """In a discussion with numbers in it not every turn owes one."""
    return bool(signals.get("no_final")) and (case.family != "math" or wants_number(case.question))


def _is_unfit(signals: Mapping[str, float]) -> bool:
    return bool(signals.get("unknown_parameter") or signals.get("missing_required"))


def _had_error(case: Case) -> bool:
    return any(result.is_error for result in case.context.results)
