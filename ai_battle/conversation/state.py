"""How far a run has come: a fold over its events, the same for a live run and for one that is taken up again."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ..core.errors import AIBattleError, translate_errors
from ..core.events import (
    DELTAS,
    BudgetReached,
    Concluded,
    Emit,
    Event,
    ModelReplied,
    PromptGiven,
    RunFinished,
    RunResumed,
    RunStarted,
    SpeakerSelected,
    Summarised,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Warned,
    ignore,
)
from ..core.exchange import EVERYTHING, WHOLE_ANSWER, Wants
from ..core.helping import LadderStood
from ..core.messages import Message, user
from ..core.redaction import NO_SECRETS, Redactor
from ..core.tokens import TOKENS_PER_MESSAGE, estimate_message, estimate_text
from .help_account import HelpAccount
from .plan import Plan
from .prompting import View, naming, prompt, system_prompt, view_of
from .stopping import RunUse, StopContext

if TYPE_CHECKING:
    from ..collaboration.ladder import LadderState

RECENT = 12
"""Messages that conditions to stop may look at."""
LEARNT_FROM, BOUNDS = 200, (0.5, 3.0)
"""Tokens below which a request teaches nothing of estimates, and by what factors these may be off at the most."""


class LadderPositions:
    """Only events change it, through `apply`; a turn that was interrupted is done again and counts once."""

    def __init__(self) -> None:
        self._settled: dict[tuple[str, int], LadderStood] = {}
        self._of_turn: dict[tuple[str, int], LadderStood] = {}

    def apply(self, event: Event) -> None:
        match event:
            case LadderStood(speaker=speaker, ladder=ladder):
                self._of_turn[speaker, ladder] = event
            case TurnStarted(speaker=speaker):
                self._of_turn = {key: stood for key, stood in self._of_turn.items() if key[0] != speaker}
            case TurnFinished(speaker=speaker) | TurnFailed(speaker=speaker, policy="skip"):
                self._settled |= {key: stood for key, stood in self._of_turn.items() if key[0] == speaker}

    def restore(self, standings: "Mapping[str, Sequence[LadderState]]") -> None:
        """Ladders that have just been made go on from where those of the run stood."""
        for (speaker, ladder), stood in self._settled.items():
            for standing in standings.get(speaker, ())[ladder : ladder + 1]:
                standing.go_on_from(stood)


class State:
    """Only events change it, through `apply`; its owner reads the attributes.

    `turn` is the last turn that is over, `taken` counts those of the regular participants, skipped ones included;
    `just_ended` says that nothing was spent for the next one yet. `spoken` counts the turns that each one was given,
    `silent` has those who were asked and never answered, and why.
    `history` are the turns since the last summary, `recent` the last few messages whatever was folded. `scale` is how
    far the estimate of tokens was off for each participant's model, by what it reported for its last request.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._regulars = {participant.name for participant in plan.regulars}
        self.systems = {participant.name: system_prompt(plan, participant) for participant in plan.participants}
        self._system_tokens = {name: estimate_text(system) for name, system in self.systems.items()}
        self.turn = self.taken = self.finished = 0
        self.spoken: Counter[str] = Counter()
        self.silent: dict[str, str] = {}
        self.failed_in_a_row: Counter[str] = Counter()
        self.history: deque[TurnFinished] = deque()
        self.recent: deque[Message] = deque(maxlen=RECENT)
        self.messages = 0
        self.prompt: Message | None = None
        self.summary = ""
        self.outcome: Concluded | None = None
        self.tokens = 0
        self.scale: dict[str, float] = {}
        self._replies = 0
        self._answered: set[str] = set()
        self.use = RunUse()
        self.ladders = LadderPositions()
        self.help = self._no_help()
        self.selected = self.last_regular = ""
        self.just_ended = False
        self.limit: BudgetReached | None = None
        self.wrapped_up = False
        self.stop_reason = self.last_failure = ""
        self.ended: RunFinished | None = None
        self.views = self._fresh_views()

    def apply(self, event: Event) -> None:
        self.help.apply(event)
        self.ladders.apply(event)
        match event:
            case Concluded():
                self.outcome = event
            case BudgetReached():
                self.limit = event
            case RunFinished():
                self.ended = event
            case _ if change := _CHANGES.get(type(event)):
                change(self, event)

    def view_before(self, name: str, turn: int) -> tuple[Message, ...]:
        """What a participant would have been sent before that turn, of which later ones are known already."""
        earlier = (m for done in self.history if done.turn < turn for m in (*done.steps, done.message))
        return view_of(name, (*self._opening(), *earlier), naming(self._plan))

    def fixed_tokens(self, name: str) -> int:
        """What no summary can shorten: the system prompt and the prompt."""
        return self._system_tokens[name] + (estimate_message(self.prompt) if self.prompt else 0)

    def tokens_needed(self, name: str) -> int:
        """The tokens of a participant's next request, as its model is likely to count them."""
        return int((self._system_tokens[name] + self.tokens) * self.scale.get(name, 1.0))

    def _open(self, event: PromptGiven) -> None:
        self.prompt = event.message
        self._begin_with(event.message)

    def _finish_turn(self, event: TurnFinished) -> None:
        self._learn(event)
        self._remember(event)
        self.messages += 1
        self.recent.append(event.message)
        self.use.note_turn(event.usage)
        self.finished += 1
        self._answered.add(event.speaker)
        self.silent.pop(event.speaker, None)
        self.failed_in_a_row.pop(event.speaker, None)
        self.wrapped_up = self.wrapped_up or event.kind == "wrap_up"
        self._leave_turn(event)

    def _start_turn(self, event: TurnStarted) -> None:
        self._replies = 0

    def _count_reply(self, event: ModelReplied) -> None:
        self._replies += 1

    def _learn(self, turn: TurnFinished) -> None:
        """From a turn of one request: the usage of several is no measure of any."""
        estimated = self._system_tokens.get(turn.speaker, 0) + self._tokens_heard(turn)
        if self._replies <= 1 and estimated >= LEARNT_FROM and turn.usage.input_tokens:
            low, high = BOUNDS
            self.scale[turn.speaker] = min(max(turn.usage.input_tokens / estimated, low), high)

    def _tokens_heard(self, turn: TurnFinished) -> int:
        """The tokens of what its speaker had heard; nothing of a round in which all answer at once."""
        if not self._plan.parallel or turn.kind != "turn" or turn.speaker not in self._regulars:
            return self.tokens
        at_once = takewhile(lambda other: other.round == turn.round, reversed(self.history))
        return self.tokens - sum(tokens_of(other) for other in at_once if other.speaker in self._regulars)

    def _fail_turn(self, event: TurnFailed) -> None:
        self.last_failure = f"{event.speaker}: {event.error}"
        if event.speaker not in self._answered:
            self.silent[event.speaker] = event.error
        if event.policy == "skip":
            self.failed_in_a_row[event.speaker] += 1
            self.wrapped_up = self.wrapped_up or event.kind == "wrap_up"
            self._leave_turn(event)

    def _leave_turn(self, event: TurnFinished | TurnFailed) -> None:
        self.turn, self.just_ended = event.turn, True
        if event.speaker == self.selected:  # else a person has just called on somebody
            self.selected = ""
        self.spoken[event.speaker] += 1
        if event.speaker in self._regulars and not self.wrapped_up:
            self.taken += 1
            self.last_regular = event.speaker
            self.stop_reason = self.stop_reason or self._reason_to_stop()

    def _reason_to_stop(self) -> str:
        context = StopContext(self.messages, self.turn, tuple(self.recent), self.use)
        if reason := self._plan.ends_early(context):
            return reason
        return "turns" if self.taken >= self._plan.turns * len(self._regulars) else ""

    def _fold(self, event: Summarised) -> None:
        """The earlier summary goes on to stand for its turns when later ones were dropped without one."""
        self._replies, self.just_ended = 0, False
        self.summary = event.text or self.summary
        kept = [turn for turn in self.history if turn.turn > event.through]
        self.history.clear()
        self.views = self._fresh_views()  # a view can't forget: it is made again of what is kept
        self.tokens = 0
        for message in self._opening():
            self._begin_with(message)
        for turn in kept:
            self._remember(turn)

    def _opening(self) -> Iterator[Message]:
        if self.prompt:
            yield self.prompt
        if self.summary:
            yield user(prompt("summary", summary=self.summary))

    def _remember(self, turn: TurnFinished) -> None:
        self.history.append(turn)
        self.tokens += tokens_of(turn)
        for message in (*turn.steps, turn.message):
            self._append(message)

    def _begin_with(self, message: Message) -> None:
        self.tokens += estimate_message(message)
        self._append(message)

    def _append(self, message: Message) -> None:
        for view in self.views.values():
            view.append(message)

    def _fresh_views(self) -> dict[str, View]:
        return {p.name: View(p.name, naming(self._plan)) for p in self._plan.participants}

    def _select(self, event: SpeakerSelected) -> None:
        self.selected, self.just_ended = event.speaker, False

    def _resume(self, event: RunResumed) -> None:
        self.ended = None

    def _start(self, event: RunStarted) -> None:
        """What a run is forked from is heard as ever, and what that took counts in the run that it was said in."""
        self.use, self.help = RunUse(), self._no_help()
        self.limit = self.ended = None

    def _no_help(self) -> HelpAccount:
        return HelpAccount({p.name: p.large for p in self._plan.participants if p.large})


