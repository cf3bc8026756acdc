"""Builds all models of a discussion, and finds what would prevent that, with the place in the file."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .. import assembly
from ..config.collaboration import HelperSettings, PairLimits
from ..config.discussion import Discussion
from ..config.loading import LoadedDiscussion
from ..config.participants import ParticipantSettings, Provider
from ..config.problems import ConfigProblems, Problem
from ..core import plugins
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit
from ..core.plugins import near
from ..core.tooling import Ask
from ..providers._endpoints import PACKAGE, is_plugin, packaged_providers
from ..providers._names import parse
from ..providers.person import NAME as PERSON
from ..providers.person import Read
from . import strategies
from .models import (
    NO_RECORDING,
    BuildContext,
    Model,
    RecordingFiles,
    Speaking,
    find_unreachable,
    judge_models,
    participant,
    readable_kinds,
    require_no_tools,
    require_priced,
)
from .pairs import Pairs, ResolvedPair, RunHelp

if TYPE_CHECKING:
    from ..providers.replay import Recorder
    from ..tools.toolset import ToolSet


@dataclass(frozen=True, slots=True)
class Assembled:
    """The models of one run by participant; people have none. `warnings` are for the user.

    `judges` judge the run at its end, by name; `describer` is the model of `describe_with` if it takes no part.
    """

    models: Mapping[str, Model]
    warnings: tuple[str, ...] = ()
    recorder: "Recorder | None" = None
    tool_set: "ToolSet | None" = None
    help: RunHelp = field(default_factory=RunHelp)
    judges: Mapping[str, Model] = field(default_factory=dict)
    describer: Model | None = None

    @property
    def outside_describer(self) -> Model | None:
        """The model of `describe_with` if it takes no part, else the first helper that is known to see pictures."""
        helpers = (model.helper for model in self.models.values())
        return self.describer or next((helper for helper in helpers if helper and helper.is_seeing), None)

    async def find_unreachable(self) -> tuple[list[str], list[str]]:
        """Returns a sentence for each unreachable address, first of participants and then of helpers."""
        needed = [*self.models.items(), *([("describe_with", self.describer)] if self.describer else ())]
        return await find_unreachable(needed), await find_unreachable(self.help.helpers)

    async def equip(self, run_dir: Path, emit: Emit) -> None:
        """Gives the models their tools, once the run directory is known. Raises `ConfigError`."""
        if self.tool_set:
            await self.tool_set.equip(run_dir, emit)

    async def aclose(self) -> None:
        await self.help.aclose()
        for model in filter(None, (*self.models.values(), *self.judges.values(), self.describer)):
            await model.client.aclose()
        if self.tool_set:
            await self.tool_set.aclose()
        if self.recorder:
            self.recorder.close()


def build(
    loaded: LoadedDiscussion,
    starts: Mapping[str, int] | None = None,
    recordings: RecordingFiles = NO_RECORDING,
    *,
    allow_unsandboxed: bool = False,
    approve: Ask | None = None,
    ask: Read | None = None,
) -> Assembled:
    """Builds all models. `starts` says how many script entries each scripted participant has used.

    `approve` asks a person about a tool call if the file requires it; `ask` reads a line from a person who helps.
    Raises `ConfigError` for everything that `check` would have found.
    """
    discussion, context = loaded.file.discussion, BuildContext.of(loaded, starts, recordings)
    _require_known_options(loaded, context)
    context = replace(context, providers={**context.providers, PERSON: {"read": ask}})
    models = _participant_models(loaded, context)
    pairs, tool_set = Pairs(discussion, context), None
    if wrong := [*pairs.strategy_problems(trusted=True)]:
        raise ConfigProblems(map(loaded.location_of, wrong))
    # Add tools before helpers, because a strategy wraps a model that already has its tools.
    if users := _tool_users(pairs, models):
        equipped = discussion if discussion.has_tools else discussion.model_copy(update={"tools": None})
        tooling = assembly.tooling
        tool_set = tooling.ToolSet(equipped, loaded.base, allow_unsandboxed=allow_unsandboxed, ask=approve)
        models |= {name: tooling.with_tools(name, models[name], tool_set, discussion.models[name]) for name in users}
    help_ = RunHelp()
    if pairs.all:
        builder = assembly.pairing.PairBuilder(pairs, tool_set, help_)
        models = {name: builder.pair_up(name, model) for name, model in models.items()}
    notes = (
        *(model.name.note for model in models.values()),
        *help_.notes,
        *pairs.prompt_warnings(),
        *pairs.same_models(),
    )
    warnings = tuple(dict.fromkeys(filter(None, notes)))
    judges, describer = judge_models(discussion.judges, context), _describer(discussion, context)
    return Assembled(models, warnings, context.recorder, tool_set, help_, judges, describer)


def _describer(discussion: Discussion, context: BuildContext) -> Model | None:
    type_ = discussion.outside_describer
    return participant("describe_with", HelperSettings(type=type_), context) if type_ else None


def native_file_kinds(loaded: LoadedDiscussion) -> Iterator[frozenset[str]]:
    """Yields for each participant's model the kinds of files that it receives unchanged."""
    discussion, providers = loaded.file.discussion, BuildContext.of(loaded).providers
    for spec in discussion.models.values():
        if spec.role != "user":
            with suppress(ConfigError):  # building the model reports the same error with its place
                yield readable_kinds(parse(spec.type, providers), spec.capabilities)


