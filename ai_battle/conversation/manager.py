"""Runs discussions from Python or from a file: any number of runs, one after another or at once."""

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

from .. import assembly
from ..arbiter.verdict import Verdict
from ..assembly.models import NO_RECORDING, RecordingFiles, spelling
from ..config.collaboration import Pair
from ..config.documents import Source, checked_section, environment_redactor
from ..config.loading import LoadedDiscussion
from ..core.client import ModelClient, earlier_message, require_text
from ..core.errors import ConfigError
from ..core.events import (
    Emit,
    Event,
    RunFinished,
    RunForked,
    RunResumed,
    RunStarted,
    Warned,
    ignore,
)
from ..core.exchange import Usage, Wants
from ..core.helping import HelpSummed, RunJudged
from ..core.ledger import NO_LIMITS, SpendingLimits
from ..core.messages import Message, Part
from ..core.object_store import shown_path
from ..core.plugins import check_options, near
from ..core.telemetry import Telemetry, span, use_telemetry
from ..core.tooling import Ask
from . import outcome, reading, resuming
from .discussion import DiscussionRun
from .journal import Durability, Journal, create_run_dir
from .participant import Participant
from .person import Reader, keyboard
from .plan import GoalMode, Mode, Phase, Plan, Selection, Visibility
from .prompting import role_prompt, view_of
from .setup import ClientSetup, FileSetup, RunSetup, SetupSource, config_settings, load_checked
from .state import EventDispatcher, State

if TYPE_CHECKING:
    from ..tools.base import Tool


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    `help` says what helping models cost and saved, and `verdict` is the result of `judge:`; each is None if there is
    none.
    """

    status: Literal["done", "limit", "failed", "interrupted"]
    stop_reason: str
    turns: int
    usage: Usage
    run_dir: Path
    help: HelpSummed | None = None
    verdict: Verdict | None = None

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The messages, the prompt first. They are read from the journal at the first access."""
        return reading.messages(self.run_dir)


class DiscussionSettings(TypedDict, total=False):
    """Further settings of a discussion, under the names of the discussion YAML."""

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
    goal_mode: GoalMode
    signals: bool | Mapping[str, Any] | None
    inputs: tuple[Part, ...]
    seed: int
    phases: Sequence[Phase | Mapping[str, Any]]
    visibility: Visibility


