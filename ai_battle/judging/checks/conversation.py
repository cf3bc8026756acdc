"""Whether an answer is a turn of its own: in the language that is wanted, and neither another's nor more than one."""

from ...signals.agreement import parts
from ...signals.novelty import novelty
from ...signals.relevance import is_in_wrong_language
from ...signals.turns import repeats_turn
from ...signals.turns import runs_on as writes_others
from ..case import Case

EARLIER = 6
_LEAST_WORDS = 8


def check(case: Case) -> dict[str, float]:
    earlier = [message.text for message in case.context.history if message.role == "assistant"][-EARLIER:]
    if not earlier:
        return {}
    copied = case.text.strip() in (text.strip() for text in earlier) and len(case.text.split()) >= _LEAST_WORDS
    return {
        "said_before": float(copied),
        "nothing_new": 1 - novelty(case.text, earlier),
        "only_goodbye": float(parts(case.text)),
    }


def runs_on(case: Case) -> float:
    return float(bool(case.answer.next_turn) or writes_others(case.text, case.prompt))


def repeats_other(case: Case) -> float:
    """It is what another has just said."""
    earlier = [message.text for message in case.context.history if message.role == "user"][-EARLIER:]
    return float(repeats_turn(case.text, case.prompt, earlier))


def wrong_language(case: Case) -> float:
    """Not behind results, whose language an answer may follow."""
    return float(case.family == "chat" and not case.context.results and is_in_wrong_language(case.text, case.prompt))
