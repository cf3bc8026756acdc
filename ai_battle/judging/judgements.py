"""The judgements on an answer, one row each: what is measured, of which families, what it weighs, and how it is told.

To add one, write a function `Case -> float | None` and its row here. None says that nothing can be said: an answer
without a sum has none that is wrong. Weights are of the logit of failure. Those by hand: a judgement that fires with
precision p gets about logit(p) - logit(share of wrong answers), not above 3. Those that are `learned` in a family stand
in weights.json; there they take the place of what was set by hand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .case import Case
from .checks import calls, choice, conversation, hard, json_form, output, program, results, words, working
from .family import FAMILIES, Family

Measure = Callable[[Case], float | None]
DOUBT = 4.5
"""What a failed hard check adds to the logit of failure: whatever else speaks for such an answer, most are wrong."""
Families = tuple[Family, ...]
MATH: Families = ("math",)
MCQ: Families = ("mcq",)
TOOL: Families = ("tool",)
CODE: Families = ("code",)
CHAT: Families = ("chat",)
BUT_MCQ: Families = ("math", "tool", "code", "chat")
"""Of answers to choices, benchmarks count some as right in which they could read none; there it is a signal."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`sentence` is told to people where the judgement weighs; those without one are told by their name alone.

    One that is `at_once` decides alone: it leaves at least 99 of 100 right answers alone, whoever gives them.
    """

    name: str
    measure: Measure
    sentence: str = ""
    families: Families = FAMILIES
    weight: float = 0.0
    learned: Families = ()
    at_once: bool = False
    is_habit: bool = False


class Measured(NamedTuple):
    """What was measured of an answer, by name; `failed` are the judgements at once that fell."""

    signals: Mapping[str, float]
    failed: Mapping[str, float]


def part(check: Callable[[Case], Mapping[str, float]], name: str) -> Measure:
    """One of the measures that a check takes together."""
    return lambda case: case.once(check).get(name)


def evidence(name: str) -> Measure:
    """What others say of an answer: a judge, a program that was run. Asking costs, so it is there on request."""
    return lambda case: case.context.evidence.get(name)


def at_once(name: str, measure: Measure, sentence: str, families: Families = FAMILIES) -> Judgement:
    return Judgement(name, measure, sentence, families, at_once=True)


def habit(name: str, measure: Measure, families: Families) -> Judgement:
    """Looks of an answer and kinds of questions weigh nothing; but of one model they may, as its own labels show."""
    return Judgement(name, measure, families=families, is_habit=True)


JUDGEMENTS: tuple[Judgement, ...] = (
    # What decides alone.
    at_once("empty", hard.empty, "there is no answer"),
    at_once("filtered", hard.filtered, "the provider cut the answer off"),
    at_once("loop", hard.loop, "the answer goes round in circles at its end", BUT_MCQ),
    at_once("repetition", hard.repetition, "most of the answer was said before", BUT_MCQ),
    at_once("truncated", hard.truncated, "the answer stops in the middle"),
    at_once("gives_up", hard.gives_up, "the model says that it can't"),
    at_once("empty_promise", words.empty_promise, "it announces something and ends"),
    at_once("no_answer", hard.no_answer, "no final answer is given", MATH),
    at_once("unfit_again", hard.unfit_again, "a tool call does not fit its schema, after one such call had failed"),
    # Form: how long, how often the same.
    Judgement("length", words.length, weight=-0.5, families=(*MATH, *MCQ, *CODE, *CHAT), learned=(*MATH, *MCQ, *CODE)),
    Judgement("repeated_words", words.repeated_words, "it says the same again and again",
              (*MATH, *MCQ, *CODE, *CHAT), 4.0, (*MATH, *MCQ, *CODE)),
    Judgement("stops_short", words.stops_short, "its last sentence does not end", weight=2.7),
    # What it says of itself, and to whom.
    Judgement("only_offers", words.only_offers, "it offers help where something was asked", weight=3.0),
    Judgement("wrong_form", words.wrong_form, "it has not the form that was asked for", (*MATH, *CHAT), 2.5),
    Judgement("wrong_language", conversation.wrong_language, "it is in another language than what it answers",
              CHAT, 3.0),
    Judgement("runs_on", conversation.runs_on, "it goes on with turns of others", weight=3.0),
    Judgement("repeats_other", conversation.repeats_other, "it repeats what another has just said", weight=3.0),
    Judgement("two_finals", words.two_finals, "it names two different answers", weight=1.0),
    Judgement("denial", words.denial, "it denies what it says", weight=3.0),
    Judgement("said_before", part(conversation.check, "said_before"), "it was said before, word for word", weight=3.0),
    Judgement("nothing_new", part(conversation.check, "nothing_new"), "it adds little to what was said before",
              CHAT, 1.0),
    Judgement("only_goodbye", part(conversation.check, "only_goodbye"), weight=0.5),
    Judgement("token_doubt", part(words.token_doubt, "token_doubt"), "the model was unsure of its words", weight=1.0),
    Judgement("token_doubt_worst", part(words.token_doubt, "token_doubt_worst"), weight=1.0),
    # Sums and what they lead to.
    Judgement("wrong_sums", working.wrong_sums, "a sum in it does not hold", (*MATH, *MCQ, *CHAT, *TOOL), 5.5, MCQ),
    Judgement("asked_sum_missed", working.asked_sum_missed, "what the prompt asks for comes out otherwise",
              (*MATH, *CHAT), 6.0),
    Judgement("number_misread", working.number_misread, "it calculates with a number that nobody gave",
              (*MATH, *CHAT), 4.5),
    Judgement("final_off_sums", working.final_off_sums, "its final answer is not what came out", (*MATH, *CHAT), 4.5),
    Judgement("no_sums", working.no_sums, "it calculates nothing", (*MATH, *MCQ), learned=(*MATH, *MCQ)),
    Judgement("equations", working.equations, families=MATH, learned=MATH),
    Judgement("arguments", working.arguments, "it argues where it could calculate",
              (*MATH, *MCQ), learned=(*MATH, *MCQ)),
    Judgement("numbers_from_nowhere", working.numbers_from_nowhere, "it calculates with numbers that nobody gave",
              MATH, learned=MATH),
    Judgement("no_final", working.final_missing, families=(*MATH, *MCQ), weight=1.0),
    Judgement("final_unstated", working.final_unstated, "it states no final answer", MATH, learned=MATH),
    Judgement("results_unused", working.results_unused, "results are calculated and not used", MATH, learned=MATH),
    Judgement("final_not_in_working", working.final_not_in_working, "its final answer does not stand in the working",
              MATH, learned=MATH),
    Judgement("facts_unused", working.facts_unused, "numbers of the question are not used",
              (*MATH, *MCQ), learned=(*MATH, *MCQ)),
    Judgement("facts_not_reached", working.facts_not_reached, "its result does not rest on all numbers of the question",
              MATH, learned=MATH),
    Judgement("question_length", working.question_length, families=MATH, learned=MATH),
    habit("question_compares", working.question_compares, MATH),
    habit("question_percent", working.question_percent, MATH),
    habit("final_unmarked", working.final_unmarked, MATH),
    habit("final_fractional", working.final_fractional, MATH),
    # Choices.
    Judgement("no_pick", part(choice.check, "no_pick"), "it picks no option", MCQ, learned=MCQ),
    Judgement("not_listed", part(choice.check, "not_listed"), "it says that no option fits", MCQ, learned=MCQ),
    Judgement("result_no_option", part(choice.check, "result_no_option"), "what it calculates is no option",
              MCQ, learned=MCQ),
    Judgement("pick_number_absent", part(choice.check, "pick_number_absent"),
              "the number that it picks does not stand in the working", MCQ, learned=MCQ),
    Judgement("pick_not_last_number", part(choice.check, "pick_not_last_number"),
              "the number that it picks is not what came out last", MCQ, learned=MCQ),
    Judgement("pick_is_extreme", part(choice.check, "pick_is_extreme"), families=MCQ, learned=MCQ),
    Judgement("pick_is_longest", part(choice.check, "pick_is_longest"), families=MCQ, learned=MCQ),
    Judgement("stem_length", part(choice.check, "stem_length"), families=MCQ, learned=MCQ),
    Judgement("question_formulas", part(choice.check, "question_formulas"), families=MCQ, learned=MCQ),
    # Tool calls of the answer.
    Judgement("unknown_parameter", part(calls.check, "unknown_parameter"),
              "a call has a tool or parameter that does not exist", TOOL, 3.0),
    Judgement("call_of_no_tool", calls.of_no_tool, "it is a call of a tool that does not exist", weight=3.0),
    Judgement("missing_required", part(calls.check, "missing_required"), "a call lacks a required parameter",
              TOOL, 3.0),
    Judgement("wrong_type", part(calls.check, "wrong_type"), "a call has a value of the wrong type", TOOL, 1.0),
    Judgement("no_call", part(calls.check, "no_call"), "no tool is called though the prompt asks for one", TOOL, 3.0),
    Judgement("value_from_nowhere", part(calls.check, "value_from_nowhere"),
              "a call has a value that nothing in the prompt supports", TOOL, 0.8),
    Judgement("named_but_left_out", part(calls.check, "named_but_left_out"),
              "a parameter that the prompt names is left out", TOOL, 0.6),
    Judgement("number_not_passed_on", part(calls.check, "number_not_passed_on"), families=TOOL, weight=0.8),
    Judgement("call_repeated_in_answer", part(calls.check, "call_repeated_in_answer"), families=TOOL, weight=2.0),
    Judgement("placeholder", part(calls.check, "placeholder"), "a call has a placeholder for a value", TOOL, 1.5),
    Judgement("prompt_not_served", part(calls.check, "prompt_not_served"),
              "the calls leave much of the prompt aside", TOOL, 0.5),
    Judgement("name_not_asked_for", part(calls.check, "name_not_asked_for"), families=TOOL, weight=0.7),
    # Tool calls on the way to it.
    Judgement("call_repeated", part(calls.on_the_way, "call_repeated"), "the same call was made again", weight=2.0),
    Judgement("errors_in_a_row", part(calls.on_the_way, "errors_in_a_row"), "two calls in a row failed", weight=2.0),
    Judgement("same_error_twice", part(calls.on_the_way, "same_error_twice"), "the same error came twice", weight=2.0),
    Judgement("nothing_found", part(calls.on_the_way, "nothing_found"), "no call has found anything yet", weight=0.5),
    # What the tools have returned, and what the answer makes of it.
    Judgement("result_contradicted", part(results.check, "contradicted"),
              "it tells otherwise than the tools have returned", weight=6.0),
    Judgement("state_contradicted", part(results.check, "opposed"),
              "it tells the opposite of what a tool has returned", weight=6.0),
    Judgement("result_invented", part(results.check, "invented"),
              "it tells what only a tool could, and no call did", weight=3.0),
    Judgement("deed_without_call", part(results.check, "deed_without_call"),
              "it tells as done what no call has done", weight=6.0),
    Judgement("result_denied", part(results.check, "denied"),
              "it says that it can't tell what a tool has returned", TOOL, 3.0),
    Judgement("failure_hidden", part(results.check, "failure_hidden"),
              "it tells of no failure though every call has failed", weight=6.0),
    Judgement("guard_tripped", evidence("guard_tripped"), "its calls of tools got nowhere and had to be ended",
              weight=2.0),
    # Code, JSON, and the output of a program.
    Judgement("code_does_not_parse", part(program.check, "code_does_not_parse"), "its code does not parse", weight=6.0),
    Judgement("no_code", part(program.check, "no_code"), "there is no code", (*CODE, *CHAT), 6.0),
    Judgement("code_misnamed", part(program.check, "code_misnamed"), "its code lacks the name that was asked for",
              (*CODE, *CHAT), 2.0),
    Judgement("json_unreadable", part(json_form.check, "json_unreadable"), "it is no JSON", weight=4.0),
    Judgement("json_unfit", part(json_form.check, "json_unfit"), "its JSON is not what was asked for", weight=4.0),
    Judgement("output_from_nowhere", part(output.check, "output_from_nowhere"),
              "the output has values that neither program nor input have", CODE, learned=CODE),
    Judgement("output_is_input", part(output.check, "output_is_input"), families=CODE, learned=CODE),
    Judgement("output_is_bool", part(output.check, "output_is_bool"), families=CODE, learned=CODE),
    Judgement("output_is_text", part(output.check, "output_is_text"), families=CODE, learned=CODE),
    Judgement("output_reorders", part(output.check, "output_reorders"), families=CODE, learned=CODE),
    Judgement("output_empty", part(output.check, "output_empty"), families=CODE, learned=CODE),
    Judgement("output_length", part(output.check, "output_length"), families=CODE, learned=CODE),
    Judgement("input_length", part(output.check, "input_length"), families=CODE, learned=CODE),
    Judgement("program_length", part(output.check, "program_length"), families=CODE, learned=CODE),
    Judgement("program_branches", part(output.check, "program_branches"), families=CODE, learned=CODE),
    Judgement("varied_words", part(output.check, "varied_words"), families=CODE, learned=CODE),
    # What others say.
    Judgement("judged_wrong", evidence("judged_wrong"), "the judge finds it wrong", weight=1.2),
    Judgement("judged_right", evidence("judged_right"), weight=-0.7),
    Judgement("check_fails", evidence("check_fails"), "it fails the check", weight=3.0),
    Judgement("check_passes", evidence("check_passes"), weight=-3.0),
    Judgement("program_fails", evidence("program_fails"), "its program fails when it is run", weight=1.5),
    Judgement("program_runs", evidence("program_runs"), weight=-0.2),
    Judgement("refuted", evidence("refuted"), "running it shows something else", weight=6.0),
    Judgement("verified", evidence("verified"), weight=-6.0),
    Judgement("opinion_agrees", evidence("opinion_agrees"), weight=-1.0),
    Judgement("opinion_differs", evidence("opinion_differs"), "another answer says something else", weight=1.0),
)  # fmt: skip
_OF_FAMILY = {family: tuple(row for row in JUDGEMENTS if family in row.families) for family in FAMILIES}
SENTENCES = {row.name: row.sentence for row in JUDGEMENTS if row.sentence}


def measured(case: Case) -> Measured:
    """All that the judgements of the answer's family say."""
    signals, failed = {}, {}
    for row in _OF_FAMILY[case.family]:
        value = row.measure(case)
        if value is None:
            continue
        if not row.at_once:
            signals[row.name] = value
        elif value:
            failed[row.name] = value
    return Measured(signals, failed)


def by_hand(family: Family) -> dict[str, float]:
    """The weights of a family that no data of ours could tell; those of habits are 0 until a calibration moves them."""
    rows = (row for row in _OF_FAMILY[family] if row.weight or row.is_habit)
    return {row.name: row.weight for row in rows if family not in row.learned}


def to_learn(family: Family) -> tuple[str, ...]:
    """The judgements of a family whose weights are learned."""
    return tuple(row.name for row in _OF_FAMILY[family] if family in row.learned)
