"""The table of judgements on an answer: what is measured, for which families, with which weight and sentence.

To add one, write a function `Case -> float | None` and its row here. A function that returns several measures by name
has several rows. None means that nothing can be said: an answer without sums has no wrong one. Weights add to the logit
of failure. A hand-set weight for a judgement with precision p is about logit(p) - logit(share of wrong answers), and at
most 3 unless the error is visible in the answer itself: those get 4 to 6, which no other signals outweigh. Weights
`learned` for a family are in weights.json and replace the hand-set ones there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from . import code_and_json, tool_use, wording, working
from .case import Case
from .family import FAMILIES, Family

Measure = Callable[[Case], Mapping[str, float] | float | None]
HARD_CHECK_LOGIT = 4.5
"""What a failed hard check adds to the logit of failure. Most such answers are wrong, whatever else speaks for them."""
Families = tuple[Family, ...]
MATH: Families = ("math",)
MCQ: Families = ("mcq",)
TOOL: Families = ("tool",)
CODE: Families = ("code",)
CHAT: Families = ("chat",)
ALL_BUT_MCQ: Families = ("math", "tool", "code", "chat")
"""Without multiple choice, where benchmarks count some unreadable answers as right. There it is only a signal."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judgement. `sentence` is shown to people; without one, the judgement is left out of reasons.

    One that is `at_once` decides alone: at most 1 in 100 right answers of any recorded model fails it.
    """

    name: str
    measure: Measure
    sentence: str = ""
    families: Families = FAMILIES
    weight: float = 0.0
    learned: Families = ()
    at_once: bool = False
    is_habit: bool = False


class Measurements(NamedTuple):
    """The measures of an answer by name; `failed` are the failed hard checks."""

    signals: Mapping[str, float]
    failed: Mapping[str, float]


def evidence(case: Case) -> Mapping[str, float]:
    """Returns what others say about an answer, such as a judge or a run of its program.

    They cost more than time, so they are asked on request only.
    """
    return case.context.evidence


def at_once(name: str, measure: Measure, sentence: str, families: Families = FAMILIES) -> Judgement:
    return Judgement(name, measure, sentence, families, at_once=True)


def habit(name: str, measure: Measure, families: Families) -> Judgement:
    """Returns a row for a trait of style or question, which weighs nothing until a model's own labels say so."""
    return Judgement(name, measure, families=families, is_habit=True)


