"""Whether an option is picked, and whether the working leads to it."""

import math
import re
from collections.abc import Mapping

from ....signals.quantities import quantities
from ....signals.stems import share, stems
from ..case import Case

_NOT_LISTED = re.compile(
    r"\bnot (?:listed|among|in the options|one of|given)\b|\bclosest\b|\bnone of the (?:options|choices|answers)\b"
    r"|\bdoes(?:n't| not) match any\b|\bno (?:correct|matching) option\b",
)
_ARTICLE = 4
_DIGIT = re.compile(r"\d")
_SHORT, NEAR = 25, 0.01
_FACTORS = (1.0, 100.0, 0.01, 1000.0, 0.001)


def check(case: Case) -> dict[str, float]:
    options = case.options
    picked = case.final.key if case.final else ""
    before = _before_answer(case.lowered)
    return {
        "no_pick": float(picked not in options),
        "not_listed": float(_NOT_LISTED.search(before) is not None),
        "stem_length": math.log1p(len(case.prompt.partition("(A)")[0].split())) / 5,
        "result_no_option": float(_result_is_no_option(case)),
        **(_about(picked, options, before) if picked in options else {}),
    }


def _about(picked: str, options: Mapping[str, str], before: str) -> dict[str, float]:
    said = stems(before)
    longest = max(map(len, options.values()))
    return {
        "pick_in_working": share(stems(options[picked]), said),
        "other_in_working": max(share(stems(text), said) for letter, text in options.items() if letter != picked),
        "pick_is_longest": float(len(options[picked]) == longest),
        "pick_is_late": list(options).index(picked) / (len(options) - 1),
        "pick_number_absent": float(_is_number(options[picked]) and not _named(options[picked], before)),
    }


def _result_is_no_option(case: Case) -> bool:
    """The last sum gives a number, and all options are numbers, but none is this one."""
    if not case.claims or not all(map(_is_number, case.options.values())):
        return False
    result = case.claims[-1].value
    offered = [value for text in case.options.values() for value in quantities(text)]
    return not any(
        abs(result * factor - value) <= NEAR * max(abs(value), 1e-6) for value in offered for factor in _FACTORS
    )


def _before_answer(text: str) -> str:
    """What stands before the last announcement of an answer."""
    last = text.rfind("answer")
    return text[: max(0, last - _ARTICLE)] if last >= 0 else text


def _is_number(option: str) -> bool:
    return len(option) < _SHORT and _DIGIT.search(option) is not None


def _named(option: str, text: str) -> bool:
    said = set(quantities(text))
    return not said.isdisjoint(quantities(option))