class ConversationManager:
    """Runs discussions. Each run has its own views, state and journal; runs share nothing.

    `out` is the run directory; without it each run creates one under `runs/`. Clients passed from Python belong to the
    caller, who also closes them. Without `keep_drafts` the journal lacks the texts of dropped drafts and of helpers.
    """

    _source: SetupSource

    def __init__(
        self,
        participants: Sequence[Participant],
        *,
        goal: str = "",
        out: str | os.PathLike[str] | None = None,
        durability: Durability = "every_second",
        limits: SpendingLimits | Mapping[str, Any] = NO_LIMITS,
        tools: "Iterable[Tool]" = (),
        approve: Ask | None = None,
        keep_drafts: bool = True,
        **settings: Unpack[DiscussionSettings],
    ) -> None:
        check_options(Plan, type(self).__name__, settings)
        if "turns" in settings and settings.get("phases"):
            raise ConfigError("turns can't be combined with phases, whose rounds set the length of the discussion.")
        plan = Plan(tuple(participants), goal=goal, limits=SpendingLimits.of(limits), **settings)
        given = tuple(tools)
        checked_tools = tuple(assembly.tooling.ToolRegistry(given)) if given else ()
        redactor = environment_redactor(os.environ)
        setup = ClientSetup(plan.name, durability, plan, checked_tools, approve=approve, redactor=redactor)
        self._set_up(replace(setup, keeps_drafts=keep_drafts), out)

    @classmethod
    def from_config(
        cls,
        source: Source | LoadedDiscussion,
        *,
        out: str | os.PathLike[str] | None = None,
        ask: Reader = keyboard,
        recordings: RecordingFiles = NO_RECORDING,
        allow_unsandboxed: bool = False,
        approve: Ask | None = None,
    ) -> Self:
        """Reads a YAML file, a dictionary or a checked configuration.

        `ask` reads a line from a person: it gets a prompt to show and returns None at the end of the input.
        `recordings` are two files: one to record what models are asked and answer, one to answer from.
        `allow_unsandboxed` lets models' code run without a sandbox if the file says `sandbox: none`. `approve` is
        awaited with each tool call that needs a person's approval and the participant's name. It returns True or False,
        an `Answer`, or None if nobody can be asked, which denies the call. Raises `ConfigError` listing everything that
        is wrong.
        """
        manager = cls.__new__(cls)
        loaded = source if isinstance(source, LoadedDiscussion) else load_checked(source, recordings=recordings)
        setup = FileSetup.of(loaded, ask, recordings, allow_unsandboxed=allow_unsandboxed)
        manager._set_up(replace(setup, approve=approve), out)
        return manager

    def _set_up(self, source: SetupSource, out: str | os.PathLike[str] | None) -> None:
        self._source = source
        self._out = None if out is None else Path(out)
        self.conversation_history: list[dict[str, str]] = []

    async def run_discussion(self, emit: Emit = ignore, wants: Wants | None = None) -> RunResult:
        """Plays one run from beginning to end.

        `wants` says which parts of the answers `emit` uses; the default is all. Without a listener models are asked for
        whole answers, not for streams. Raises `ConfigError`, `JournalError`, and `Unreachable` before anything is spent
        if a server does not answer.
        """
        source = self._source
        with source.redactor.errors():
            async with source.open({}) as setup:
                run_dir = create_run_dir(source.name, self._out)
                async with Journal.create(run_dir, source.durability, source.config) as journal:
                    settings = config_settings(source.config)
                    begin = RunStarted(source.name, str(run_dir), setup.plan.model_types, settings)
                    return await _run(setup, journal, source.dispatcher(journal, State(setup.plan), emit, wants), begin)

    async def resume(
        self,
        run_dir: str | os.PathLike[str],
        emit: Emit = ignore,
        wants: Wants | None = None,
        *,
        accept_changes: bool = False,
    ) -> RunResult:
        """Continues after the last turn in the journal; for a finished run it only returns the result.

        The run directory is locked before anything is read, so that no other process can write to it in between.
        """
        source, run_dir = self._source, Path(run_dir)
        with source.redactor.errors():
            async with Journal.reopen(run_dir, source.durability) as journal:
                progress = reading.progress(run_dir)
                settings = resuming.check_unchanged(progress, accept_changes=accept_changes)
                if progress.is_over and progress.ended:
                    outcome.keep(run_dir, progress.outcome)  # the earlier process may have died before it wrote this
                    return _result(progress.ended, run_dir, progress.help, progress.judged)
                async with source.open(progress.positions) as setup:
                    state = resuming.restore_state(setup, (event for _, event in reading.read(run_dir)))
                    lost = resuming.book_lost_calls(setup, state)
                    go_on = RunResumed(state.turn + 1, os.getpid(), settings, setup.plan.model_types)
                    warnings = [*map(resuming.lost_call_warning, lost), *state.unfinished.warnings()]
                    dispatcher = source.dispatcher(journal, state, emit, wants)
                    return await _run(setup, journal, dispatcher, go_on, *lost, *warnings)

    async def fork(
        self, run_dir: str | os.PathLike[str], turn: int, emit: Emit = ignore, wants: Wants | None = None
    ) -> RunResult:
        """Starts a run with everything said in another up to and including `turn`, and continues live from there.

        No model is called for the copied turns, and they count against no limit. If the goal or initial prompt differs
        from the other run's, the participants get the new one after the copied turns. Raises `ConfigError` if the turn
        does not exist, if a speaker of the other run is unknown here, or if nothing is left to be said.
        """
        source, origin = self._source, Path(run_dir)
        with source.redactor.errors():
            events, later = resuming.events_through(origin, turn)
            async with source.open(resuming.script_positions(events)) as setup:
                begin = RunStarted(source.name, "", setup.plan.model_types, config_settings(source.config))
                state = resuming.restore_state(setup, (*events, begin))
                resuming.require_turns_left(state, setup.plan, turn)
                begin = replace(begin, run_dir=str(create_run_dir(source.name, self._out)))
                async with Journal.create(Path(begin.run_dir), source.durability, source.config) as journal:
                    await source.copy_events(events, journal)
                    forked = RunForked(shown_path(origin), turn)
                    prompt = resuming.new_prompt(events, setup.plan)
                    warning = resuming.repeated_call_warning(events, later)
                    dispatcher = source.dispatcher(journal, state, emit, wants)
                    return await _run(setup, journal, dispatcher, begin, forked, *prompt, *warning)

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
        """Takes one turn outside of a run: `role` answers `prompt`, and both are added to `conversation_history`.

        The history is sent from the point of view of `role`. Raises `ProviderError`, and then keeps nothing of the
        turn.
        """
        if system_instruction is None and mode not in ("no-meta", "no-meta-prompting", "default"):
            system_instruction = role_prompt(mode, role, role)
        if client is None:
            raise ConfigError(f"There is no client for {model_type!r}; a turn needs one.")
        history_with_prompt = self._with_prompt(require_text(prompt), role)
        *earlier, newest = view_of(
            role, [earlier_message("assistant", entry["content"], entry["role"]) for entry in history_with_prompt]
        )
        history = [{"role": message.role, "content": message.text} for message in earlier]
        answer = await client.generate_response(newest.text, system_instruction, history, file_data)
        self.conversation_history = [*history_with_prompt, {"role": role, "content": answer}]
        return answer

    def _with_prompt(self, prompt: str, role: str) -> list[dict[str, str]]:
        """Returns the history with the prompt, unless the caller has already appended it."""
        if self.conversation_history and self.conversation_history[-1]["content"] == prompt:
            return [*self.conversation_history]
        asking = "assistant" if role in ("human", "user") else "user"
        return [*self.conversation_history, {"role": asking, "content": prompt}]


