"""Describes events in sentences, and what a turn contains in words."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..arbiter.verdict import Rating, Verdict
from ..conversation.outcome import JSON, file_name
from ..conversation.participant import WITHOUT_WORDS, reason_without_words
from ..core.events import (
    AttemptFailed,
    BudgetReached,
    Concluded,
    Event,
    PhaseStarted,
    RunFinished,
    RunForked,
    RunResumed,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    Warned,
)
from ..core.exchange import NOTHING_USED, Stop, Usage
from ..core.helping import (
    AnswerChecked,
    AnswersCompared,
    AnswersMerged,
    AnswersRanked,
    BoostStep,
    DraftDropped,
    FileDescribed,
    HelpAsked,
    HelpDeclined,
    HelpFailed,
    HelpSummed,
    HintGiven,
    LessonKept,
    LessonsShown,
    ModelConsulted,
    Role,
    RunJudged,
    StuckFound,
)
from ..core.messages import Document, Image, ToolCall, ToolResult
from ..core.texts import about, both_ends, code_block, limit_amount, one_line
from ..core.tooling import FabricationSuspected, ToolDecided, ToolProposed
from .figures import count, count_of, dollars, duration

TITLE_CHARACTERS = 72
ERROR_CHARACTERS = 160
"""Characters of arguments or a result in the title of a call."""
HELP_HEADS = ("participant", "role", "calls", "time", "tokens in", "tokens out", "cost")
STOPS: Mapping[Stop, str] = {
    "length": "cut off at the length limit",
    "refusal": "refused to answer",
    "content_filter": "stopped by the provider's content filter",
}
ROLES: Mapping[Role, str] = {
    "own": "model",
    "helper": "helper",
    "boost": "boost model",
    "peer": "peer",
    "judge": "judge",
    "chair": "chair",
    "arbiter": "arbiter",
}
_KINDS = {"wrap_up": "wrap-up", "observation": "observation"}
_ACTIONS = {"hint": "a hint", "stronger": "a stronger hint", "template": "another template"}
_ASKED = {
    "peer": "A peer is asked the same",
    "judge": "A member is asked to rank the answers",
    "chair": "The chair is asked to merge the answers",
}
_BOOST_OUTCOMES = {
    "summary": "answers itself",
    "guidance": "gives guidance",
    "other": "says nothing that can be used",
    "fallback": "does not help; the model goes on alone",
}


def sentence(event: Event) -> str:
    """Returns the event's sentence, or nothing for events without one."""
    known = SENTENCES.get(type(event))
    return known(event) if known else ""


def attempt_words(event: AttemptFailed) -> str:
    """Describes a failed attempt: which one, why, and how much of it is discarded."""
    cut = f" after {count_of(len(event.partial), 'character')}, which do not count" if event.partial else ""
    return f"attempt {event.attempt} failed{cut}: {event.reason}"


def _attempt_failed(event: AttemptFailed) -> str:
    """Names the participant, or else the model, once: most reasons begin with it."""
    named = event.speaker or ("" if event.reason.startswith(event.model) else event.model)
    words = attempt_words(event)
    return f"{named}: {words}" if named else words


def _turn_failed(event: TurnFailed) -> str:
    """Describes why there is no answer. A person's reason is a sentence of its own: "You let the turn pass."."""
    if event.error in (reason_without_words(event.speaker, command) for command in WITHOUT_WORDS):
        return f"Turn {event.turn}: {event.error}"
    then = "the turn was skipped" if event.policy == "skip" else "the run stopped"
    return f"Turn {event.turn}: {event.speaker} gave no answer ({then}){f': {event.error}' if event.error else ''}"


def phase_title(event: PhaseStarted) -> str:
    return f"Phase {event.number} of {event.of}: {event.name}"


def phase_words(event: PhaseStarted) -> str:
    """Describes who speaks in a phase, how often, and the instructions."""
    rounds = f", {count_of(event.rounds, 'round')}" if event.rounds > 1 else ""
    return f"{', '.join(event.speakers)}{rounds}{f': {event.instructions}' if event.instructions else ''}"


def _speaker_selected(event: SpeakerSelected) -> str:
    named = f"The selector named nobody who could speak next, so {event.speaker} speaks: {one_line(event.raw, 100)}"
    return named if event.how == "fallback" else ""


