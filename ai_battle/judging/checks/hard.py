"""What says at once that an answer needs help, whatever it would be worth otherwise."""

from ...signals.languages import spoken, words_everywhere
from ...signals.looping import repeats
from ...signals.truncation import cut_off
from ..case import Case
from ..family import wants_number
from . import calls, words, working

REPETITION = 0.6


def empty(case: Case) -> float:
    return float(not case.whole and not case.calls)


def filtered(case: Case) -> float:
    return float(case.context.stop in ("content_filter", "refusal"))


def loop(case: Case) -> float:
    return float(not case.states_answer and repeats(case.whole, case.prompt))


def repetition(case: Case) -> float:
    """Not where an answer is stated: one recorded model goes round in circles behind its right answers."""
    share = case.repeated_words
    return share if share > REPETITION and not case.states_answer else 0.0


def truncated(case: Case) -> float:
    return float(case.context.stop == "length" or cut_off(case.whole))


def gives_up(case: Case) -> float:
    """It says that it can't, and names no answer all the same."""
    return float(not case.states_answer and words.gives_up(case))


def no_answer(case: Case) -> float:
    """No final answer where one is due; in a discussion with numbers in it not every turn owes one.

    A number in words is one as well.
    """
    if not working.final_missing(case) or not wants_number(case.question) or gives_up(case):
        return 0.0
    return float(words_everywhere("numerals").isdisjoint(spoken(case.text)))


def unfit_again(case: Case) -> float:
    """A call does not fit its schema, after one such call had failed."""
    failed = any(result.is_error for result in case.context.results)
    if case.family != "tool" or not failed:
        return 0.0
    said = case.once(calls.check)
    return float(bool(said.get("unknown_parameter") or said.get("missing_required")))
