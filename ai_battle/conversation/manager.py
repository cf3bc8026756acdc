"""Discussions from Python or from a file: any number of runs, one after another and at once."""

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, Unpack

from .. import assembly
from .. import tools as toolbox
from ..config import Loaded, Source, environment_redactor
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ModelReplied, RunFinished, RunResumed, RunStarted, TurnFinished, Warned, ignore
from ..core.exchange import Usage, Wants
from ..core.helping import HelpSummed
from ..core.ledger import SpendingLimits
from ..core.messages import Message, Part, assistant
from ..core.plugins import check_options
from ..core.tooling import ToolCalled
from ..tools.approval import Ask
from ..tools.base import Tool
from . import journal, outcome, rundir
from .casting import Brought, Cast, Casting, FromFile
from .checking import checked
from .discussion import Discussion
from .journal import Durability, Journal
from .participant import Participant
from .person import Reader, keyboard
from .perspective import seen_by
from .plan import Mode, Plan, Selection
from .prompting import role_prompt
from .state import EventDispatcher, State


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run went. `messages` are read from the journal when they are asked for, the prompt first.

    `help` says what models that help each other cost and saved; None where there are none.
    """

    status: Literal["done", "limit", "failed", "interrupted"]
    stop_reason: str
    turns: int
    usage: Usage
    run_dir: Path
    messages: Sequence[Message] = field(repr=False)
    help: HelpSummed | None = None


class Settings(TypedDict, total=False):
    """What else a discussion may say of itself, under the names of the discussion YAML."""

    name: str
    initial_prompt: str
    mode: Mode
    turns: int
    speaker_selection: Selection
    parallel: bool
    delay_between_turns: float
    stop: Mapping[str, Any] | Sequence[Any]
    max_conversation_tokens: int | None
    established_facts: Any
    outcome: str | Mapping[str, Any]
    inputs: tuple[Part, ...]
    seed: int


NO_LIMITS = SpendingLimits()


class ConversationManager:
    """Runs discussions. Each run has its own views, state and journal; nothing is shared between runs.

    `out` is the run directory; without it each run makes one of its own under `runs/`. From Python the clients are the
    caller's, who also closes them.
    """

    _casting: Casting

    def __init__(
        self,
        participants: Sequence[Participant],
        *,
        goal: str = "",
        out: str | os.PathLike[str] | None = None,
        durability: Durability = "every_second",
        limits: SpendingLimits | Mapping[str, Any] = NO_LIMITS,
        tools: Iterable[Tool] = (),
        approve: Ask | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        check_options(Plan, type(self).__name__, settings)
        plan = Plan(tuple(participants), goal=goal, limits=SpendingLimits.of(limits), **settings)
        given = tuple(tools)
        checked_ = tuple(toolbox.ToolRegistry(given)) if given else ()
        redactor = environment_redactor(os.environ)
        self._set_up(Brought(plan.name, durability, plan, checked_, approve=approve, redactor=redactor), out)

    @classmethod
    def from_config(
        cls,
        source: Source | Loaded,
        *,
        out: str | os.PathLike[str] | None = None,
        ask: Reader = keyboard,
        tapes: assembly.RecordingFiles = assembly.NO_RECORDING,
        allow_unsandboxed: bool = False,
        approve: Ask | None = None,
    ) -> Self:
        """From a YAML file, a dictionary or a checked configuration; raises `ConfigError` with all that is wrong.

        `ask` reads a line from a person; it is given a prompt to show and returns None at the end of the input.
        `tapes` records what models are asked and answer, or answers from such a recording.
        `allow_unsandboxed` lets code of models run without a fence where the file says `sandbox: none`. `approve` is
        awaited with each call of a tool that a person has to be asked about, and the name of the participant; it
        returns True or False, an `Answer`, or None where nobody can be asked: then the call is denied.
        """
        manager = cls.__new__(cls)
        loaded = source if isinstance(source, Loaded) else checked(source, tapes=tapes)
        casting = FromFile.of(loaded, ask, tapes, allow_unsandboxed=allow_unsandboxed)
        manager._set_up(replace(casting, approve=approve), out)
        return manager

    def _set_up(self, casting: Casting, out: str | os.PathLike[str] | None) -> None:
        self._casting = casting
        self._out = None if out is None else Path(out)
        self.conversation_history: list[dict[str, str]] = []

    async def run_discussion(self, emit: Emit = ignore, wants: Wants | None = None) -> RunResult:
        """One run from its beginning to its end.

        `wants` says what of the answers `emit` makes use of: all, if nothing is said; without a listener, nothing on
        the way, so that models are asked for whole answers.
        Raises `ConfigError`, `JournalError` and, where nothing listens, `Unreachable` before anything is spent.
        """
        casting = self._casting
        with casting.redactor.errors():
            return await self._begun(casting, emit, wants)

    async def _begun(self, casting: Casting, emit: Emit, wants: Wants | None) -> RunResult:
        async with _cast(casting, {}) as cast:
            run_dir = rundir.create(casting.name, self._out)
            async with _closing(Journal.create(run_dir, casting.durability, casting.config)) as kept:
                settings = rundir.settings(casting.config)
                begin = RunStarted(casting.name, str(run_dir), _types(cast.plan), settings)
                dispatcher = EventDispatcher(kept, State(cast.plan), emit, casting.redactor, wants)
                return await _run(cast, kept, dispatcher, begin)

    async def resume(
        self,
        run_dir: str | os.PathLike[str],
        emit: Emit = ignore,
        wants: Wants | None = None,
        *,
        accept_changes: bool = False,
    ) -> RunResult:
        """Goes on after the last turn that is in the journal; a run that is over is only reported.

        Nothing is read before the run directory is locked, so nobody can write to it in between.
        """
        with self._casting.redactor.errors():
            return await self._resumed(self._casting, Path(run_dir), emit, wants, accept_changes=accept_changes)

    async def _resumed(
        self, casting: Casting, run_dir: Path, emit: Emit, wants: Wants | None, *, accept_changes: bool
    ) -> RunResult:
        async with _closing(Journal.reopen(run_dir, casting.durability)) as kept:
            progress = journal.progress(run_dir)
            if progress.finished and progress.ended:
                outcome.keep(run_dir, progress.outcome)
                return _result(progress.ended, run_dir, progress.help)
            settings = rundir.check_unchanged(progress, accept_changes=accept_changes)
            async with _cast(casting, progress.positions) as cast:
                state = _restored(cast, run_dir)
                go_on = RunResumed(state.turn + 1, os.getpid(), settings, _types(cast.plan))
                return await _run(cast, kept, EventDispatcher(kept, state, emit, casting.redactor, wants), go_on)

    async def run_conversation_turn(
        self,
        prompt: str,
        model_type: str,
        client: ModelClient,
        mode: str,
        role: str,
        file_data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        system_instruction: str | None = None,
    ) -> str:
        """One turn outside of a run: `role` answers `prompt`, and both stay in `conversation_history`.

        The history is told from the point of view of `role`. Raises `ProviderError`; nothing is kept of such a turn.
        """
        if system_instruction is None and mode not in ("no-meta", "no-meta-prompting", "default"):
            system_instruction = role_prompt(mode, role, role)
        if client is None:
            raise ConfigError(f"There is no client for {model_type!r}; a turn needs one.")
        heard = self._heard(prompt, role)
        *earlier, asked = seen_by(role, [assistant(entry["content"], entry["role"]) for entry in heard])
        history = [{"role": message.role, "content": message.text} for message in earlier]
        said = await client.generate_response(asked.text, system_instruction, history, file_data)
        self.conversation_history = [*heard, {"role": role, "content": said}]
        return said

    def _heard(self, prompt: str, role: str) -> list[dict[str, str]]:
        """The history with the prompt, which the caller may have taken from its end."""
        if self.conversation_history and self.conversation_history[-1]["content"] == prompt:
            return [*self.conversation_history]
        asking = "assistant" if role in ("human", "user") else "user"
        return [*self.conversation_history, {"role": asking, "content": prompt}]


@asynccontextmanager
async def _cast(casting: Casting, starts: Mapping[str, int]) -> AsyncIterator[Cast]:
    cast = casting.cast(starts)
    try:
        yield await cast.require_listeners()
    finally:
        await cast.assembled.aclose()


@asynccontextmanager
async def _closing(kept: Journal) -> AsyncIterator[Journal]:
    try:
        yield kept
    finally:
        await kept.close()


def _restored(cast: Cast, run_dir: Path) -> State:
    """The state that the journal tells of; what helpers had used and where ladders stood is put back too."""
    state = State(cast.plan)
    ledger = state.use.ledger
    for _, event in journal.read(run_dir):
        state.apply(event)
        match event:
            case ModelReplied(speaker=speaker, role=role):
                ledger.book(event)
                if role != "own" and (use := cast.assembled.help_use.get(speaker)):
                    use.ledger.book(event)
            case ToolCalled():
                ledger.tool_calls += 1
            case TurnFinished(seconds=seconds):
                ledger.seconds_before += seconds
    for name, use in cast.assembled.help_use.items():
        use.calls = state.help.asked[name]
    state.ladders.restore(cast.assembled.standings)
    return state


async def _run(cast: Cast, kept: Journal, dispatcher: EventDispatcher, begin: RunStarted | RunResumed) -> RunResult:
    await dispatcher(begin)
    await cast.assembled.equip(kept.run_dir, dispatcher)
    for warning in (*kept.warnings, *map(Warned, cast.warnings)):
        await dispatcher(warning)
    ended = await Discussion(cast.plan, dispatcher).run()
    if concluded := dispatcher.state.outcome:
        outcome.keep(kept.run_dir, concluded.text)
    return _result(ended, kept.run_dir, dispatcher.state.help.summed())


def _types(plan: Plan) -> dict[str, str]:
    return {p.name: p.type or type(p.client).__name__ for p in plan.participants}


def _result(ended: RunFinished, run_dir: Path, help_: HelpSummed | None) -> RunResult:
    messages = journal.messages(run_dir)
    return RunResult(ended.status, ended.stop_reason, ended.turns, ended.usage, run_dir, messages, help_)
