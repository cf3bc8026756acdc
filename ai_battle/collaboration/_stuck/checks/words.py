"""What the answer says about itself."""

import math

from ....signals.requested_form import misses_form
from ....signals.residue import gives_up as only_gives_up
from ....signals.residue import only_announces
from ....signals.residue import only_offers as offers_only
from ....signals.truncation import leads_nowhere
from ....signals.wording import self_corrections
from ..case import Case
from . import results


def self_correction(case: Case) -> float:
    return math.log1p(self_corrections(case.working))


def gives_up(case: Case) -> float:
    """It says that it can't, and nothing else. That nothing was found may be what a tool has returned."""
    if _may_refuse(case) or (case.context.results and not results.say_much(case)):
        return 0.0
    return float(only_gives_up(case.text, case.prompt))


def empty_promise(case: Case) -> float:
    """It announces what does not come; a call is something that comes. A report may end with what is to come."""
    if case.calls:
        return 0.0
    announces = not case.context.results and only_announces(case.text, case.prompt)
    return float(leads_nowhere(case.text) or announces)


def only_offers(case: Case) -> float:
    """It offers help to who has asked for something."""
    return float(not case.context.history and offers_only(case.text, case.prompt))


def wrong_form(case: Case) -> float:
    """It lacks a form that the prompt plainly asks for; of results a tool has given, nobody knows the number."""
    return float(not case.calls and not case.context.results and misses_form(case.text, case.question))


def _may_refuse(case: Case) -> bool:
    """Where tools are offered and none of them fits, refusing is often right, unless the model can reckon by itself.

    Not so in the middle of a talk, nor once a tool has brought something.
    """
    if not case.context.tools or case.context.history or any(step.brought_something for step in case.steps):
        return False
    return case.family in ("tool", "chat")
