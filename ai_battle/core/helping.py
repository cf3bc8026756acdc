"""The events of models that help, judge or steer each other, and the roles that a model is called in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from .exchange import NOTHING_USED, Usage

VERIFICATION = "verification"
"""The value of `AnswerChecked.by` for an answer that was verified by running it."""
Role = Literal["own", "helper", "boost", "peer", "judge", "chair", "arbiter"]
"""The purpose of a call: the model answers itself, or helps one that answers. An arbiter judges a whole run."""
NOT_NEEDED = "not_needed"
"""The value of `HelpFailed.kind` for a helper that was cancelled, since the helped model had a good answer first."""
MOST_CHARACTERS = 16_000
"""The most characters of a text in an event. Longer ones keep their beginning and end, and say what is left out."""


@dataclass(frozen=True, slots=True)
class StuckFound:
    """An answer counts as stuck. `signals` are the measures that indicate it; `attempt` counts from 1.

    `quality` is the probability that the answer is good, `gain` what a helper's answer is expected to add to it.
    """

    quality: float
    gain: float
    reason: str
    signals: Mapping[str, float] = field(default_factory=dict)
    attempt: int = 1
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class AnswerChecked:
    """A judge or a tool, named in `by`, checked an answer; `signals` are the results.

    `text` is what the tool printed or the program said.
    """

    by: str
    signals: Mapping[str, float]
    reason: str = ""
    speaker: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class HelpAsked:
    """Another model is asked for help. `sees` is what it is shown: prompt, attempt or history."""

    strategy: str
    reason: str
    sees: str = ""
    speaker: str = ""
    role: Role = "helper"

    @property
    def is_help(self) -> bool:
        """A peer answers in every turn next to the participant, so its calls alone do not count as help."""
        return self.role in ("helper", "boost", "chair")


@dataclass(frozen=True, slots=True)
class ModelConsulted:
    """Another model's request and answer, whether the answer was used or not; `text` is empty if it failed.

    `shown` is the newest part of its request, as text, after redaction. `strategy` is what it was called for: a
    strategy or the name of a second check. `usage` is the cost of its answer.
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
    """The other model returned nothing usable, for `reason`; the turn goes on without it.

    `kind` is that of an error, for logs: http_500, timeout, connection, bad_reply, budget, limit for one of the pair's
    limits, or `NOT_NEEDED`, which is no failure.
    """

    strategy: str
    reason: str
    speaker: str = ""
    kind: str | None = field(default=None, metadata={"sparse": True})


@dataclass(frozen=True, slots=True)
class HelpDeclined:
    """A model asked for help and is refused it, for `reason`; it goes on without."""

    strategy: str
    reason: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class LessonsShown:
    """Lessons of earlier help are similar to the request. The model is shown them, unless `are_left_out`."""

    keys: Sequence[str]
    are_left_out: bool = False
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class LessonKept:
    """A request and its answer are kept as a lesson, because help changed the answer."""

    key: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class DraftDropped:
    """An answer that was paid for but did not become the answer of the turn.

    `usage` and `role` are those of its `calls`, each of which is a `ModelReplied`; with tools there are several.
    `saved_tokens` estimates what cutting it short saved. `attempt` is the number under which it was found stuck, or 0.
    `text` includes its tool calls if it `calls_tools`.
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
    """The effect of help: the quality of the answer before and after it, from 0 to 1.

    `after` is None if the helper's own answer was used, which is not judged. `is_replaced` says that the later answer
    is no worse, and became the answer of the turn.
    """

    before: float
    after: float | None
    is_replaced: bool
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class AnswersRanked:
    """Answers of several models were ranked by their authors, and the ranks pooled by Borda count.

    Each of `rows`, best first, is `{label, member, model, rank, points, firsts, judges, cost_usd, seconds}`: members
    count from 1, `points` is the mean share of the other answers that a ranking puts below it, None if nobody ranked
    it, and `firsts` of its `judges` put it first. Each of `rankings` is `{judge, ranking}` by labels, best first.
    `left_out` says who gave no answer or no ranking, and why; `seed` determines the order that each reader is shown.
    """

    rows: Sequence[Mapping[str, Any]]
    rankings: Sequence[Mapping[str, Any]] = ()
    left_out: Sequence[str] = ()
    seed: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class AnswersMerged:
    """A chair merged several answers, named by their labels: those it `used`, and why it `left_out` others.

    The `unmentioned` were ranked first by somebody, but the chair said nothing of them; the answer then ends with a
    line that says so.
    """

    used: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    unmentioned: Sequence[str] = ()
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class LadderStood:
    """The state of a ladder after a turn: its `rung`, and how many turns in a row were troubled or calm.

    `ladder` numbers the ladders of one participant from 0.
    """

    rung: int
    troubled: int = 0
    calm: int = 0
    ladder: int = 0
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class BoostStep:
    """One round of the boost loop, counted from 0: how the planning model's reply was understood, and its text."""

    loop: int
    outcome: Literal["summary", "guidance", "other", "fallback"]
    text: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class HelpSummed:
    """The balance of helping, emitted once before the run ends: another model helped in `helped` of `turns` turns.

    `cost_usd` is the cost of the other models' calls, `all_large_usd` an estimate for all these turns on the large
    model; each is None if a price is unknown. Each of `rows` is `{participant, role, calls, input_tokens,
    output_tokens, cost_usd, seconds}`; the role "wasted" holds what no answer was made of, and the other rows leave
    that out. `replaced` of `compared` answers gave way to one made with help.
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
    """The judges' verdict on the run before it ended: scores, quotations, reasons, and the cost.

    `ai_battle.arbiter.verdict.Verdict.from_json` reads it. The cost of judging is not part of the run's usage.
    """

    verdict: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HintGiven:
    """A participant is told of a fault of the conversation, at the end of its request in this turn only.

    `fault` is the measure that passed its `threshold`; `measures` are those of the last turn. `step` counts, from 1,
    the hints about this fault in a row, and `action` is the kind of this one.
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
    """A description of a picture or a video, for models that can't see it; empty if no model could describe it.

    `file` is its name as models see it, `usage` the cost of the description. `digest` distinguishes files of the same
    name; older journals leave it empty.
    """

    file: str
    text: str
    usage: Usage
    model: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Veiled:
    """A remote model is sent placeholders for `values` private values; `text` is the last message as it was sent."""

    model: str
    text: str
    values: int


HelpEvent = (
    AnswerChecked | StuckFound | HelpAsked | ModelConsulted | HelpFailed | HelpDeclined | LessonsShown | LessonKept
    | DraftDropped | AnswersCompared | AnswersRanked | AnswersMerged | LadderStood | BoostStep | HelpSummed
    | FileDescribed
)  # fmt: skip

E = TypeVar("E")


@dataclass(slots=True)
class HelpArrival:
    """Tracks from events whether a helper contributed to an answer; one that was asked counts until it fails."""

    came: bool = False
    asked: bool = False

    @property
    def has_come(self) -> bool:
        return self.came or self.asked

    def apply(self, event: object) -> None:
        match event:
            case HelpAsked():
                self.came, self.asked = self.has_come, event.is_help
            case HelpFailed() | BoostStep(outcome="other"):
                self.asked = False


def without_texts(event: E) -> E:
    """Returns the event without the texts of helping, which never became part of the conversation."""
    match event:
        case ModelConsulted():
            return replace(event, shown="", text="")
        case AnswerChecked() | DraftDropped() | BoostStep():
            return replace(event, text="")
        case AnswersMerged(left_out=left_out):
            return replace(event, left_out=dict.fromkeys(left_out, ""))
    return event
