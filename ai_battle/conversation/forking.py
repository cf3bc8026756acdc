"""Prepares a fork of a run: selects the events to copy and checks that something is left to be said."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..core.errors import ConfigError
from ..core.events import Emit, Event, PromptGiven, TurnFailed, TurnFinished
from ..core.plugins import near
from .plan import Plan
from .prompting import opening
from .reading import Progress, read
from .state import State


def events_through(run_dir: Path, turn: int) -> tuple[Event, ...]:
    """Returns the events up to the end of the turn. Raises `ConfigError` naming the turns that exist."""
    events: list[Event] = []
    end = last = 0
    for _, event in read(run_dir):
        events.append(event)
        if isinstance(event, TurnFinished) or (isinstance(event, TurnFailed) and event.policy == "skip"):
            last = event.turn
            end = len(events) if last == turn else end
    if not end:
        few = {0: "no turn is over yet", 1: "only turn 1 is over"}
        there = few.get(last, f"turns 1 to {last} are over")
        raise ConfigError(f"{run_dir} can't be forked after turn {turn}; {there}.")
    return tuple(events[:end])


async def copy_events(events: Sequence[Event], journal: Emit) -> None:
    for event in events:
        await journal(event)


def script_positions(events: Sequence[Event]) -> Mapping[str, int]:
    """Returns how many script entries each scripted participant has used."""
    progress = Progress(Path())
    for event in events:
        progress.apply(event)
    return progress.positions


def new_prompt(events: Sequence[Event], plan: Plan) -> tuple[PromptGiven, ...]:
    """Returns the plan's opening prompt if it differs from the one that was given."""
    opened = [event.message.text for event in events if isinstance(event, PromptGiven)]
    prompt = opening(plan)
    return () if opened[-1:] == [prompt.text] else (PromptGiven(prompt),)


def require_turns_left(state: State, plan: Plan, turn: int) -> None:
    """Raises `ConfigError` if a fork would call no model, or if an earlier speaker has no model now."""
    names = [participant.name for participant in plan.participants]
    if strangers := [name for name in state.spoken if name not in names]:
        raise ConfigError(f"{strangers[0]!r} spoke before turn {turn} and has no model now{near(strangers[0], names)}")
    if plan.outcome or not state.stop_reason:
        return
    if state.stop_reason == "turns":
        more = "add a phase" if plan.phases else "name more with --turns"
        raise ConfigError(f"Turn {turn} is the last of {plan.rounds} rounds; fork earlier, {more}, or set an outcome.")
    raise ConfigError(
        f"The discussion is over after turn {turn} ({state.stop_reason}); fork earlier, or set an outcome."
    )
