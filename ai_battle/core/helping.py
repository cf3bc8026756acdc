"""The events of models that help each other, judge, are steered or veiled, and what a model can be called for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from .exchange import NOTHING_USED, Usage

VERIFICATION = "verification"
"""By whom an answer is checked that is verified by running."""
Role = Literal["own", "helper", "boost", "peer", "judge", "chair", "arbiter"]
"""What a model was called for: to answer itself, or for one that answers; an arbiter judges a whole run."""
MOST_CHARACTERS = 16_000
"""Of a longer text an event has the beginning and the end; what is left out between them is told there."""


@dataclass(frozen=True, slots=True)
class StuckFound:
    """An answer was judged and counts as stuck. `signals` are the measures that speak, `attempt` counts from 1.

    `quality` is the probability that the answer is good, `gain` what a helper's answer would add to it.
    """

    quality: float
    gain: float
    reason: str
    signals: Mapping[str, float] = field(default_factory=dict)
    attempt: int = 1
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class AnswerChecked:
    """An answer was looked at once more, `by` a judge or the tool of that name; `signals` is what the look brought.

    `text` is what a tool printed or a program said on the way.
    """

    by: str
    signals: Mapping[str, float]
    reason: str = ""
    speaker: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class HelpAsked:
    """Another model is called in. `sees` says what it is shown: prompt, attempt or history."""

    strategy: str
    reason: str
    sees: str = ""
    speaker: str = ""
    role: Role = "helper"

    @property
    def is_help(self) -> bool:
        """A peer, which answers beside the participant in each turn, is no help by itself."""
        return self.role in ("helper", "boost", "chair")


@dataclass(frozen=True, slots=True)
class ModelConsulted:
    """What another model was shown and what it said, whatever becomes of it; no `text` where it failed.

    `shown` is the newest of its request, as text, and after any redaction. `strategy` is what it was called for: that
    strategy, or a second look by this name. `usage` is what its answer took.
    """

    strategy: str
    role: Role
    shown: str
    text: str
    model: str = ""
    usage: Usage = NOTHING_USED
    seconds: float = 0.0
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class HelpFailed:
    """The other model brought nothing that can be used, and why; the turn goes on without it."""

    strategy: str
    reason: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class HelpDeclined:
    """A model asked for help that it is not given now, and why; it goes on without."""

    strategy: str
    reason: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class LessonsShown:
    """Lessons of earlier help are near to the request: their `keys`. The model is shown them, unless `are_left_out`."""

    keys: Sequence[str]
    are_left_out: bool = False
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class LessonKept:
    """A request and its answer are kept as a lesson, as help has changed the answer."""

    key: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class DraftDropped:
    """An answer that was paid for and did not become the answer of the turn.

    `usage` and `role` are those of its `calls`, which are `ModelReplied`: several where it was made with tools.
    `saved_tokens` is what cutting it short is likely to have saved. `attempt` is the number under which it was found
    stuck, 0 where it was not numbered. `text` tells of calls too, where it `calls_tools`.
    """

    reason: str
    usage: Usage
    role: Role = "own"
    saved_tokens: int = 0
    speaker: str = ""
    calls: int = 1
    text: str = ""
    attempt: int = 0
    calls_tools: bool = False


@dataclass(frozen=True, slots=True)
class AnswersCompared:
    """What help brought: the quality of the answer before it, and that of the one after it, from 0 to 1.

    `after` is None where the helper's own answer took its place, which nobody judges. `is_replaced`: the one after it
    is the answer of the turn, as it is no worse.
    """

    before: float
    after: float | None
    is_replaced: bool
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class AnswersRanked:
    """Answers of several models were ranked by those that gave them, and their ranks pooled by Borda's count.

    Each of `rows`, best first, is `{label, member, model, rank, points, firsts, judges, cost_usd, seconds}`: members
    count from 1, `points` is the mean share of the other answers that a ranking puts below it, None where nobody ranked
    it, and `firsts` of its `judges` put it first. Each of `rankings` is `{judge, ranking}` by labels, best first.
    `left_out` says who brought no answer or no ranking, and why; `seed` what the order for each reader is drawn from.
    """

    rows: Sequence[Mapping[str, Any]]
    rankings: Sequence[Mapping[str, Any]] = ()
    left_out: Sequence[str] = ()
    seed: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class AnswersMerged:
    """A chair made one answer of several, by their labels: those that it `used`, and why it `left_out` others.

    Of those that are `unmentioned` it said nothing, though somebody ranked them first; the answer then ends with a line
    that says so.
    """

    used: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    unmentioned: Sequence[str] = ()
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class LadderStood:
    """Where the help of a ladder begins after a turn: its `rung`, and how many turns in a row were troubled or calm.

    `ladder` counts those of one participant from 0.
    """

    rung: int
    troubled: int = 0
    calm: int = 0
    ladder: int = 0
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class BoostStep:
    """One round of the boost loop, counted from 0: what the planning model's reply was, and its text."""

    loop: int
    outcome: Literal["summary", "guidance", "other", "fallback"]
    text: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class HelpSummed:
    """What helping came to, told once before the run ends: in `helped` of `turns` turns help came from another model.

    `cost_usd` is what the calls of others cost, `all_large_usd` about what all these turns would have cost on the large
    model; None where no price is known. Each of `rows` is `{participant, role, calls, input_tokens, output_tokens,
    cost_usd, seconds}`; the role "wasted" is what no answer was made of, and is left out of the other rows. Of
    `compared` answers that were there before help, `replaced` gave way to one after it.
    """

    turns: int
    helped: int
    cost_usd: float | None
    all_large_usd: float | None = None
    saved_tokens: int = 0
    rows: Sequence[Mapping[str, Any]] = ()
    compared: int = 0
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class RunJudged:
    """What judges made of the run before it ended: a document with scores, quotations and reasons, and what it cost.

    `ai_battle.arbiter.verdict.Verdict.from_json` reads it. What judging took is no part of the run's usage.
    """

    verdict: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HintGiven:
    """A participant is told of a fault of the conversation, at the end of the request for this turn and of no other.

    `fault` is the measure that passed its `threshold`, `measures` are those of the last turn; `step` counts from 1 what
    the participant was told of this fault in a row, and `action` is what that step is.
    """

    turn: int
    speaker: str
    fault: str
    step: int
    action: Literal["hint", "stronger", "template"]
    threshold: float
    measures: Mapping[str, float]
    text: str


