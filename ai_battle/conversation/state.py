"""Folds the events of a run into its state, in the same way for a live run and for a resumed one."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ..core.errors import AIBattleError
from ..core.events import (
    DELTAS,
    BudgetReached,
    Concluded,
    Emit,
    Event,
    ModelReplied,
    PhaseStarted,
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
from ..core.exchange import EVERYTHING, WHOLE_ANSWER, Wants, estimate_message, estimate_text
from ..core.helping import FileDescribed, LadderStood, RunJudged
from ..core.ledger import Ledger
from ..core.messages import Message
from ..core.plugins import translate_errors
from ..core.redaction import NO_SECRETS, Redactor
from ..signals.conversation import ConversationSignals
from .context import ListenerContext, UnfinishedCalls, tokens_of
from .help_account import HelpAccount
from .participant import Participant
from .plan import Plan
from .prompting import naming, system_prompt
from .steering import SteeringState
from .stopping import RunUse, StopContext

if TYPE_CHECKING:
    from ..collaboration.ladder import LadderState

RECENT_TURNS = 12
"""How many messages stop conditions can look at."""
MIN_SAMPLE_TOKENS, SCALE_BOUNDS = 200, (0.5, 3.0)
"""The smallest request that corrects the estimate of tokens, and the bounds of the correction factor."""


class LadderPositions:
    """Tracks each ladder's position. A turn that was interrupted is taken again and counts once."""

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
        """Lets newly built ladders continue from the recorded positions."""
        for (speaker, ladder), stood in self._settled.items():
            for standing in standings.get(speaker, ())[ladder : ladder + 1]:
                standing.go_on_from(stood)