def tokens_of(turn: TurnFinished) -> int:
    """What a turn adds to later requests: its steps and its text; what was thought is not sent again."""
    steps = sum(map(estimate_message, turn.steps))
    return steps + TOKENS_PER_MESSAGE + estimate_text(turn.message.text)


_CHANGES: dict[type[Event], Callable[[State, Any], None]] = {
    PromptGiven: State._open,
    TurnStarted: State._start_turn,
    ModelReplied: State._count_reply,
    TurnFinished: State._finish_turn,
    TurnFailed: State._fail_turn,
    Summarised: State._fold,
    SpeakerSelected: State._select,
    RunResumed: State._resume,
    RunStarted: State._start,
}


class EventDispatcher:
    """An event counts when the journal has it. A listener that fails is told of once, and never ends a run.

    `wants` says what of answers is listened to; by default all where somebody listens, else nothing on the way.
    """

    def __init__(
        self,
        journal: Emit,
        state: State,
        listener: Emit = ignore,
        redactor: Redactor = NO_SECRETS,
        wants: Wants | None = None,
    ) -> None:
        self.wants = wants or (WHOLE_ANSWER if listener is ignore else EVERYTHING)
        self._journal = journal
        self._redactor = redactor
        self.state = state
        self._listener = None if listener is ignore else listener
        self._border = translate_errors("A listener failed, and the run goes on without regard to it", AIBattleError)
        self._has_complained = False

    async def __call__(self, event: Event) -> None:
        if not isinstance(event, DELTAS):
            # The journal comes first: what is not on disk has not happened, whoever hears of it. What leaves has no
            # secrets in it; the state keeps the words themselves, as models are sent what was really said.
            heard, event = event, self._redactor.value(event)
            await self._journal(event)
            self.state.apply(heard)
        if self._listener is None:
            return
        try:
            with self._border:
                await self._listener(event)
        except AIBattleError as error:
            await self._complain(error)

    async def _complain(self, error: AIBattleError) -> None:
        if not self._has_complained:
            self._has_complained = True
            await self(Warned(str(error)))
