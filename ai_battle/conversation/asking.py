"""What a participant is asked in a turn: when it is taken, and once more from the journal."""

from pathlib import Path

from .. import tools
from ..core.errors import ConfigError
from ..core.events import TurnFailed, TurnFinished
from ..core.exchange import ModelRequest, ToolSpec
from ..core.plugins import near
from ..core.tooling import ToolsOffered
from ._reading import read
from .participant import Participant
from .plan import Plan
from .prompting import prompt, with_note
from .state import State
from .turn import Kind, Step

Turn = TurnFinished | TurnFailed

_NOTES = {"wrap_up": "wrap_up", "observation": "observe"}


def request_for(plan: Plan, state: State, step: Step) -> ModelRequest:
    """What the participant has heard, and the note of this step at its end."""
    name = step.participant.name
    deaf = 0 < step.deaf_from <= state.turn
    messages = state.seen_before(name, step.deaf_from) if deaf else state.views[name].messages
    if step.note and plan.mode != "no-meta":
        messages = with_note(messages, prompt(step.note))
    return ModelRequest(messages, state.systems[name], options=step.participant.parameters)


def step_of(plan: Plan, state: State, turn: Turn) -> Step:
    """The step that led to a recorded turn, for a state that has all before it and nothing after."""
    participant = named(plan, turn.speaker)
    kind: Kind = "observation" if participant.role == "observer" else "turn"
    if isinstance(turn, TurnFinished):
        kind = turn.kind
    deaf_from = _round_began(plan, state) if plan.parallel and kind == "turn" else 0
    return Step(participant, turn.turn, turn.round, kind, _note(state, participant, kind), deaf_from)


def named(plan: Plan, name: str) -> Participant:
    for participant in plan.participants:
        if participant.name == name:
            return participant
    raise ConfigError(f"The run has no participant {name!r}{near(name, [p.name for p in plan.participants])}")


def recorded(run_dir: Path, number: int) -> Turn:
    """The turn of that number; as it was taken last, when it was taken again after an interruption."""
    found: Turn | None = None
    last = 0
    for _, event in read(run_dir):
        if isinstance(event, Turn) and event.turn:
            last = max(last, event.turn)
            found = event if event.turn == number else found
    if found is None:
        there = f"there are turns 1 to {last}" if last else "nobody has spoken"
        raise ConfigError(f"{run_dir} has no turn {number}; {there}.")
    return found


def request_of(run_dir: Path, plan: Plan, turn: Turn) -> ModelRequest:
    """What was sent first for a recorded turn, built again from what came before it, with the tools as they were."""
    state = State(plan)
    offered: tuple[ToolSpec, ...] = ()
    for _, event in read(run_dir):
        if event == turn:
            break
        if isinstance(event, ToolsOffered) and event.speaker == turn.speaker:
            offered = event.tools
        state.apply(event)
    request = request_for(plan, state, step_of(plan, state, turn))
    return tools.asked_first(request, offered) if offered else request


def _round_began(plan: Plan, state: State) -> int:
    """The first turn of a round that is under way: who answers at the same time has not heard it."""
    already = state.taken % len(plan.regulars)
    return state.turn + 1 - already if already else 0


def _note(state: State, participant: Participant, kind: Kind) -> str:
    if kind != "turn":
        return _NOTES[kind]
    if participant.role != "moderator":
        return ""
    return "close" if state.spoken[participant.name] else "open"