def _hint_given(event: HintGiven) -> str:
    measured = f"{event.fault} is {event.measures.get(event.fault, 0.0):.2f}, above {event.threshold:g}"
    return f"{event.speaker} gets {_ACTIONS[event.action]}: {measured}"


def _budget_reached(event: BudgetReached) -> str:
    used, allowed = (limit_amount(event.limit, value) for value in (event.used, event.allowed))
    return f"{event.limit}: {used} of {allowed} used"


def _turns_summarised(event: Summarised) -> str:
    if event.text:
        return f"From here on a summary replaces the turns up to {event.through}: {event.text}"
    return f"From here on the turns up to {event.through} are left out, because they no longer fit."


def _file_described(event: FileDescribed) -> str:
    if event.text:
        return f"{event.file}, for those who can't see it, in the words of {event.model}: {event.text}"
    return f"Nobody could describe {event.file} to those who can't see it."


def _tool_proposed(event: ToolProposed) -> str:
    call = event.call
    return f"{event.speaker} proposes {call.name} {call.arguments_text}; it was not run: {proposal_reason(event)}"


def outcome_markdown(event: Concluded) -> str:
    """Returns the text of an outcome as Markdown: JSON in a code block."""
    return code_block(event.text) if file_name(event.text) == JSON else event.text


def ending_words(status: str, reason: str) -> str:
    """Returns the status with its reason, if that says more."""
    return f"{status} ({reason})" if reason not in ("", status) else status


def _stuck_found(event: StuckFound) -> str:
    judged = f"quality {event.quality:.2f}, gain {event.gain:.2f}"
    return f"{event.speaker} is stuck: {event.reason.rstrip('.')} ({judged})"


def _answer_checked(event: AnswerChecked) -> str:
    measured = ", ".join(f"{name} {value:.2g}" for name, value in event.signals.items())
    return f"The answer of {event.speaker} is checked by {event.by}: {event.reason.rstrip('.') or measured}"


def _help_asked(event: HelpAsked) -> str:
    sees = f", shown the {event.sees}" if event.sees else ""
    if event.role in _ASKED:
        return f"{_ASKED[event.role]} for {event.speaker}{sees}"
    return f"{event.speaker} gets help by {event.strategy}{sees}{f': {event.reason}' if event.reason else ''}"


def _model_consulted(event: ModelConsulted) -> str:
    role = ROLES[event.role]
    if not event.model and event.usage == NOTHING_USED:
        return f"The {role} of {event.speaker} gives no answer ({duration(event.seconds)})"
    took = ", ".join((duration(event.seconds), usage_words(event.usage)))
    return f"{event.model or 'A model'} answers as the {role} of {event.speaker} ({took})"


def usage_words(usage: Usage) -> str:
    """Describes the usage of a call: tokens read and written, and dollars."""
    mark = about(estimated=usage.estimated)
    tokens = f"{mark}{count(usage.input_tokens)} → {mark}{count(usage.output_tokens)} tokens"
    return tokens if usage.cost_usd is None else f"{tokens}, {dollars(usage.cost_usd)}"


def _draft_dropped(event: DraftDropped) -> str:
    """Describes a dropped draft. The reason was given before, with the stuck answer or the help."""
    saved = f"; about {count_of(event.saved_tokens, 'token')} saved" if event.saved_tokens else ""
    what = "A draft of" if event.role == "own" else f"The {ROLES[event.role]}'s answer for"
    return f"{what} {event.speaker} is dropped{saved}"


def _answers_compared(event: AnswersCompared) -> str:
    if event.after is None:
        return f"The helper's answer replaces that of {event.speaker}, of quality {event.before:.2f}"
    if event.is_replaced:
        return f"With help the answer of {event.speaker} went from quality {event.before:.2f} to {event.after:.2f}"
    # An answer that fails a hard check never wins, whatever its quality, so "better" would be wrong here.
    found = "answer that passes every check" if event.after > event.before else "better answer"
    return f"Help brought {event.speaker} no {found}: quality {event.before:.2f} before, {event.after:.2f} after"


def _answers_ranked(event: AnswersRanked) -> str:
    ranks = [row["rank"] for row in event.rows if row["points"] is not None]
    stands = (f"{_standing_words(row)}{' (tied)' if ranks.count(row['rank']) > 1 else ''}" for row in event.rows)
    verdict = "ranked, best first" if ranks else "not ranked"
    by = (f"the member of {each['judge']} ranks {' > '.join(each['ranking'])}" for each in event.rankings)
    return "; ".join((f"The answers for {event.speaker} are {verdict}: {', '.join(stands)}", *by, *event.left_out))


