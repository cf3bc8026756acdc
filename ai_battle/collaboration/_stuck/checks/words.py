"""What the answer says about itself."""

import math

from ....signals.wording import admits, refuses, self_corrections
from ..case import Case


def check(case: Case) -> dict[str, float]:
    """Refusing is often right where tools are offered and none of them fits; not so in the middle of a talk.

    Nor is it once a tool has brought something.
    """
    may_refuse = case.family == "tool" or bool(case.context.tools and not case.context.history)
    may_refuse = may_refuse and not any(step.brought_something for step in case.steps)
    return {
        "self_correction": math.log1p(self_corrections(case.working)),
        "admission": float(not may_refuse and admits(case.text)),
        "refusal": float(not may_refuse and refuses(case.text)),
    }