async def _run(setup: RunSetup, journal: Journal, dispatcher: EventDispatcher, *begin: Event) -> RunResult:
    for event in begin:
        await dispatcher(event)
    await setup.assembled.equip(journal.run_dir, dispatcher)
    setup.assembled.help.start()
    for warning in (*journal.warnings, *map(Warned, setup.warnings)):
        await dispatcher(warning)
    named = {"conversation": journal.run_dir.name}
    with use_telemetry(Telemetry.of(os.environ)), span("invoke_workflow", setup.plan.name, **named) as attributes:
        judge = partial(setup.arbiter.judge, journal.run_dir) if setup.arbiter else None
        ended = await DiscussionRun(setup.plan, dispatcher, judge).run()
        if ended.status == "failed":
            attributes["error"] = "failed"
    if concluded := dispatcher.state.outcome:
        outcome.keep(journal.run_dir, concluded.text)
    await setup.assembled.help.finish()
    return _result(ended, journal.run_dir, dispatcher.state.help.total(), dispatcher.state.judged)


def _result(ended: RunFinished, run_dir: Path, help_: HelpSummed | None, judged: RunJudged | None) -> RunResult:
    verdict = Verdict.from_json(judged.verdict) if judged else None
    return RunResult(ended.status, ended.stop_reason, ended.turns, ended.usage, run_dir, help_, verdict)


class CollaborativeConversationManager(ConversationManager):
    """A `ConversationManager` that pairs can be added to; it has the pairs of its file from the start."""

    _pairs_of_types: dict[str, Pair]

    def _set_up(self, source: SetupSource, out: str | os.PathLike[str] | None) -> None:
        super()._set_up(source, out)
        self._pairs_of_types = {}

    def setup_collaboration(
        self, primary_model: str, secondary_model: str, threshold: float = 0.7, max_retries: int = 3
    ) -> None:
        """Lets `primary_model` ask `secondary_model` when it is stuck, from now on.

        Both are participants' names or model types. Raises `ValueError` naming what is missing or wrong.
        """
        keys = ("primary", "secondary", "threshold", "max_retries")
        settings = dict(zip(keys, (primary_model, secondary_model, threshold, max_retries), strict=True))
        try:
            pair = checked_section(Pair, settings)
            models = (pair.primary, *(helper.type for helper in pair.secondary))
            assembly.pairing.with_help(pair, *map(self._client_of, models))
            source = self._source.with_pair(settings)
        except ConfigError as error:
            raise ValueError(f"{primary_model} can't be helped by {secondary_model}: {error}") from error
        if source is self._source:
            self._pairs_of_types[spelling(primary_model)] = pair
        self._source = source

    async def run_conversation_turn_collaborative(
        self,
        prompt: str,
        model_type: str,
        mode: str,
        role: str,
        file_data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        system_instruction: str | None = None,
    ) -> str:
        """Takes a turn like `run_conversation_turn`, for a participant or a model type, with the help set up for it.

        Raises `ConfigError` for an unknown model, and `ProviderError`.
        """
        async with self._client(model_type) as client:
            return await self.run_conversation_turn(
                prompt, model_type, client, mode, role, file_data, system_instruction
            )

    def _client_of(self, named: str) -> ModelClient:
        """Returns the client. Raises `ConfigError` with similar names if it is not a model type either."""
        try:
            return self._source.client(named)[0]
        except ConfigError as error:
            if "/" in spelling(named):
                raise
            raise ConfigError(f"No participant is called {named!r}{near(named, self._source.names)} {error}") from error

    @asynccontextmanager
    async def _client(self, named: str) -> AsyncIterator[ModelClient]:
        async with AsyncExitStack() as stack:
            client = self._borrow(named, stack)
            if pair := self._pairs_of_types.get(spelling(named)):
                client = assembly.pairing.with_help(pair, client, self._borrow(pair.secondary[0].type, stack))
            yield client

    def _borrow(self, named: str, stack: AsyncExitStack) -> ModelClient:
        client, ours = self._source.client(named)
        if ours:
            stack.push_async_callback(client.aclose)
        return client