def _standing_words(row: Mapping[str, Any]) -> str:
    """Describes an answer's rank: its letter, its model, and its points if it was ranked."""
    points = "" if row["points"] is None else f" {row['points']:.2f}"
    return f"{row['label']} by {row['model'] or 'a model'}{points}"


def _answers_merged(event: AnswersMerged) -> str:
    used = f"The answer of {event.speaker} is made of {' and '.join(event.used)}"
    left_out = (f"{label} is left out{f': {why}' if why else ''}" for label, why in event.left_out.items())
    silent = (f"{label} is left out without a word, though a member ranked it first" for label in event.unmentioned)
    return "; ".join((used, *left_out, *silent))


def _help_summed(event: HelpSummed) -> str:
    mark = about(estimated=any("estimated" in row for row in event.rows if row["role"] != "own"))
    helped = f"Helped {count(event.helped)} of {count_of(event.turns, 'turn')}, {mark}{dollars(event.cost_usd)}"
    if event.all_large_usd is None:
        return f"{helped}; what the large model alone would have cost is unknown."
    return f"{helped}; all turns on the large model would have cost about {dollars(event.all_large_usd)}."


def verdict_words(verdict: Verdict) -> str:
    """Describes who judged, and each participant's total. Only measured totals have a figure."""
    judges, scale = ", ".join(verdict.judges), verdict.scale_words
    return f"Judged by {judges}: {verdict.totals} ({scale}). {verdict.outcome}".rstrip()


def rating_words(rating: Rating) -> str:
    """Describes a judge's score and its quotation, or why the score does not count."""
    order = ", in the other order" if rating.swapped else ""
    given = "no score" if rating.score is None else f"{rating.score:g}"
    why = rating.fault or f"“{rating.quotation}” (turn {rating.turn})"
    false = "".join(f"; not in the transcript: “{text}”" for text in rating.false_quotations)
    reason = f". {rating.reason}" if rating.reason else ""
    return f"{rating.participant}, {rating.criterion}: {given} by {rating.judge}{order}: {why}{false}{reason}"


def _lessons_shown(event: LessonsShown) -> str:
    which = f"lesson{'s' * (len(event.keys) > 1)} {', '.join(event.keys)}"
    if event.are_left_out:
        return f"{event.speaker} could be shown {which}, and is not this time, to see what that is worth."
    return f"{event.speaker} is shown {which} of earlier help."


HELP_SENTENCES: Mapping[type, Callable[[Any], str]] = {
    StuckFound: _stuck_found,
    AnswerChecked: _answer_checked,
    HelpAsked: _help_asked,
    ModelConsulted: _model_consulted,
    HelpFailed: lambda event: f"A call to help {event.speaker} by {event.strategy} failed: {event.reason}",
    HelpDeclined: lambda event: f"{event.speaker} asks for help by {event.strategy}, and gets none: {event.reason}",
    LessonsShown: _lessons_shown,
    LessonKept: lambda event: f"The answer of {event.speaker} is kept as lesson {event.key}, as help has changed it.",
    DraftDropped: _draft_dropped,
    AnswersCompared: _answers_compared,
    AnswersRanked: _answers_ranked,
    AnswersMerged: _answers_merged,
    BoostStep: lambda event: (
        f"Boost loop {event.loop + 1} for {event.speaker}: the boost model {_BOOST_OUTCOMES[event.outcome]}"
    ),
    FileDescribed: _file_described,
    HelpSummed: _help_summed,
}
SENTENCES: Mapping[type, Callable[[Any], str]] = {
    Warned: lambda event: event.message,
    AttemptFailed: _attempt_failed,
    TurnFailed: _turn_failed,
    PhaseStarted: lambda event: f"{phase_title(event)} ({phase_words(event)})",
    SpeakerSelected: _speaker_selected,
    HintGiven: _hint_given,
    Summarised: _turns_summarised,
    Concluded: lambda event: f"{event.speaker} gave the outcome: {file_name(event.text)}" if event.text else "",
    ToolProposed: _tool_proposed,
    FabricationSuspected: lambda event: f"The answer seems to report a result that no tool returned: {event.claim}",
    BudgetReached: _budget_reached,
    RunForked: lambda event: f"Forked from {event.source} after turn {event.turn}; earlier turns cost nothing.",
    RunResumed: lambda event: f"The run was resumed at turn {event.turn}.",
    RunJudged: lambda event: verdict_words(Verdict.from_json(event.verdict)),
    RunFinished: lambda event: f"The run ended: {ending_words(event.status, event.stop_reason)}.",
    **HELP_SENTENCES,
}


