"""How sure the model was of its tokens, where the provider tells."""

import math

from ..case import Case

LEAST_TOKENS = 5


def check(case: Case) -> dict[str, float]:
    known = [value for value in case.context.logprobs if math.isfinite(value) and value <= 0]
    if len(known) < LEAST_TOKENS:
        return {}
    lowest = sorted(known)[: max(1, len(known) // 10)]
    return {"token_doubt": -sum(known) / len(known), "token_doubt_worst": min(10.0, -sum(lowest) / len(lowest)) / 10}