JUDGEMENTS: tuple[Judgement, ...] = (
    # Hard checks, which decide alone.
    at_once("empty", wording.empty, "there is no answer"),
    at_once("filtered", wording.is_filtered, "the provider cut the answer off"),
    at_once("loop", wording.loop, "the answer goes round in circles at its end", ALL_BUT_MCQ),
    at_once("repetition", wording.repetition, "most of the answer was said before", ALL_BUT_MCQ),
    at_once("truncated", wording.is_truncated, "the answer is cut off in the middle"),
    at_once("gives_up", wording.gives_up, "the model says that it can't"),
    at_once("empty_promise", wording.empty_promise, "it announces something and ends"),
    at_once("no_answer", wording.no_answer, "no final answer is given", MATH),
    at_once("unfit_again", wording.unfit_again, "a call does not fit its schema, and an earlier one had failed"),
    # Form: length and repetition. A missing stop is weak evidence, so its measure is 0.25 unless more shows a cut.
    Judgement("length", wording.length, weight=-0.5,
              families=(*MATH, *CODE, *CHAT), learned=(*MATH, *CODE)),
    Judgement("repeated_words", wording.repeated_words, "it repeats itself", (*MATH, *MCQ, *CODE,
              *CHAT), 4.0, (*MATH, *MCQ, *CODE)),
    Judgement("stops_short", wording.stops_short, "its last sentence is incomplete", weight=2.7),
    # What the answer says about itself, and to whom. Set by hand, by the precision that such checks are known to have.
    Judgement("only_offers", wording.only_offers, "it offers help instead of answering", weight=3.0),
    Judgement("wrong_form", wording.wrong_form, "it does not have the requested form", (*MATH, *CHAT), 2.5),
    Judgement("wrong_language", wording.wrong_language, "it is in another language than the prompt", CHAT, 3.0),
    Judgement("runs_on", wording.runs_on, "it continues with turns of other speakers", weight=3.0),
    Judgement("repeats_other", wording.repeats_other, "it repeats what another has just said", weight=3.0),
    Judgement("denial", wording.denial, "it contradicts itself", weight=3.0),
    Judgement("said_before", wording.is_said_before, "it was said before, word for word", weight=3.0),
    Judgement("token_doubt", wording.token_doubt, "the model was unsure of its words", weight=1.0),
    # Sums and their results. Answers with a sum that does not hold were wrong in 77 to 95 % of the cases on four GSM8K
    # pairs and in 76 to 91 % on MATH and MMLU-Pro (docs/explanation/stuck.md).
    Judgement("wrong_sums", working.wrong_sums, "a sum in it does not hold", (*MATH, *MCQ, *CHAT, *TOOL), 5.5, MCQ),
    Judgement("asked_sum_missed", working.asked_sum_missed, "the sum in the prompt has another result", (*MATH,
              *CHAT), 6.0),
    Judgement("miscompared", working.orders_numbers_wrongly, "it puts two numbers in the wrong order",
              (*MATH, *MCQ, *CHAT), 6.0),
    Judgement("number_misread", working.number_misread, "it calculates with a number that is not given", (*MATH,
              *CHAT), 4.5),
    Judgement("final_off_sums", working.final_off_sums,
              "its final answer is not the result of its working", (*MATH, *CHAT), 4.5),
    Judgement("no_sums", working.no_sums, "it calculates nothing", (*MATH, *MCQ), learned=(*MATH, *MCQ)),
    Judgement("equations", working.equations, families=MATH, learned=MATH),
    Judgement("arguments", working.arguments, "it argues instead of calculating", (*MATH, *MCQ), learned=(*MATH,
              *MCQ)),
    Judgement("no_final", working.final_missing, families=(*MATH, *MCQ), weight=1.0),
    Judgement("results_unused", working.results_unused,
              "it calculates results and does not use them", MATH, learned=MATH),
    Judgement("final_not_in_working", working.final_not_in_working, "its final answer is not in its working",
              MATH, learned=MATH),
    Judgement("facts_unused", working.facts_unused, "numbers of the question are not used", (*MATH, *MCQ),
              learned=(*MATH, *MCQ)),
    Judgement("facts_not_reached", working.facts_not_reached,
              "its result does not use all numbers of the question", MATH, learned=MATH),
    Judgement("question_length", working.question_length, families=MATH, learned=MATH),
    habit("question_compares", working.question_compares, MATH),
    habit("question_percent", working.question_percent, MATH),
    habit("final_unmarked", working.final_unmarked, MATH),
    habit("final_fractional", working.final_fractional, MATH),
    # Choices. All of these are learned, from MMLU-Pro.
    Judgement("no_pick", working.choice_measures, "it picks no option", MCQ, learned=MCQ),
    Judgement("not_listed", working.choice_measures, "it says that no option fits", MCQ, learned=MCQ),
    Judgement("result_no_option", working.choice_measures, "its result is none of the options", MCQ, learned=MCQ),
    Judgement("pick_number_absent", working.choice_measures, "the number that it picks is not in its working",
              MCQ, learned=MCQ),
    Judgement("pick_not_last_number", working.choice_measures, "the number that it picks is not its last result",
              MCQ, learned=MCQ),
    Judgement("pick_is_extreme", working.choice_measures, families=MCQ, learned=MCQ),
    Judgement("pick_is_longest", working.choice_measures, families=MCQ, learned=MCQ),
    Judgement("stem_length", working.choice_measures, families=MCQ, learned=MCQ),
    Judgement("question_formulas", working.choice_measures, families=MCQ, learned=MCQ),
    # Tool calls of the answer. A call that can't run as written weighs 3. A value that the prompt does not support may
    # be inferred, and one of the wrong type may be repaired, so these weigh less.
    Judgement("unknown_parameter", tool_use.call_measures, "a call names a tool or parameter that does not exist", TOOL,
              3.0),
    Judgement("call_of_no_tool", tool_use.of_no_tool, "it calls a tool that does not exist", weight=3.0),
    Judgement("missing_required", tool_use.call_measures, "a call lacks a required parameter", TOOL, 3.0),
    Judgement("wrong_type", tool_use.call_measures, "a call has a value of the wrong type", TOOL, 1.0),
    Judgement("no_call", tool_use.call_measures, "it calls no tool although the prompt asks for one", TOOL, 3.0),
    Judgement("value_from_nowhere", tool_use.call_measures, "a call has a value that nothing in the prompt supports",
              TOOL, 0.8),
    Judgement("named_but_left_out", tool_use.call_measures, "a parameter that the prompt names is left out", TOOL, 0.6),
    Judgement("number_not_passed_on", tool_use.call_measures, families=TOOL, weight=0.8),
    Judgement("call_repeated_in_answer", tool_use.call_measures, families=TOOL, weight=2.0),
    Judgement("prompt_not_served", tool_use.call_measures, "the calls ignore much of the prompt", TOOL, 0.5),
    Judgement("name_not_asked_for", tool_use.call_measures, families=TOOL, weight=0.7),
    # Tool calls before the answer. The model may still get over a failure, so these weigh less than a contradiction.
    Judgement("call_repeated", tool_use.on_the_way, "the same call was made again", weight=2.0),
    Judgement("errors_in_a_row", tool_use.on_the_way, "two calls in a row failed", weight=2.0),
    Judgement("same_error_twice", tool_use.on_the_way, "the same error came twice", weight=2.0),
    # What the answer makes of the tools' results. A contradiction shows in the texts themselves and weighs 6. An
    # invented result is the outcome of weights of its own (signals/invention.py), and only likely.
    Judgement("result_contradicted", tool_use.result_measures, "it tells otherwise than the tools have returned",
              weight=6.0),
    Judgement("state_contradicted", tool_use.result_measures, "it says the opposite of what a tool returned",
              weight=6.0),
    Judgement("result_invented", tool_use.result_measures, "it states what only a tool could know, without a call",
              weight=3.0),
    Judgement("result_denied", tool_use.result_measures, "it says that it does not know what a tool returned", TOOL,
              3.0),
    Judgement("failure_hidden", tool_use.result_measures, "it does not mention that every call failed",
              weight=6.0),
    Judgement("guard_tripped", evidence, "its tool calls went round in circles and were stopped", weight=2.0),
    # Code, JSON, and the output of a program. Code that does not parse is wrong whoever wrote it.
    Judgement("code_does_not_parse", code_and_json.program_measures, "its code does not parse", weight=6.0),
    Judgement("no_code", code_and_json.program_measures, "it has no code", (*CODE, *CHAT), 6.0),
    Judgement("code_misnamed", code_and_json.program_measures, "its code lacks the requested name", (*CODE,
              *CHAT), 2.0),
    Judgement("json_unreadable", code_and_json.json_measures, "it is not JSON", weight=4.0),
    Judgement("json_unfit", code_and_json.json_measures, "its JSON does not have the requested form", weight=4.0),
    Judgement("output_from_nowhere", code_and_json.output_measures,
              "the output has values that are neither in the program nor in its input", CODE, learned=CODE),
    Judgement("output_is_input", code_and_json.output_measures, families=CODE, learned=CODE),
    Judgement("output_is_bool", code_and_json.output_measures, families=CODE, learned=CODE),
    Judgement("output_length", code_and_json.output_measures, families=CODE, learned=CODE),
    Judgement("input_length", code_and_json.output_measures, families=CODE, learned=CODE),
    Judgement("program_length", code_and_json.output_measures, families=CODE, learned=CODE),
    Judgement("program_branches", code_and_json.output_measures, families=CODE, learned=CODE),
    Judgement("varied_words", code_and_json.output_measures, families=CODE, learned=CODE),
    # Evidence of others, set by hand, as no recording has it (docs/explanation/stuck.md). Judges are lenient, so their
    # doubt weighs more than their praise. A program may also fail for want of input or of a package, so that weighs
    # less than a failed check. `refuted` and `verified` follow from 8,923 recorded answers.
    Judgement("judged_wrong", evidence, "the judge finds it wrong", weight=1.2),
    Judgement("judged_right", evidence, weight=-0.7),
    Judgement("check_fails", evidence, "it fails the check", weight=3.0),
    Judgement("check_passes", evidence, weight=-3.0),
    Judgement("program_fails", evidence, "its program fails when it is run", weight=1.5),
    Judgement("program_runs", evidence, weight=-0.2),
    Judgement("refuted", evidence, "running it shows something else", weight=6.0),
    Judgement("verified", evidence, weight=-6.0),
    Judgement("opinion_agrees", evidence, weight=-1.0),
    Judgement("opinion_differs", evidence, "another answer says something else", weight=1.0),
)  # fmt: skip
_FAMILY_ROWS = {family: tuple(row for row in JUDGEMENTS if family in row.families) for family in FAMILIES}
_MEASURE_ROWS = {
    family: [(measure, tuple(rows)) for measure, rows in groupby(of_family, key=attrgetter("measure"))]
    for family, of_family in _FAMILY_ROWS.items()
}
SENTENCES = {row.name: row.sentence for row in JUDGEMENTS if row.sentence}