@dataclass(frozen=True, slots=True)
class FileDescribed:
    """What a picture or a video shows, in words, for all whose models see none; empty where nobody could say it.

    `file` is its name as models are told it, `usage` what the description cost. `digest` tells files of one name apart;
    it is empty in older journals.
    """

    file: str
    text: str
    usage: Usage
    model: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Veiled:
    """A model elsewhere is sent placeholders for `values` private values; `text` is what leaves of the last message."""

    model: str
    text: str
    values: int


HelpEvent = (
    AnswerChecked
    | StuckFound
    | HelpAsked
    | ModelConsulted
    | HelpFailed
    | HelpDeclined
    | LessonsShown
    | LessonKept
    | DraftDropped
    | AnswersCompared
    | AnswersRanked
    | AnswersMerged
    | LadderStood
    | BoostStep
    | HelpSummed
    | FileDescribed
)

E = TypeVar("E")


def without_texts(event: E) -> E:
    """Returns the event without what was said in helping: texts that never became part of the conversation."""
    match event:
        case ModelConsulted():
            return replace(event, shown="", text="")
        case AnswerChecked() | DraftDropped() | BoostStep():
            return replace(event, text="")
        case AnswersMerged(left_out=left_out):
            return replace(event, left_out=dict.fromkeys(left_out, ""))
    return event
