"""Provides the participants of a run, from clients that a program brings or from a checked file."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from .. import arbiter, assembly
from ..assembly.discussion import Assembled, build, direct, participants_of
from ..assembly.discussion import check as check_models
from ..assembly.models import NO_RECORDING, Model, RecordingFiles, create_client
from ..config.collaboration import Pair
from ..config.documents import Source, checked_section
from ..config.loading import LoadedDiscussion, load
from ..config.participants import ParticipantSettings
from ..config.problems import Problem
from ..core.client import ModelClient
from ..core.errors import ConfigError, Unreachable
from ..core.events import Emit, Event
from ..core.exchange import Wants
from ..core.helping import without_texts
from ..core.ledger import SpendingLimits
from ..core.messages import Image
from ..core.redaction import NO_SECRETS, Redactor
from ..core.tooling import Ask
from ..providers._filters import RedactedClient
from . import inputs
from .journal import Durability
from .participant import Cost, Participant
from .person import PersonClient, Reader
from .plan import Plan
from .state import EventDispatcher, State
from .templates import Templates

if TYPE_CHECKING:
    from ..arbiter import Arbiter
    from ..tools.base import Tool


@dataclass(frozen=True, slots=True)
class RunSetup:
    """Everything that one run needs, built for it alone.

    `warnings` are for the user; `arbiter` judges the run at its end.
    """

    plan: Plan
    warnings: tuple[str, ...] = ()
    assembled: Assembled = field(default_factory=lambda: Assembled({}))
    arbiter: "Arbiter | None" = None


@dataclass(frozen=True, slots=True)
class SetupSource(ABC):
    """Builds the setup of each run.

    `config` is the recorded configuration; `redactor` knows the secrets that must not leave the process. `approve` asks
    a person about a tool call. Without `keeps_drafts` the journal lacks texts that never became part of the
    conversation.
    """

    name: str
    durability: Durability
    config: str = field(default="", kw_only=True, repr=False)
    redactor: Redactor = field(default=NO_SECRETS, kw_only=True)
    approve: Ask | None = field(default=None, kw_only=True)
    keeps_drafts: bool = field(default=True, kw_only=True)

    def journal_writer(self, journal: Emit) -> Emit:
        """Returns the listener through which the run writes to its journal."""
        return journal if self.keeps_drafts else lambda event: journal(without_texts(event))

    async def copy_events(self, events: Iterable[Event], journal: Emit) -> None:
        """Writes what was said in another run to this one's journal."""
        write = self.journal_writer(journal)
        for event in events:
            await write(event)

    def dispatcher(self, journal: Emit, state: State, emit: Emit, wants: Wants | None) -> EventDispatcher:
        return EventDispatcher(self.journal_writer(journal), state, emit, self.redactor, wants)

    @abstractmethod
    def build(self, starts: Mapping[str, int]) -> RunSetup:
        """Builds everything a run needs; `starts` counts used script entries. Raises `ConfigError`."""

    @asynccontextmanager
    async def open(self, starts: Mapping[str, int]) -> AsyncIterator[RunSetup]:
        """Yields the built setup until the run is over.

        Raises `Unreachable` if participants' servers don't answer; servers of helpers only cause warnings.
        """
        setup = self.build(starts)
        try:
            needed, helpful = await setup.assembled.find_unreachable()
            if needed:
                raise Unreachable("\n".join(needed))
            yield replace(setup, warnings=(*setup.warnings, *helpful))
        finally:
            await setup.assembled.aclose()

    @abstractmethod
    def with_pair(self, pair: Mapping[str, Any]) -> Self:
        """Returns a source with one more pair, or itself if the pair helps no participant. Raises `ConfigError`."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the participants."""

    @abstractmethod
    def client(self, named: str) -> tuple[ModelClient, bool]:
        """Returns a client for a name or a model type, and whether the caller has to close it. Raises `ConfigError`."""


