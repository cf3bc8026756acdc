"""The checks, one file each: what they measure of an answer, by name."""

from collections.abc import Callable, Mapping

from ..case import Case
from ..family import Family
from . import (
    calls,
    choice,
    confidence,
    contradiction,
    conversation,
    evidence,
    facts,
    final,
    json_form,
    output,
    program,
    question,
    shape,
    sums,
    trouble,
    words,
    working,
)

Check = Callable[[Case], dict[str, float]]

EVERYWHERE: tuple[Check, ...] = (
    shape.check,
    words.check,
    json_form.check,
    contradiction.check,
    conversation.check,
    confidence.check,
    trouble.check,
    evidence.check,
)
OF_FAMILY: Mapping[Family, tuple[Check, ...]] = {
    "math": (sums.check, final.check, working.check, facts.check, question.check),
    "mcq": (sums.check, final.check, facts.check, choice.check),
    "tool": (calls.check,),
    "code": (output.check, program.check),
    "chat": (program.check, sums.wrong),
}


def measured(case: Case) -> dict[str, float]:
    """All that the checks of the answer's family say."""
    found: dict[str, float] = {}
    for check in (*EVERYWHERE, *OF_FAMILY[case.family]):
        found.update(check(case))
    return found
