"""Replays a run from its journal, and shows what changes if one participant gets another client."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from ..core.errors import ConfigError
from ..core.events import (
    Concluded,
    Emit,
    Event,
    ModelReplied,
    RunFinished,
    RunForked,
    RunResumed,
    RunStarted,
    SpeakerSelected,
    Summarised,
    TextDelta,
    ThinkingDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    ignore,
)
from ..core.exchange import NOTHING_USED, ModelRequest, ToolSpec
from ..core.helping import DraftDropped, FileDescribed, HelpSummed, ModelConsulted, RunJudged
from ..core.ledger import Budget, charge_to
from ..core.tooling import ToolsOffered
from ..tools.client import first_request
from .participant import Participant
from .plan import Plan
from .reading import read
from .run_config import require_participant
from .state import EventDispatcher, State
from .turn import Kind, TurnStep, TurnTaker, next_step, request_for, with_asides

Turn = TurnFinished | TurnFailed
_NOT_COPIED = (RunStarted, RunForked, RunResumed, RunFinished, HelpSummed, Concluded, RunJudged, ModelReplied)
"""Events that a swapped run does not copy: how the recorded run began and ended, and what it cost."""
_WITH_USAGE = (TurnFinished, TurnFailed, SpeakerSelected, Summarised, FileDescribed, DraftDropped, ModelConsulted)


@dataclass(frozen=True, slots=True)
class Difference:
    """A participant's recorded answer in a turn, and its new client's answer."""

    turn: int
    speaker: str
    before: str
    now: str

    @property
    def diff(self) -> str:
        """A unified diff; empty if nothing changed."""
        label = f"turn {self.turn}, {self.speaker}"
        before, now = self.before.splitlines(), self.now.splitlines()
        return "\n".join(unified_diff(before, now, f"{label}: said", f"{label}: says now", lineterm=""))


async def replay(run_dir: Path, emit: Emit = ignore) -> None:
    """Emits every event of the run again, each turn's text as one delta. No model is called."""
    for scene in _scenes(run_dir):
        await _emit_scene(scene, emit)


async def swap(
    run_dir: Path,
    plan: Plan,
    name: str,
    emit: Emit = ignore,
    *,
    journal: Emit = ignore,
    begin: RunStarted | None = None,
) -> AsyncIterator[Difference]:
    """Plays the run with the client that `plan` has for `name`. The other participants repeat their recorded turns.

    `journal` records a run of its own, which starts with `begin` and is charged for that client alone. Raises
    `AIBattleError` if the client gives no answer twice in a row, which would end a run.
    """
    swapped = _SwappedRun(plan, name, journal, emit)
    await swapped.emit(begin or RunStarted(plan.name, "", plan.model_types))
    for scene in _scenes(run_dir):
        over = scene[-1]
        if isinstance(over, Turn) and over.speaker == name:
            yield await swapped.play(over)
        elif scene := tuple(_as_unpaid(event) for event in scene if not isinstance(event, _NOT_COPIED)):
            await _emit_scene(scene, swapped.emit)
    await swapped.finish()


class _SwappedRun:
    """Plays the discussion as it would have been: repeats recorded turns, and takes one participant's turns again."""

    def __init__(self, plan: Plan, name: str, journal: Emit, emit: Emit) -> None:
        self._plan, self._name = plan, name
        participant_named(plan, name)
        self._listener = emit
        self._last: Turn | None = None
        self.emit = EventDispatcher(journal, State(plan), self._hear)

    async def play(self, before: Turn) -> Difference:
        state = self.emit.state
        with charge_to(Budget(ledger=state.use.ledger)):
            await TurnTaker(self._plan, self.emit).take(step_of(self._plan, state, before))
        assert self._last
        return Difference(before.turn, before.speaker, _text_of(before), _text_of(self._last))

    async def finish(self) -> None:
        state = self.emit.state
        await self.emit(RunFinished("done", f"{self._name} swapped", state.finished, state.use.ledger.usage))

    async def _hear(self, event: Event) -> None:
        if isinstance(event, Turn):
            self._last = event
        await self._listener(event)


def _as_unpaid(event: Event) -> Event:
    """Returns the event without its usage, which the recorded run has paid for."""
    return replace(event, usage=NOTHING_USED) if isinstance(event, _WITH_USAGE) else event


def _text_of(turn: Turn) -> str:
    return turn.message.text if isinstance(turn, TurnFinished) else f"(no answer: {turn.error})"


def _scenes(run_dir: Path) -> Iterator[tuple[Event, ...]]:
    """Yields the events of each finished turn, and events between turns; drops turns that a resumed run took again."""
    scene: list[Event] = []
    endings: list[tuple[Event, ...]] = []
    for _, event in read(run_dir):
        match event:
            case TurnStarted():
                scene = [event]
            case RunResumed():  # it takes an open turn again, and voids the end before it
                scene, endings = [], []
            case RunFinished() | TurnFailed(policy="stop"):
                endings.append((*scene, event))
                scene = []
            case TurnFinished() | TurnFailed():
                yield (*scene, event)
                scene = []
            case _ if scene:
                scene.append(event)
            case _:
                yield (event,)
    yield from endings


async def _emit_scene(scene: tuple[Event, ...], emit: Emit) -> None:
    for event in scene:
        if isinstance(event, TurnFinished):
            if thought := event.message.thinking:
                await emit(ThinkingDelta(thought))
            await emit(TextDelta(event.message.text))
        await emit(event)


def step_of(plan: Plan, state: State, turn: Turn) -> TurnStep:
    """Rebuilds the step that led to a recorded turn. `state` must hold everything before the turn and nothing after."""
    participant = participant_named(plan, turn.speaker)
    kind: Kind = "observation" if participant.role == "observer" else "turn"
    if isinstance(turn, TurnFinished):
        kind = turn.kind
    step = next_step(plan, state, participant, kind, _note(state, participant, kind))
    hide_turns_from = _round_start(plan, state) if kind == "turn" else 0
    step = replace(step, turn=turn.turn, round=turn.round, hide_turns_from=hide_turns_from)
    return with_asides(plan, step, state.steering.pending.get(turn.speaker))


def participant_named(plan: Plan, name: str) -> Participant:
    named = {participant.name: participant for participant in plan.participants}
    require_participant(name, named)
    return named[name]


def find_turn(run_dir: Path, number: int) -> Turn:
    """Returns the turn with that number; the last one if it was taken again after an interruption."""
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
    """Rebuilds the first request of a recorded turn from the events before it, with the tools offered then."""
    state = State(plan)
    offered: tuple[ToolSpec, ...] = ()
    for _, event in read(run_dir):
        if event == turn:
            break
        if isinstance(event, ToolsOffered) and event.speaker == turn.speaker:
            offered = event.tools
        state.apply(event)
    request = request_for(plan, state, step_of(plan, state, turn))
    return first_request(request, offered)


def _round_start(plan: Plan, state: State) -> int:
    """Returns the first turn of a parallel round in progress, whose turns its participants have not heard; else 0."""
    at = state.position
    return state.turn + 1 - at.turns_in_round if at.phase.parallel and at.turns_in_round else 0


def _note(state: State, participant: Participant, kind: Kind) -> str:
    if kind != "turn":
        return kind
    if participant.role != "moderator":
        return ""
    return "closing" if state.spoken[participant.name] else "opening"