@dataclass(frozen=True, slots=True)
class ClientSetup(SetupSource):
    """A setup of live clients, which belong to the caller, with the same tools for all of them."""

    plan: Plan
    tools: "tuple[Tool, ...]" = ()
    pairs: tuple[Pair, ...] = ()

    @property
    def names(self) -> list[str]:
        return [participant.name for participant in self.plan.participants]

    def build(self, starts: Mapping[str, int]) -> RunSetup:
        participants = tuple(map(self._with_redactor, self.plan.participants))
        if self.tools:
            clients = {participant.name: participant.client for participant in participants}
            equipped = assembly.tooling.with_live_tools(clients, self.tools, self.approve)
            participants = tuple(replace(each, client=equipped[each.name]) for each in participants)
        return RunSetup(replace(self.plan, participants=tuple(map(self._with_help, participants))))

    def with_pair(self, pair: Mapping[str, Any]) -> Self:
        added = checked_section(Pair, pair)
        helped = [participant for participant in self.plan.participants if _is_primary(participant, added)]
        if twice := next(filter(self._pair_of, helped), None):
            raise ConfigError(f"{twice.name!r} has a pair already; a participant can have only one.")
        source = replace(self, pairs=(*self.pairs, added))
        secondary = added.secondary[0].type
        if helped and self.plan.has_private_words and self._participant_named(secondary):
            raise ConfigError(f"{secondary!r} takes part, and would be shown words that are kept from it.")
        if any(source._helps(secondary, participant) for participant in helped):
            raise ConfigError(f"{secondary!r} is itself helped by {added.primary!r}; one of them has to be the helper.")
        return source if helped else self

    def client(self, named: str) -> tuple[ModelClient, bool]:
        found = self._participant_named(named)
        return (self._with_help(found).client, False) if found else (create_client(named), True)

    def _participant_named(self, named: str) -> Participant | None:
        return next((p for p in self.plan.participants if named in (p.name, p.type)), None)

    def _pair_of(self, participant: Participant) -> Pair | None:
        return next((pair for pair in self.pairs if _is_primary(participant, pair)), None)

    def _helps(self, named: str, goal: Participant) -> bool:
        """Checks whether `goal` helps the participant with this name, directly or through others."""
        found = self._participant_named(named)
        pair = self._pair_of(found) if found else None
        return found is goal or bool(pair and self._helps(pair.secondary[0].type, goal))

    def _with_help(self, participant: Participant) -> Participant:
        """Adds the participant's helper. Clients made for a pair are never closed; nothing else refers to them."""
        if not (pair := self._pair_of(participant)):
            return participant
        helper, _ = self.client(pair.secondary[0].type)
        return replace(participant, client=assembly.pairing.with_help(pair, participant.client, helper))

    def _with_redactor(self, participant: Participant) -> Participant:
        """Redacts the participant's requests, and keeps the class of the original client as its type."""
        type_ = participant.type or type(participant.client).__name__
        return replace(participant, client=RedactedClient(participant.client, self.redactor), type=type_)


def _is_primary(participant: Participant, pair: Pair) -> bool:
    return pair.primary in (participant.name, participant.type)


@dataclass(frozen=True, slots=True)
class FileSetup(SetupSource):
    loaded: LoadedDiscussion
    ask: Reader
    recordings: RecordingFiles = NO_RECORDING
    allow_unsandboxed: bool = False

    @property
    def names(self) -> list[str]:
        return [*self.loaded.file.discussion.models]

    @classmethod
    def of(
        cls,
        loaded: LoadedDiscussion,
        ask: Reader,
        recordings: RecordingFiles = NO_RECORDING,
        *,
        allow_unsandboxed: bool = False,
    ) -> "FileSetup":
        discussion = loaded.file.discussion
        return cls(
            loaded.name,
            discussion.durability,
            loaded,
            ask,
            recordings,
            allow_unsandboxed,
            config=loaded.as_yaml(),
            redactor=loaded.redactor,
            keeps_drafts=discussion.journal.drafts,
        )

    def build(self, starts: Mapping[str, int]) -> RunSetup:
        read = inputs.read_all(self.loaded)
        assembled = build(
            self.loaded,
            starts,
            self.recordings,
            allow_unsandboxed=self.allow_unsandboxed,
            approve=self.approve,
            ask=self.ask,
        )
        participants = tuple(self._participants(assembled))
        describer = self._describer(participants, assembled)
        plan = Plan(participants, inputs=read.parts, describer=describer, **_settings(self.loaded))
        notes = (
            *self.loaded.notes,
            *unused_params(self.loaded),
            *assembled.warnings,
            *read.warnings,
            *_blind_participants(plan),
        )
        judge = self.loaded.file.discussion.judge
        judges = arbiter.Arbiter(assembled.judges, judge.find_rubric(self.loaded.base)) if judge else None
        return RunSetup(plan, notes, assembled, judges)

    def _describer(self, participants: Sequence[Participant], assembled: Assembled) -> Participant | None:
        """Returns the named describer; else the first participant known to see pictures, else the first helper.

        An unnamed helper is not used if that would show it words that are private to participants it does not help.
        """
        discussion = self.loaded.file.discussion
        named = discussion.describe_with
        seeing = [named] if named else [name for name, model in assembled.models.items() if model.is_seeing]
        if found := next((participant for participant in participants if participant.name in seeing), None):
            return found
        model = assembled.describer if discussion.has_private_words else assembled.outside_describer
        return Participant("", model.client, parameters=model.options, type=str(model.name)) if model else None

    def with_pair(self, pair: Mapping[str, Any]) -> Self:
        if not participants_of(self.loaded, pair["primary"]):
            return self
        loaded = self.loaded.with_pair(pair, check_models)
        return replace(self, loaded=loaded, config=loaded.as_yaml())

    def client(self, named: str) -> tuple[ModelClient, bool]:
        return direct(self.loaded, named), True

    def _participants(self, assembled: Assembled) -> Iterator[Participant]:
        discussion, templates = self.loaded.file.discussion, _templates(self.loaded)
        for name, spec in discussion.models.items():
            if spec.role == "user":
                client = PersonClient(name, self.ask, (*discussion.models,), self.loaded.base, spec.secret)
                yield Participant(name, client, role="user", type="person")
            else:
                instructions = instructions_of(spec, discussion.goal, templates)
                yield _participant(name, spec, assembled.models[name], instructions)


