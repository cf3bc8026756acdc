"""Adds hints to a participant's request when the conversation goes wrong."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..config.discussion import SteeringStep
from ..core.events import Event, TurnFailed, TurnFinished, TurnStarted
from ..core.helping import HintGiven
from ..signals.conversation import RECENT
from .participant import Participant
from .plan import Plan
from .prompting import prompt
from .templates import PACKAGED

if TYPE_CHECKING:
    from .turn import TurnStep

TEMPLATE_AGAINST: Mapping[str, str] = {
    "repetition": "exploratory",
    "agreement": "critical",
    "drift": "structured",
    "formulaic": "synthesis",
}
"""The template used as the last step against each fault. The order is the faults' priority: one hint per turn."""


class _LastHint(NamedTuple):
    """A participant's last hint about a fault: its step, and the number of the participant's own turn."""

    step: int
    own_turn: int


class SteeringState:
    """The measures and hints of a run so far, folded from events by `apply`.

    `pending` are the hints of turns in progress. A turn that was interrupted is taken again and counts once.
    """

    def __init__(self, speakers: int) -> None:
        self.pending: dict[str, HintGiven] = {}
        self._measured: deque[TurnFinished] = deque(maxlen=speakers + RECENT)
        self._last_hints: dict[tuple[str, str], _LastHint] = {}
        self._own_turns: Counter[str] = Counter()

    def apply(self, event: Event) -> None:
        match event:
            case TurnStarted(speaker=speaker):
                self.pending.pop(speaker, None)
            case HintGiven(speaker=speaker):
                self.pending[speaker] = event
            case TurnFinished() | TurnFailed(policy="skip"):
                self._end_turn(event)

    def measures(self, listener: str, before: int) -> Mapping[str, float]:
        """Returns the measures of the last turn before `before` (0: of all), if the listener heard all recent turns."""
        last = [turn for turn in self._measured if not 0 < before <= turn.turn][-RECENT:]
        return (last[-1].signals or {}) if last and all(turn.is_heard_by(listener) for turn in last) else {}

    def next_step(self, speaker: str, fault: str, steps: int, cool_down: int) -> int:
        """Returns the step to take against a fault, counted from 1; 0 to stay silent.

        If the fault is back in the speaker's next turn, the next stronger step follows. Once it went away or the steps
        are used up, the speaker gets no hint for `cool_down` turns; then the steps start again.
        """
        if not (last := self._last_hints.get((speaker, fault))):
            return 1
        since, has_more = self._own_turns[speaker] + 1 - last.own_turn, last.step < steps
        if has_more and since == 1:
            return last.step + 1
        return int(since > cool_down + has_more)

    def _end_turn(self, event: TurnFinished | TurnFailed) -> None:
        self._own_turns[event.speaker] += 1
        if hint := self.pending.pop(event.speaker, None):
            self._last_hints[event.speaker, hint.fault] = _LastHint(hint.step, self._own_turns[event.speaker])
        if isinstance(event, TurnFinished) and event.signals:
            self._measured.append(event)


def choose_hint(plan: Plan, state: SteeringState, step: "TurnStep") -> HintGiven | None:
    """Returns the hint for a turn that begins, or None, as for most turns."""
    settings, name = plan.steering, step.participant.name
    if not settings or not settings.steps or step.kind != "turn" or not is_steered(plan, step.participant):
        return None
    measures = state.measures(name, step.hide_turns_from)
    for fault, threshold in _faults(plan, measures, step):
        if number := state.next_step(name, fault, len(settings.steps), settings.cool_down):
            action = settings.steps[number - 1]
            text = _hint_text(plan, fault, action)
            return HintGiven(step.turn, name, fault, number, action, threshold, measures, text)
    return None


def is_steered(plan: Plan, participant: Participant) -> bool:
    """Checks whether a participant gets hints: the human side, or both of two AIs, but never a person."""
    if participant.role in ("user", "moderator", "observer"):
        return False
    return plan.mode == "ai-ai" or (plan.mode == "human-ai" and participant == plan.human_side)


def _faults(plan: Plan, measures: Mapping[str, float], step: "TurnStep") -> Iterator[tuple[str, float]]:
    """Yields the faults whose measures exceed their thresholds.

    Agreement is no fault at the end, or in a phase whose instructions may ask for it. Repetition is no fault in
    `produce`, where drafts repeat each other.
    """
    may_agree = step.round >= plan.rounds or bool(step.instructions)
    excused = ("agreement",) * may_agree + ("repetition",) * (plan.goal_mode == "produce")
    thresholds = plan.steering.thresholds.model_dump() if plan.steering else {}
    for fault in TEMPLATE_AGAINST:
        if fault not in excused and measures.get(fault, 0.0) > thresholds[fault]:
            yield fault, thresholds[fault]


def _hint_text(plan: Plan, fault: str, action: SteeringStep) -> str:
    if action == "template":
        name = f"{'ai-ai-' if plan.mode == 'ai-ai' else ''}{TEMPLATE_AGAINST[fault]}"
        # The goal itself is a sentence, and the participant knows it.
        return prompt("hint_template", instructions=PACKAGED.fill(name, {"domain": "the goal of this conversation"}))
    return prompt(f"hint_{fault}{'_stronger' if action == 'stronger' else ''}")
