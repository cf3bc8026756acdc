"""What the answer says about itself."""

import math

from ....signals.wording import admits, refuses, self_corrections
from ..case import Case


def check(case: Case) -> dict[str, float]:
    """Refusing is often right where tools are offered, so it is measured where none are."""
    return {
        "self_correction": math.log1p(self_corrections(case.working)),
        "admission": float(not case.context.tools and admits(case.text)),
        "refusal": float(not case.context.tools and refuses(case.text)),
    }