def _participant(name: str, spec: ParticipantSettings, model: Model, instructions: str) -> Participant:
    return Participant(
        name,
        model.client,
        spec.persona,
        instructions,
        spec.role,
        model.options,
        model.window,
        str(model.name),
        _pricing(model.helper) if model.helper else None,
        spec.secret,
        model.reads,
    )


def _blind_participants(plan: Plan) -> Iterator[str]:
    """Yields a note naming the participants who can't see the pictures, if nobody describes them."""
    blind = [participant.name for participant in plan.participants if "images" not in participant.reads]
    if blind and not plan.describer and any(isinstance(part, Image) for part in plan.inputs):
        first_words = f"{', '.join(blind)} can't see the pictures, and {'is' if len(blind) == 1 else 'are'} told so"
        yield f"{first_words}; 'describe_with: MODEL' (--describe-with MODEL) has them described."


def _pricing(helper: Model) -> Cost:
    return lambda usage: helper.price.cost(usage) if helper.price else None


def instructions_of(spec: ParticipantSettings, goal: str, templates: Templates) -> str:
    """Returns a participant's instructions. Raises `ConfigError` if the template can't be filled."""
    template = spec.instructions
    filled = templates.fill(template.template, {"goal": goal, **template.params}) if template.template else ""
    return "\n\n".join(text for text in (filled, template.text) if text)


def _templates(loaded: LoadedDiscussion) -> Templates:
    folder = loaded.file.discussion.templates
    return Templates(loaded.base / os.path.expanduser(folder) if folder else None)


def unused_params(loaded: LoadedDiscussion) -> Iterator[str]:
    """Yields a note for each template parameter that the template does not use."""
    templates = _templates(loaded)
    for name, spec in loaded.file.discussion.models.items():
        written = spec.instructions
        if written.template and (unused := templates.without_place(written.template, written.params)):
            path = f"discussion.models.{name}.instructions.params"
            yield f"{path}: {written.template} has no place for {', '.join(map(repr, unused))}; ignored"


def config_settings(config: str) -> Mapping[str, Any]:
    """Returns the value of `RunStarted.settings`, from which a later change can be detected and shown."""
    return {"config": config, "config_digest": config_digest(config)} if config else {}


def config_digest(config: str) -> str:
    return hashlib.sha256(config.encode()).hexdigest()


_AS_WRITTEN = (
    "goal", "initial_prompt", "mode", "turns", "speaker_selection", "visibility", "established_facts", "goal_mode",
)  # fmt: skip
"""The settings of a plan that are those of the file, under the same name."""


def _settings(loaded: LoadedDiscussion) -> dict[str, Any]:
    discussion = loaded.file.discussion
    return {
        **{key: getattr(discussion, key) for key in _AS_WRITTEN},
        "name": loaded.name,
        "parallel": discussion.execution.parallel,
        "phases": [phase.model_dump() for phase in discussion.phases],
        "delay_between_turns": discussion.execution.delay_between_turns,
        "stop": discussion.stop.model_dump(exclude_unset=True) if discussion.stop else (),
        "limits": SpendingLimits(**discussion.limits.model_dump()),
        "max_conversation_tokens": discussion.execution.max_conversation_tokens,
        "outcome": discussion.outcome or "",
        "signals": discussion.signals.model_dump() if discussion.signals else None,
    }


def load_checked(
    source: Source,
    overrides: Sequence[str] = (),
    recordings: RecordingFiles = NO_RECORDING,
    environment: Mapping[str, str] | None = None,
) -> LoadedDiscussion:
    """Loads the file. Raises `ConfigError` with everything that is wrong with it, its models and its inputs."""
    also = lambda loaded: [*check_models(loaded, recordings), *check(loaded)]  # noqa: E731
    return load(source, environment, overrides, also=also)


def check(loaded: LoadedDiscussion) -> list[Problem]:
    """Returns the problems that only this layer can find: templates, input files and the rubric file."""
    return [*_template_problems(loaded), *inputs.problems(loaded), *_rubric(loaded)]


def notes(loaded: LoadedDiscussion) -> tuple[str, ...]:
    """Returns what the user of a valid file should know before it runs."""
    return (*loaded.notes, *unused_params(loaded), *inputs.read_all(loaded).warnings)


def _rubric(loaded: LoadedDiscussion) -> Iterator[Problem]:
    try:
        if judge := loaded.file.discussion.judge:
            judge.find_rubric(loaded.base)
    except ConfigError as error:
        yield Problem(("discussion", "judge", "rubric"), str(error))


def _template_problems(loaded: LoadedDiscussion) -> Iterator[Problem]:
    discussion, templates = loaded.file.discussion, _templates(loaded)
    if templates.folder and not templates.folder.is_dir():
        yield Problem(("discussion", "templates"), f"{templates.folder} is not a folder; templates are its NAME.md")
        return
    for name, spec in discussion.models.items():
        try:
            instructions_of(spec, discussion.goal, templates)
        except ConfigError as error:
            yield Problem(("discussion", "models", name, "instructions"), str(error))