class State:
    """The state of a run. Only `apply` changes it; its owner reads the attributes.

    `turn` is the last finished turn; `taken` counts the regular participants' turns, skipped ones included; `position`
    is the place of the next turn in the phases. `just_ended` is True until something is spent on the next turn.
    `spoken` counts each participant's turns; `silent` maps those who were asked but never answered to the reason.
    `contexts` hold what each participant has heard; `recent` holds the last few messages, folded or not. `scale`
    corrects the estimate of tokens for each participant's model, by the usage of its last request. `phase` is the
    number and name of the last phase that began.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._regulars = {participant.name for participant in plan.regulars}
        self._people = {participant.name for participant in plan.participants if participant.role == "user"}
        self.systems = {participant.name: system_prompt(plan, participant) for participant in plan.participants}
        self._system_tokens = {name: estimate_text(system) for name, system in self.systems.items()}
        self.turn = self.taken = self.finished = 0
        self.position = plan.position(0)
        self.spoken: Counter[str] = Counter()
        self.silent: dict[str, str] = {}
        self.consecutive_failures: Counter[str] = Counter()
        self._descriptions: dict[str, str] = {}
        self.contexts = {p.name: self._context(p) for p in plan.participants}
        self.phase = (0, "")
        self._recent: deque[TurnFinished] = deque(maxlen=RECENT_TURNS)
        self.messages = 0
        self.prompt: Message | None = None
        self.outcome: Concluded | None = None
        self.scale: dict[str, float] = {}
        self._replies = 0
        self._started: set[str] = set()
        self._answered: set[str] = set()
        self.use, self.judging = RunUse(), Ledger()
        self.judged: RunJudged | None = None
        self.ladders = LadderPositions()
        self.unfinished = UnfinishedCalls()
        self.help = self._no_help()
        self.steering = SteeringState(len(plan.participants))
        self._signals = ConversationSignals(plan.turns_in_all)
        self.selected = self.last_regular = ""
        self.just_ended = False
        self.limit: BudgetReached | None = None
        self.has_wrap_up = False
        self.stop_reason = self.last_failure = ""
        self.ended: RunFinished | None = None

    def apply(self, event: Event) -> None:
        if isinstance(event, ModelReplied) and event.role == "arbiter":  # judging is not part of the run's usage
            return
        self.help.apply(event)
        self.ladders.apply(event)
        self.unfinished.apply(event)
        match event:
            case Concluded():
                self.outcome = event
            case RunJudged():
                self.judged = event
            case BudgetReached():
                self.limit = event
            case RunFinished():
                self.ended = event
            case _ if change := _CHANGES.get(type(event)):
                change(self, event)
        self.steering.apply(event)

    @property
    def recent(self) -> Sequence[Message]:
        return [turn.message for turn in self._recent]

    def recent_for(self, name: str) -> Sequence[Message]:
        """Returns the recent messages that a participant has heard."""
        return [turn.message for turn in self._recent if turn.is_heard_by(name)]

    def measures(self, turn: TurnFinished) -> Mapping[str, float] | None:
        """Returns the measures of the conversation including this new turn; None if it is not measured."""
        return self._signals.measure(turn.speaker, turn.message.text).figures() if self._is_measured(turn) else None

    def _is_measured(self, turn: TurnFinished) -> bool:
        return bool(self._plan.steering) and turn.kind == "turn" and turn.speaker in self._regulars

    @property
    def pending_speakers(self) -> Collection[str]:
        """Returns who is being asked: in a parallel round, which is asked at once, all who have not answered."""
        at = self.position
        is_in_round = at.phase.parallel and self.prompt and not (self.ended or self.stop_reason or self.limit)
        return self._started.union(at.phase.speakers[at.turns_in_round :] if is_in_round else ())

    def fixed_tokens(self, name: str) -> int:
        """Returns the tokens that no summary can shorten: the system prompt and the prompt."""
        prompt = self.contexts[name].prompt
        return self._system_tokens[name] + (estimate_message(prompt) if prompt else 0)

    def tokens_needed(self, name: str, notes: Sequence[str] = ()) -> int:
        """Estimates the tokens of a participant's next request, with notes at its end, by its model's count."""
        of_notes = sum(map(estimate_text, notes))
        return int((self._system_tokens[name] + self.contexts[name].tokens + of_notes) * self.scale.get(name, 1.0))

    def _context(self, participant: Participant) -> ListenerContext:
        descriptions = None if "images" in participant.reads else self._descriptions
        return ListenerContext(participant.name, naming(self._plan), descriptions)

    def _take_description(self, event: FileDescribed) -> None:
        self._descriptions[event.digest or event.file] = event.text
        for context in self.contexts.values():
            context.view.take_descriptions()

    def _open(self, event: PromptGiven) -> None:
        self.prompt = event.message
        for context in self.contexts.values():
            context.open(event.message)
        if self._plan.steering:
            self._signals.open(f"{self._plan.goal}\n{self._plan.prompt}")

    def _finish_turn(self, event: TurnFinished) -> None:
        self._started.discard(event.speaker)
        self._learn(event)
        for context in self.contexts.values():
            context.append(event)
        if self._is_measured(event):
            self._signals.add(event.speaker, event.message.text)
        self.messages += 1
        self._recent.append(event)
        if event.speaker not in self._people:
            self.use.note_turn(event.usage, event.seconds)
        self.finished += 1
        self._answered.add(event.speaker)
        self.silent.pop(event.speaker, None)
        self.consecutive_failures.pop(event.speaker, None)
        self.has_wrap_up = self.has_wrap_up or event.kind == "wrap_up"
        self._leave_turn(event)

    def _start_turn(self, event: TurnStarted) -> None:
        self._replies = 0
        self._started.add(event.speaker)

    def _count_reply(self, event: ModelReplied) -> None:
        self._replies += 1

    def _learn(self, turn: TurnFinished) -> None:
        """Corrects the estimate of tokens by a turn of one request; the usage of several can't be told apart."""
        estimated = self._system_tokens.get(turn.speaker, 0) + self._tokens_heard(turn)
        if hint := self.steering.pending.get(turn.speaker):
            estimated += estimate_text(hint.text)
        if self._replies <= 1 and estimated >= MIN_SAMPLE_TOKENS and turn.usage.input_tokens:
            low, high = SCALE_BOUNDS
            self.scale[turn.speaker] = min(max(turn.usage.input_tokens / estimated, low), high)

    def _tokens_heard(self, turn: TurnFinished) -> int:
        """Returns the tokens that the speaker had heard, without other turns of the same parallel round."""
        context = self.contexts.get(turn.speaker)
        if context is None:
            return 0
        is_parallel = self.position.phase.parallel
        if not is_parallel or turn.kind != "turn" or turn.speaker not in self._regulars:
            return context.tokens
        at_once = takewhile(lambda other: other.round == turn.round, reversed(context.turns))
        return context.tokens - sum(tokens_of(other) for other in at_once if other.speaker in self._regulars)

    def _fail_turn(self, event: TurnFailed) -> None:
        self._started.discard(event.speaker)
        self.last_failure = f"{event.speaker}: {event.error}"
        if event.speaker not in self._answered:
            self.silent[event.speaker] = event.error
        if event.policy == "skip":
            self.consecutive_failures[event.speaker] += 1
            self.has_wrap_up = self.has_wrap_up or event.kind == "wrap_up"
            self._leave_turn(event)

    def _leave_turn(self, event: TurnFinished | TurnFailed) -> None:
        self.turn, self.just_ended = event.turn, True
        if event.speaker == self.selected:  # otherwise the speaker, a person, has just called on somebody: keep it
            self.selected = ""
        self.spoken[event.speaker] += 1
        if event.speaker in self._regulars and not self.has_wrap_up:
            self.taken += 1
            self.position = self._plan.position(self.taken)
            self.last_regular = event.speaker
            self.stop_reason = self.stop_reason or self._reason_to_stop()

    def _reason_to_stop(self) -> str:
        context = StopContext(self.messages, self.turn, self.recent, self.use)
        if reason := self._plan.ends_early(context):
            return reason
        return "turns" if self.taken >= self._plan.turns_in_all else ""

    def _fold(self, event: Summarised) -> None:
        self._replies, self.just_ended = 0, False
        for name, context in self.contexts.items():
            if event.listeners is None or name in event.listeners:
                context.fold(event.through, event.text)

    def _begin_phase(self, event: PhaseStarted) -> None:
        """Begins a phase, and voids a person's call on somebody in the phase before."""
        self.phase, self.selected = (event.number, event.name), ""

    def _select(self, event: SpeakerSelected) -> None:
        self.selected, self.just_ended = event.speaker, False

    def _resume(self, event: RunResumed) -> None:
        self.ended = None
        self._started.clear()

    def _start(self, event: RunStarted) -> None:
        """Starts a run. A fork keeps what its participants heard, but the cost counts in the run it was copied from."""
        self.use, self.judging, self.judged, self.help = RunUse(), Ledger(), None, self._no_help()
        self.limit = self.ended = None
        self._started.clear()

    def _no_help(self) -> HelpAccount:
        return HelpAccount({p.name: p.large for p in self._plan.participants if p.large})


_CHANGES: dict[type[Event], Callable[[State, Any], None]] = {
    PromptGiven: State._open,
    FileDescribed: State._take_description,
    PhaseStarted: State._begin_phase,
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
    """Passes events to the journal, the state and the listener.

    A listener's failure is reported once and never ends a run. `wants` says which parts of answers are used: by default
    everything if there is a listener, else whole answers only.
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
        self.redactor = redactor
        self.state = state
        self._listener = None if listener is ignore else listener
        self._border = translate_errors("A listener failed; the run continues", AIBattleError)
        self._has_complained = False

    async def __call__(self, event: Event) -> None:
        if not isinstance(event, DELTAS):
            # Write the journal first, so that nobody hears of an event that a resumed run would not know. Journal and
            # listener get redacted events; the state keeps the original, as models are sent what was really said.
            original, event = event, self.redactor.value(event)
            await self._journal(event)
            self.state.apply(original)
        if self._listener is None:
            return
        try:
            with self._border:
                await self._listener(event)
        except AIBattleError as error:
            if not self._has_complained:
                self._has_complained = True
                await self(Warned(str(error)))
