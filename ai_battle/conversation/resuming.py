"""Rebuilds the state of a run from its journal, and books the calls during which its process died."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..core.events import Event, ModelReplied, RunStarted, TurnFinished, Warned
from ..core.ledger import Ledger
from ..core.tooling import ToolCalled
from .setup import RunSetup
from .state import State

if TYPE_CHECKING:
    from ..collaboration._limits import HelpUse


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
    for name, model in setup.assembled.models.items():
        if name not in state.pending_speakers:
            continue
        usage = model.usage_at_price(state.tokens_needed(name))
        if usage.cost_usd != 0:
            entry = ModelReplied(str(model.name), usage, 0.0, "length", estimated=True, speaker=name, failed=True)
            state.use.ledger.book(entry)
            entries.append(entry)
    return entries


def lost_call_warning(entry: ModelReplied) -> Warned:
    return Warned(
        f"{entry.speaker} was being asked when the process ended: the request is booked, {entry.usage.input_tokens} "
        "tokens by estimate; the part of the answer that was written then may be billed too."
    )