def _participant_models(loaded: LoadedDiscussion, context: BuildContext) -> dict[str, Model]:
    """Builds the participants' models, reusing those from a check unless scripts continue or exchanges are recorded."""
    made = {} if context.starts or context.recorder or context.recording else loaded.made
    specs = loaded.file.discussion.models.items()
    return {
        name: made.pop(name, None) or participant(name, spec, context) for name, spec in specs if spec.role != "user"
    }


def _tool_users(pairs: Pairs, models: Iterable[str]) -> Iterable[str]:
    """Returns who gets tools. If the file has none, these are the participants whose pair brings some."""
    if pairs.discussion.has_tools:
        return models
    return [name for each in pairs.all if each.traits.each_step for name in each.helped]


def direct(loaded: LoadedDiscussion, named: str) -> ModelClient:
    """Returns a client for a participant's name or a model type, with the help that the file gives it.

    It has no tools, because tools belong to a run. Raises `ConfigError`.
    """
    discussion, context = loaded.file.discussion, BuildContext.of(loaded)
    pairs = Pairs(discussion, context)
    name = next(iter(pairs.participants(named)), named)
    model = participant(name, discussion.models.get(name) or HelperSettings(type=named), context)
    return assembly.pairing.PairBuilder(pairs).pair_up(name, model).client if pairs.all else model.client


def participants_of(loaded: LoadedDiscussion, named: str) -> tuple[str, ...]:
    """Returns the participants with this name, or with this model type in any spelling."""
    return Pairs(loaded.file.discussion, BuildContext.of(loaded)).participants(named)


def named_code(loaded: LoadedDiscussion) -> tuple[str, ...]:
    """Returns the modules and tools that running the file would import or start, which the user has to trust first."""
    discussion, context = loaded.file.discussion, BuildContext.of(loaded)
    pairs = Pairs(discussion, context)
    modules = [parse(type_, context.providers).provider for type_ in _named_types(pairs)]
    modules += [each.pair.strategy for each in pairs.all]
    code = discussion.tools.foreign_code if discussion.tools else ()
    located = (_code_location(each, loaded) for each in code)
    return tuple(dict.fromkeys((*(name for name in modules if "." in name), *located)))


def _named_types(pairs: Pairs) -> Iterator[str]:
    """Yields the types of all models in the file: participants, helpers, judges and the describer."""
    discussion = pairs.discussion
    yield from filter(None, (spec.type for spec in discussion.models.values()))
    yield from _helper_types(pairs)
    yield from (judge.type for judge in discussion.judges)
    yield from filter(None, [discussion.outside_describer])


def check(loaded: LoadedDiscussion, recordings: RecordingFiles = NO_RECORDING) -> Iterator[Problem]:
    """Yields what would prevent the models from being built, without importing code that the file names."""
    context = BuildContext.of(loaded, recordings=replace(recordings, record=""))
    discussion = loaded.file.discussion
    wrong = tuple(section_problems(context))
    yield from wrong
    pairs = Pairs(discussion, context)
    models = {} if context.recording else loaded.made
    yield from _participant_problems(pairs, models, unsure={problem.path[1] for problem in wrong})
    yield from _pair_problems(pairs, models)
    yield from _judge_problems(pairs)
    yield from _describer_problems(pairs)
    if discussion.tools and discussion.tools.enabled:
        yield from assembly.tooling.problems(discussion.tools, loaded.base)


def _participant_problems(pairs: Pairs, models: dict[str, Model | None], unsure: set[object]) -> Iterator[Problem]:
    """Yields problems of participants' models, except those already reported for the provider's section.

    The models that can be built are kept in `models`.
    """
    for name, spec in pairs.discussion.models.items():
        try:
            if spec.role != "user" and parse(spec.type, pairs.context.providers).provider not in unsure:
                models[name] = _try_to_make(name, spec, pairs)
        except ConfigError as error:
            yield Problem(("discussion", "models", name, "type"), str(error))


def _describer_problems(pairs: Pairs) -> Iterator[Problem]:
    named = pairs.discussion.describe_with
    place = ("discussion", "describe_with")
    if not named:
        return
    spec = pairs.discussion.models.get(named) or HelperSettings(type=named)
    try:
        if named not in pairs.discussion.models:
            _try_to_make("describe_with", spec, pairs)
        is_person = isinstance(spec, ParticipantSettings) and spec.role == "user"
        name = parse(spec.type, pairs.context.providers)
        kinds = frozenset[str]() if is_person else readable_kinds(name, spec.capabilities)
    except ConfigError as error:
        yield Problem(place, f"{error} It is not a participant either: {', '.join(pairs.discussion.models)}.")
        return
    if "images" not in kinds:
        yield Problem(place, f"{named} sees no pictures, so it can't describe any; name a model that does")


