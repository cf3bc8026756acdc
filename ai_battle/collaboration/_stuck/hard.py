"""The checks that say at once that an answer needs help, whatever its family."""

from ...signals.looping import four_word_repetition, looping_tail
from ...signals.truncation import cut_off
from .assessment import Context

REPETITION = 0.6
WHY = {
    "empty": "there is no answer",
    "truncated": "the answer stops in the middle",
    "loop": "the answer repeats itself at its end",
    "repetition": "most of the answer was said before",
    "filtered": "the provider cut the answer off",
}


def hard_signals(response: str, context: Context) -> dict[str, float]:
    """The hard checks that failed, by name, each with its measure."""
    called = any(step.tool_calls for step in context.steps)
    found = {
        "empty": float(not response.strip() and not called),
        "truncated": float(context.stop == "length" or cut_off(response)),
        "filtered": float(context.stop == "content_filter"),
        "loop": float(looping_tail(response)),
        "repetition": _from(REPETITION, four_word_repetition(response)),
    }
    return {name: value for name, value in found.items() if value}


def _from(least: float, value: float) -> float:
    return value if value >= least else 0.0
