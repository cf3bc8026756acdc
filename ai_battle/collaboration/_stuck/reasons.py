"""Why an answer was judged as it was, in a sentence for people."""

from collections.abc import Mapping

from .hard import WHY
from .scoring import Score

SPEAKS: Mapping[str, str] = {
    "wrong_sums": "a sum in it does not hold",
    "no_sums": "it calculates nothing",
    "numbers_from_nowhere": "it calculates with numbers that nobody gave",
    "final_unstated": "it states no final answer",
    "final_unmarked": "its final answer is not marked",
    "final_fractional": "its final answer is a fraction",
    "final_not_in_working": "its final answer does not stand in the working",
    "final_not_last_sum": "its final answer is not what came out last",
    "last_sum_uses_nothing": "its last sum uses no earlier result",
    "facts_unused": "numbers of the question are not used",
    "self_correction": "it takes back what it said",
    "repeated_words": "it says the same again and again",
    "stops_short": "it stops in the middle",
    "no_pick": "it picks no option",
    "not_listed": "it says that no option fits",
    "result_no_option": "what it calculates is no option",
    "pick_number_absent": "the number that it picks does not stand in the working",
    "unknown_parameter": "a call has a tool or parameter that does not exist",
    "missing_required": "a call lacks a required parameter",
    "wrong_type": "a call has a value of the wrong type",
    "value_from_nowhere": "a call has a value that nothing in the prompt supports",
    "named_but_left_out": "a parameter that the prompt names is left out",
    "no_call_among_many": "no tool is called though several are offered",
    "no_call_though_named": "no tool is called though the prompt speaks of one",
    "odd_spelling": "a call is written in an odd way",
    "placeholder": "a call has a placeholder for a value",
    "prompt_not_served": "the calls leave much of the prompt aside",
    "code_does_not_parse": "its code does not parse",
    "no_code": "there is no code",
    "output_from_nowhere": "the output has values that neither program nor input have",
    "json_unreadable": "it is no JSON",
    "json_unfit": "its JSON does not fit the schema",
    "contradiction": "it contradicts itself",
    "admission": "the model says that it does not know",
    "refusal": "the model refuses",
    "said_before": "it was said before, word for word",
    "nothing_new": "it adds little to what was said before",
    "token_doubt": "the model was unsure of its words",
    "call_repeated": "the same call was made again",
    "errors_in_a_row": "two calls in a row failed",
    "same_error_twice": "the same error came twice",
    "guard_tripped": "its calls of tools got nowhere and had to be ended",
    "nothing_found": "no call has found anything yet",
    "opinion_differs": "another answer says something else",
    "judged_wrong": "the judge finds it wrong",
    "check_fails": "it fails the check",
    "program_fails": "its program fails when it is run",
}
MATTERS_OF_FORM = frozenset(("final_unmarked", "odd_spelling", "no_sums"))
"""Told behind what is wrong with the answer itself."""
MOST = 3
_AT_LEAST = 0.1


def reason(score: Score, weights: Mapping[str, float]) -> str:
    """The hard checks that failed; else the signals that weigh most, at most three."""
    if score.failed:
        return _sentence([WHY[name] for name in score.failed][:MOST])
    weighed = {name: weights.get(name, 0.0) * value for name, value in score.standard.items() if name in SPEAKS}
    most = sorted(weighed, key=lambda name: -weighed[name])[:MOST]
    gravest_first = sorted(most, key=lambda name: name in MATTERS_OF_FORM)
    return _sentence([SPEAKS[name] for name in gravest_first if weighed[name] >= _AT_LEAST])


def _sentence(parts: list[str]) -> str:
    return f"{'; '.join(parts)}." if parts else ""