def measurements(case: Case, brought: Mapping[str, float] | None = None) -> Measurements:
    """Returns all measures of the answer's family, with `brought` in place of the context's evidence."""
    signals: dict[str, float] = {}
    failed: dict[str, float] = {}
    brought = evidence(case) if brought is None else brought
    for measure, rows in _MEASURE_ROWS[case.family]:
        found = brought if measure is evidence else case.once(measure)
        for row, value in _values(found, rows):
            if value or not row.at_once:
                (failed if row.at_once else signals)[row.name] = value
    return Measurements(signals, failed)


def _values(found: Mapping[str, float] | float | None, rows: Sequence[Judgement]) -> Iterable[tuple[Judgement, float]]:
    """Returns the value of each row of one measure. Most measures return one value, or nothing."""
    if found is None or isinstance(found, float):
        return () if found is None else ((rows[0], found),)
    return [(row, found[row.name]) for row in rows if row.name in found] if found else ()


def by_hand(family: Family) -> dict[str, float]:
    """Returns the hand-set weights of a family. Those of habits are 0 until a calibration moves them."""
    rows = (row for row in _FAMILY_ROWS[family] if row.weight or row.is_habit)
    return {row.name: row.weight for row in rows if family not in row.learned}


def to_learn(family: Family) -> tuple[str, ...]:
    """Returns the names of the judgements of a family whose weights are learned."""
    return tuple(row.name for row in _FAMILY_ROWS[family] if family in row.learned)
