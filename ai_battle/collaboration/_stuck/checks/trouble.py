"""Whether the tool calls on the way to an answer got anywhere."""

from ....signals.trouble import troubles
from ..case import Case

_NAMES = {"repeated": "call_repeated", "two_errors": "errors_in_a_row", "same_error": "same_error_twice"}


def check(case: Case) -> dict[str, float]:
    if not case.steps:
        return {}
    measured = troubles(case.steps)
    found = {name: float(measured[key] > 0) for key, name in _NAMES.items()}
    return {**found, "nothing_found": measured["nothing_yet"]}