def _pair_problems(pairs: Pairs, models: Mapping[str, Model | None]) -> Iterator[Problem]:
    wrong = [*pairs.problems()]
    for each in pairs.all:
        known = {problem.path for problem in wrong}
        wrong += [problem for problem in _helper_problems(each, pairs) if problem.path not in known]
    yield from wrong
    if not wrong:
        yield from _strategy_problems(pairs, models)


def _judge_problems(pairs: Pairs) -> Iterator[Problem]:
    for number, settings in enumerate(pairs.discussion.judges):
        try:
            require_no_tools(settings)
            _try_to_make("the judge", settings, pairs)
        except ConfigError as error:
            yield Problem(("discussion", "judge", "models", number, "type"), str(error))


def _helper_problems(each: ResolvedPair, pairs: Pairs) -> Iterator[Problem]:
    for steps, helper in strategies.helpers_of(each.pair):
        try:
            _try_to_make(helper.type, pairs.settings(helper), pairs, each.pair.limits)
        except ConfigError as error:
            yield each.problem(str(error), *steps)


def _strategy_problems(pairs: Pairs, models: Mapping[str, Model | None]) -> Iterator[Problem]:
    """Builds each strategy to find problems of its options, unless that would import code that the file names."""
    for each in pairs.all:
        name = next(iter(each.helped), "")  # a helper's own pair is built with the pair that names the helper
        model = models.get(name)
        if model is None or "." in each.pair.strategy or _names_code(each, pairs):
            continue
        try:
            assembly.pairing.PairBuilder(pairs).pair_up(name, model, (each,))
        except ConfigError as error:
            yield strategies.problem_of(each.pair, each.path, error)


def _names_code(each: ResolvedPair, pairs: Pairs) -> bool:
    """Checks whether building the pair's helpers could import a module by its dotted name."""
    with suppress(ConfigError):
        return any("." in parse(type_, pairs.context.providers).provider for type_ in _helper_types(pairs, each))
    return True


def _helper_types(pairs: Pairs, *some: ResolvedPair) -> list[str]:
    """Returns the helpers' model types in the given pairs, or in all."""
    types = (type_ for each in some or pairs.all for type_ in strategies.types_of(each.pair))
    return [pairs.settings(HelperSettings(type=type_)).type for type_ in types]


def _code_location(code: str, loaded: LoadedDiscussion) -> str:
    """Returns a path in absolute form, or a command without its secrets."""
    path = loaded.base / Path(code).expanduser()
    return str(path.absolute()) if os.path.exists(path) else loaded.expansion.hide(code)


def _try_to_make(name: str, spec: Speaking, pairs: Pairs, *limits: PairLimits) -> Model | None:
    """Builds a model, or returns None if that would import code the file names. Raises `ConfigError`."""
    if "." in parse(spec.type, pairs.context.providers).provider:
        return None
    model = participant(name, spec, pairs.context)
    require_priced(model, pairs.discussion.limits, *limits)
    return model


def section_problems(context: BuildContext, trusted: Collection[str] = ()) -> Iterator[Problem]:
    """Yields problems of the providers' sections: unknown providers and unknown options.

    Installed plug-ins are asked for their options; a module with a dotted name is imported only if `trusted`.
    """
    for name, section in context.providers.items():
        yield from _section_problems(name, section, may_ask="." not in name or name in trusted)


def _section_problems(name: str, section: Mapping[str, object], *, may_ask: bool) -> Iterable[Problem]:
    if name in packaged_providers() or (section.get("base_url") and not is_plugin(name)):
        return _key_problems(name, section)
    if not is_plugin(name):
        words = f"there is no such provider, and no base_url for one{near(name, [*packaged_providers()])}"
        return [Problem(("providers", name), words, key=True)]
    return _option_problems(name, section) if may_ask else ()


def _key_problems(name: str, keys: Collection[str]) -> Iterator[Problem]:
    known = [*Provider.model_fields]
    for key in keys:
        if key not in known:
            yield Problem(("providers", name, key), f"unknown key{near(key, known)}", key=True)


def _option_problems(name: str, keys: Collection[str]) -> Iterator[Problem]:
    """Checks a section's options against the plug-in's own."""
    try:
        factory = plugins.factory(PACKAGE, name)
    except ConfigError as error:
        yield Problem(("providers", name), str(error), key=True)
        return
    for key in keys:
        try:
            plugins.check_options(factory, name, {key: None})
        except ConfigError as error:
            yield Problem(("providers", name, key), str(error), key=True)


def _require_known_options(loaded: LoadedDiscussion, context: BuildContext) -> None:
    """Raises `ConfigError` with the places of unknown options; imports the participants' modules."""
    if context.recording:
        return
    models = loaded.file.discussion.models.values()
    named = {parse(spec.type, context.providers).provider for spec in models if spec.role != "user"}
    if wrong := [*section_problems(context, named)]:
        raise ConfigProblems(map(loaded.location_of, wrong))
