"""What an answer says, what it says about itself, how sure of it the model was, and whether it comes to an end."""

import math
import re

from ...signals.denial import denies_itself
from ...signals.numbers import numbers
from ...signals.requested_form import misses_form
from ...signals.residue import gives_up as only_gives_up
from ...signals.residue import only_announces
from ...signals.residue import only_offers as offers_only
from ...signals.truncation import breaks_off, leads_nowhere
from ...signals.truncation import stops_short as lacks_last_stop
from ..case import Case
from . import results

LEAST_TOKENS = 5
NO_STOP = 0.25
"""What a missing stop is worth where nothing else shows that more was to come: many right answers lack it."""
_FINAL = re.compile(
    r"\b(?:final|correct) answer (?:is|=|:)[ *$\"(]{0,6}([^\s.,;)*$\"]{1,40})|\bthe answer is["
    r" *$\"(]{0,6}([^\s.,;)*$\"]{1,40})",
)


def length(case: Case) -> float:
    """In logarithms: a second page says less than a second line."""
    return math.log1p(len(case.working.split())) / 5


def repeated_words(case: Case) -> float:
    return case.repeated_words


def stops_short(case: Case) -> float:
    if not lacks_last_stop(case.text):
        return 0.0
    return 1.0 if breaks_off(case.text, case.prompt) else NO_STOP


def token_doubt(case: Case) -> dict[str, float]:
    """How unsure the model was of its tokens, where the provider tells."""
    known = [value for value in case.context.logprobs if math.isfinite(value) and value <= 0]
    if len(known) < LEAST_TOKENS:
        return {}
    lowest = sorted(known)[: max(1, len(known) // 10)]
    return {"token_doubt": -sum(known) / len(known), "token_doubt_worst": min(10.0, -sum(lowest) / len(lowest)) / 10}


def two_finals(case: Case) -> float:
    """Different values are called the answer."""
    if case.lowered.count("answer") < 2:
        return 0.0
    said = [a or b for a, b in _FINAL.findall(case.lowered)]
    values = [next(iter(map(str, numbers(word))), word) for word in said]
    return float(len(set(values)) > 1 and all(len(value) <= 2 or value[:1].isdigit() for value in values))


def denial(case: Case) -> float:
    return float(denies_itself(case.text, case.question))


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
