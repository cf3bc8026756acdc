"""Continues from an earlier run: rebuilds its state, books the calls that its end cut off, or forks it after a turn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigChanged, ConfigError
from ..core.events import Event, ModelReplied, PromptGiven, RunStarted, TurnFailed, TurnFinished, Warned
from ..core.ledger import Ledger
from ..core.plugins import near
from ..core.tooling import HeldCall, ToolCalled, ToolsOffered
from .plan import Plan
from .prompting import opening
from .reading import CONFIG, Progress, read
from .setup import RunSetup, config_digest, config_settings
from .state import State

if TYPE_CHECKING:
    from ..collaboration._limits import HelpUse


def check_unchanged(progress: Progress, *, accept_changes: bool = False) -> Mapping[str, Any]:
    """Returns the settings to record with `RunResumed`: new ones if a change was accepted, else none.

    Raises `ConfigChanged` with a diff if the configuration in the run directory has changed since the start. No change
    is accepted after the end of a run.
    """
    path = progress.run_dir / CONFIG
    if not progress.config_digest:
        return {}
    if not path.is_file():
        raise ConfigError(f"{path} is gone; put it back to go on with this run.")
    now = path.read_text(encoding="utf-8")
    if config_digest(now) == progress.config_digest:
        return {}
    if accept_changes and not progress.is_over:
        return config_settings(now)
    way_out = "; undo the change, or go on with it: --accept-changes"
    if progress.is_over:
        way_out = f", and it is over; to go on from its end: ai-battle fork {progress.run_dir} --at {progress.turn}"
    before = str(progress.settings.get("config", ""))
    raise ConfigChanged(f"{path} has changed since the run was started{way_out}\n{_difference(before, now)}")


def _difference(before: str, now: str) -> str:
    diff = unified_diff(before.splitlines(), now.splitlines(), "when it was started", "now", lineterm="", n=2)
    return "\n".join(diff)


def restore_state(setup: RunSetup, events: Iterable[Event]) -> State:
    """Rebuilds the state from the journal, together with what helpers had used and where ladders stood."""
    state = State(setup.plan)
    for event in events:
        state.apply(event)
        is_judging = isinstance(event, ModelReplied) and event.role == "arbiter"
        _book(event, state.judging if is_judging else state.use.ledger, setup.assembled.help.use)
    # Count help by requests, not replies, because a failed request used up a call as well.
    for name, use in setup.assembled.help.use.items():
        use.calls = state.help.asked[name]
    state.ladders.restore(setup.assembled.help.standings)
    return state


def _book(event: Event, ledger: Ledger, help_use: "Mapping[str, HelpUse]") -> None:
    match event:
        case RunStarted():  # events before it were copied from the forked run, which has paid for them
            for use in help_use.values():
                use.ledger = Ledger()
        case ModelReplied(speaker=speaker, role=role):
            ledger.book(event)
            if role != "own" and speaker in help_use:
                help_use[speaker].ledger.book(event)
        case ToolCalled():
            ledger.tool_calls += 1
        case TurnFinished(seconds=seconds):
            ledger.seconds_before += seconds


def book_lost_calls(setup: RunSetup, state: State) -> list[ModelReplied]:
    """Books each call that had begun when the process died, and returns the entries; free models have none.

    The request was sent, so it is paid for. Nobody knows how much of an answer the provider had written.
    """
    entries = []
    for name, own in setup.assembled.models.items():
        if name not in state.pending_speakers:
            continue
        helper = own.helper if state.help.is_waiting(name) else None
        model, usage = helper or own, (helper or own).usage_at_price(state.tokens_needed(name))
        if usage.cost_usd != 0:
            entry = ModelReplied(str(model.name), usage, 0.0, "length", estimated=True, speaker=name, failed=True)
            entry = replace(entry, role="helper") if helper else entry
            _book(entry, state.use.ledger, setup.assembled.help.use)
            entries.append(entry)
    return entries


def lost_call_warning(entry: ModelReplied) -> Warned:
    who = entry.speaker if entry.role == "own" else f"The helper of {entry.speaker}"
    return Warned(
        f"{who} was being asked when the process ended: the request is booked, {entry.usage.input_tokens} "
        "tokens by estimate; the part of the answer that was written then may be billed too."
    )


def events_through(run_dir: Path, turn: int) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """Returns the events up to the end of the turn, and those after it.

    Raises `ConfigError` naming the turns that exist.
    """
    events: list[Event] = []
    end = last = 0
    for _, event in read(run_dir):
        events.append(event)
        if isinstance(event, TurnFinished) or (isinstance(event, TurnFailed) and event.policy == "skip"):
            last = event.turn
            end = len(events) if last == turn else end
    if not end:
        there = f"turns 1 to {last} are over" if last else "no turn is over yet"
        raise ConfigError(f"{run_dir} can't be forked after turn {turn}; {there}.")
    return tuple(events[:end]), tuple(events[end:])


def repeated_call_warning(earlier: Sequence[Event], later: Sequence[Event]) -> tuple[Warned, ...]:
    """Warns of tools that may write and were called in turns which a fork takes anew."""
    offers = [event for event in (*earlier, *later) if isinstance(event, ToolsOffered)]
    writing = {spec.name for offer in offers for spec in offer.tools if spec.writes}
    called = dict.fromkeys(event.call.name for event in later if isinstance(event, ToolCalled | HeldCall))
    names = ", ".join(name for name in called if name in writing)
    words = f"The forked run called {names} in later turns: what that did stays done, and the fork may do it again."
    return (Warned(words),) if names else ()


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