def decision_words(event: ToolDecided) -> str:
    """Describes who allowed or denied a call and why; nothing if the configuration allowed it."""
    match event.by:
        case "policy":
            return "" if event.decision == "allowed" else "denied by the configuration"
        case "no terminal":
            return "denied, because nobody could be asked"
    return f"{event.decision} by a person{f': {event.reason}' if event.reason else ''}"


def proposal_reason(event: ToolProposed) -> str:
    """Returns why a call written in an answer was not run."""
    if event.kind == "unsure":
        return "it writes, and nothing shows that it is meant"
    return f"it stands beside {'an' if event.kind[0] in 'eo' else 'a'} {event.kind}"


def call_words(call: ToolCall) -> str:
    """Returns a call in short form: `calculator(12*7)`. Several arguments have names."""
    given = call.malformed or call.arguments
    if isinstance(given, str):
        shown = given
    elif len(given) == 1:
        shown = _value_text(next(iter(given.values())))
    else:
        shown = ", ".join(f"{name}={_value_text(value)}" for name, value in given.items())
    return f"{call.name}({_short_words(shown)})"


def result_words(result: ToolResult) -> str:
    """Returns the field `result` of a result if there is one, else its beginning."""
    try:
        found = json.loads(result.text)
    except (ValueError, RecursionError):
        found = result.text
    if isinstance(found, dict):
        found = found.get("error" if result.is_error else "result", found)
    if result.is_error:
        return f"failed: {both_ends(_value_text(found), ERROR_CHARACTERS) or 'nothing'}"
    return _short_words(_value_text(found)) or ("files" if result.parts else "nothing")


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _short_words(text: str) -> str:
    return one_line(text[: 3 * TITLE_CHARACTERS], TITLE_CHARACTERS)


def arguments(call: ToolCall) -> str:
    return call.malformed or json.dumps(dict(call.arguments), ensure_ascii=False, indent=2, default=str)


def attachment(part: Image | Document) -> str:
    """Describes a file for views that can't show it."""
    size = f"{len(part.data):,} bytes" if part.data else part.url
    name = f"{part.name}, " if isinstance(part, Document) and part.name else ""
    return f"{name}{part.media_type}, {size}"


def badges(turn: TurnFinished) -> tuple[str, ...]:
    """Returns what is unusual about a turn."""
    attempts = f"{turn.attempts} attempts" if turn.attempts > 1 else ""
    return tuple(
        filter(None, (_KINDS.get(turn.kind, ""), audience_text(turn.heard_by), STOPS.get(turn.stop, ""), attempts))
    )


def audience_text(heard_by: Sequence[str] | None) -> str:
    """Describes who hears a turn, unless all do."""
    if heard_by is None:
        return ""
    return f"heard by {', '.join(heard_by)} only" if heard_by else "heard by nobody"


def help_rows(event: HelpSummed) -> Iterator[tuple[str, ...]]:
    """Yields the rows under `HELP_HEADS`: who was called for what, how often, and the cost."""
    for row in event.rows:
        time = duration(row["seconds"]) if row["seconds"] else ""
        mark = about(estimated="estimated" in row)
        tokens = (mark + count(row["input_tokens"]), mark + count(row["output_tokens"]))
        role = "dropped answers" if row["role"] == "wasted" else row["role"]
        yield (row["participant"], role, count(row["calls"]), time, *tokens, dollars(row["cost_usd"]))


def help_document(event: HelpSummed) -> Mapping[str, Any]:
    """Returns the sums of help as JSON."""
    return {
        "turns": event.turns,
        "helped": event.helped,
        "cost_usd": event.cost_usd,
        "all_large_usd": event.all_large_usd,
        "saved_tokens": event.saved_tokens,
        "ledger": [dict(row) for row in event.rows],
    }
