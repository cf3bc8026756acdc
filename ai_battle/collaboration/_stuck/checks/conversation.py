"""Whether an answer in a conversation only says again what was said."""

from ....signals.agreement import parts
from ....signals.novelty import novelty
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
