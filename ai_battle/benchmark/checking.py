"""Finds the problems of a suite before any money is spent, in its file and at its providers."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from ..assembly import discussion, strategies
from ..assembly.models import BuildContext, Model, participant
from ..config.collaboration import HelperSettings
from ..config.loading import LoadedDiscussion
from ..config.problems import KeyPath, Problem
from ..core import plugins
from ..core.errors import ConfigError, ProviderError, Unreachable
from ..core.plugins import near
from ..executors import EXECUTORS
from ..providers._capabilities import list_models
from ..providers._endpoints import provider_traits
from ..providers._names import ModelName, nearest_tag, parse
from .clients import NO_TASK, ClientPool, build_setting
from .datasets import PLACE_KEY
from .scorers import SCORERS, Scorer, ScorerFactory, judge_of, judges, lacking
from .suite import DATASET_KEY, RECORDED, SCORER_KEY, Setting, Suite, is_code, load_discussion, name_of
from .tasks import Task

LISTED_NAMES = 3
LATEST_SUFFIX = "-latest"
OWN_KEYS = (PLACE_KEY, DATASET_KEY, SCORER_KEY)
Called = tuple[KeyPath, ModelName]


def require_sound_code(suite: Suite, *, allow_unsandboxed: bool = False) -> None:
    """Raises `ConfigError` for wrong options of the modules that a suite names, once they are trusted."""
    trusted = replace(suite, is_trusted=True)
    if named_code(suite) and (wrong := list(problems(trusted, allow_unsandboxed=allow_unsandboxed))):
        raise ConfigError("\n".join(map(suite.document.with_place, wrong)))


def problems(suite: Suite, *, allow_unsandboxed: bool = False) -> Iterator[Problem]:
    """Yields the problems of a suite. Modules that it names are imported only if they are trusted, as for a run."""
    wrong = [each for setting in suite.settings for each in _setting_problems(setting, suite)]
    yield from dict.fromkeys(wrong)
    if not wrong:
        yield from _price_problems(suite)
    yield from _scorer_problems(suite, ScorerFactory(suite.around, suite.benchmark.sandbox, allow_unsandboxed))
    yield from _executor_problems(suite)


def named_code(suite: Suite) -> tuple[str, ...]:
    """Returns the modules that running the suite would import because it names them."""
    named = [each.help.strategy for each in suite.settings if each.help]
    named += [provider_of(model) for each in suite.settings for model in each.models]
    named += [scorer.name for scorer in chain(*suite.scorers.values())]
    named += [section.format for section in suite.benchmark.datasets]
    named += chain(*map(discussion.named_code, _discussions(suite)))
    return tuple(dict.fromkeys(filter(is_code, named)))


def provider_of(model: HelperSettings) -> str:
    return model.type.partition("/")[0]


def _discussions(suite: Suite) -> Iterator[LoadedDiscussion]:
    """Yields the discussions of all settings. Raises `ConfigError`."""
    for setting in suite.settings:
        if setting.discussion:
            yield load_discussion(setting, suite.around, suite.document.tree, discussion.check)


def _setting_problems(setting: Setting, suite: Suite) -> Iterator[Problem]:
    if setting.discussion:
        yield from _discussion_problems(setting, suite)
        return
    if setting.model is None:
        yield Problem((*setting.place, "model"), "is missing: say which model answers, for example ollama/phi4")
        return
    wrong = [*_model_problems(setting, suite), *_strategy_problems(setting)]
    yield from wrong or _making_problems(setting, suite)


def _discussion_problems(setting: Setting, suite: Suite) -> Iterator[Problem]:
    path = (*setting.place, "discussion")
    if setting.model or setting.help:
        yield Problem(path, "a discussion has its own models and pairs; set them there")
    try:
        list(_discussions(replace(suite, settings=(setting,))))
    except ConfigError as error:
        yield Problem(path, str(error))


def _model_problems(setting: Setting, suite: Suite) -> Iterator[Problem]:
    for steps, settings in setting.placed_models:
        if words := _model_fault(settings, suite):
            yield Problem((*setting.place, *steps), words)


def _model_fault(settings: HelperSettings, suite: Suite) -> str:
    if settings.type.startswith(RECORDED):
        role = settings.type.removeprefix(RECORDED)
        lacks = [task.id for task in suite.tasks if role not in task.recorded]
        return f"no answer of {role!r} is recorded for {_first_names(lacks)}" if lacks else ""
    if suite.is_foreign(provider_of(settings)) and provider_of(settings) not in suite.around.providers:
        return ""
    try:
        participant("", settings, suite.around)
    except ConfigError as error:
        return str(error)
    return ""


def _strategy_problems(setting: Setting) -> Iterator[Problem]:
    if setting.help is None:
        return
    try:
        strategies.check(setting.help)
    except ConfigError as error:
        yield strategies.problem_of(setting.help, setting.place, error)
    if setting.is_recorded and "max_retries" in setting.help.model_fields_set and setting.help.max_retries > 1:
        yield Problem(
            (*setting.place, "max_retries"), "must be 1 for a recorded model, which has one answer to each task"
        )


def _making_problems(setting: Setting, suite: Suite) -> Iterator[Problem]:
    """Yields problems that only building the setting shows, such as options of its strategy."""
    if any(map(suite.is_foreign, _names_in(setting))):
        return
    try:
        build_setting(setting, NO_TASK, ClientPool(suite.around))
    except ConfigError as error:
        if setting.help:
            yield strategies.problem_of(setting.help, setting.place, error)
        else:
            yield Problem((*setting.place, "model"), str(error))


def _names_in(setting: Setting) -> list[str]:
    """Returns the names of the strategy and the providers, any of which may be the user's code."""
    return [*([setting.help.strategy] if setting.help else []), *map(provider_of, setting.models)]


def _price_problems(suite: Suite) -> Iterator[Problem]:
    """Yields models without a price if dollars are limited."""
    if suite.benchmark.limits.cost_usd is None or suite.benchmark.limits.unpriced == "allow":
        return
    for name in sorted({str(model.name) for model in priced_models(suite) if model.price is None}):
        words = f"can't be kept: the price of {name} is unknown; add it: prices: {{{name}: {{input: 1, output: 2}}}}"
        words += ", or set 'unpriced: allow' next to it"
        yield Problem(("benchmark", "limits", "cost_usd"), words)


def priced_models(suite: Suite) -> Iterator[Model]:
    """Yields every model that a run calls and may have to pay for; recorded ones are not called."""
    for setting in suite.settings:
        yield from (participant("", settings, suite.around) for settings in setting.models if _is_called(settings))
    for loaded in _discussions(suite):
        yield from _speaking_models(loaded)
    for scorers in suite.scorers.values():
        yield from judges(scorers, suite.around)


def _speaking_models(discussion: LoadedDiscussion) -> Iterator[Model]:
    context = BuildContext.of(discussion)
    for name, spec in discussion.file.discussion.models.items():
        if spec.role != "user":
            yield participant(name, spec, context)


def _scorer_problems(suite: Suite, factory: ScorerFactory) -> Iterator[Problem]:
    for index, section in enumerate(suite.benchmark.datasets):
        name = name_of(section)
        path = ("benchmark", "datasets", index, "scorers") if section.scorers else ("benchmark", "scorers")
        if not suite.scorers[name]:
            known = ", ".join(plugins.names(SCORERS))
            yield Problem(path, f"is missing: how are the answers to {name} scored? There is {known}.")
            continue
        yield from _dataset_problems(suite, name, path, factory)


def _dataset_problems(suite: Suite, name: str, path: KeyPath, factory: ScorerFactory) -> Iterator[Problem]:
    scorers: list[tuple[str, Scorer]] = []
    for number, scorer in enumerate(suite.scorers[name]):
        if suite.is_foreign(scorer.name):
            return
        try:
            scorers.append((scorer.name, factory.scorer(scorer)))
        except ConfigError as error:
            yield Problem((*path, number), str(error))
    if len(scorers) == len(suite.scorers[name]):
        yield from _lacking_problems(suite, name, path, scorers)


def _lacking_problems(
    suite: Suite, name: str, path: KeyPath, scorers: Sequence[tuple[str, Scorer]]
) -> Iterator[Problem]:
    own = [task for task in suite.tasks if task.extra[DATASET_KEY] == name]
    found = [(task, lacks) for task in own if (lacks := lacking(scorers, task))]
    if found:
        first, what = found[0]
        places = [task.extra[PLACE_KEY] for task, lacks in found if lacks == what]
        rest = f"; {len(found) - len(places):,} more can't be scored either" if len(found) > len(places) else ""
        yield Problem(path, f"{what}, which is missing in {name}: {_first_names(places)}{rest}{_other_columns(first)}")


def _other_columns(task: Task) -> str:
    """Returns how to name the column of the reference, if a task without one has columns that nothing reads."""
    others = [key for key in task.extra if key not in OWN_KEYS] if not task.reference else []
    return f"; if it is the column {' or '.join(others)}, write fields: {{reference: {others[0]}}}" if others else ""


def _executor_problems(suite: Suite) -> Iterator[Problem]:
    if suite.is_foreign(suite.benchmark.executor):
        return
    try:
        plugins.factory(EXECUTORS, suite.benchmark.executor)
    except ConfigError as error:
        yield Problem(("benchmark", "executor"), str(error))


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return ", ".join(names[:LISTED_NAMES]) + more


async def require_models(suite: Suite) -> None:
    """Raises `ConfigError` with all models that don't exist. Providers without a list are trusted."""
    called: dict[str, list[Called]] = {}
    for path, settings in _written_models(suite):
        if _is_called(settings):
            name = parse(settings.type, suite.around.providers)
            called.setdefault(name.provider, []).append((path, name))
    found = await asyncio.gather(*(_missing_models(provider, models, suite) for provider, models in called.items()))
    if wrong := [problem for each in found for problem in each]:
        raise ConfigError("\n".join(map(suite.document.with_place, dict.fromkeys(wrong))))


def _is_called(settings: HelperSettings) -> bool:
    """Checks whether the provider can be asked: not for recorded answers, nor for code before it is trusted."""
    return not settings.type.startswith(RECORDED) and not is_code(provider_of(settings))


def _written_models(suite: Suite) -> Iterator[tuple[KeyPath, HelperSettings]]:
    for setting in suite.settings:
        yield from (((*setting.place, *steps), settings) for steps, settings in setting.placed_models)
    for scorers in suite.scorers.values():
        yield from ((("benchmark", "scorers"), judge_of(each)) for each in scorers if each.options.get("model"))


async def _missing_models(provider: str, called: Sequence[Called], suite: Suite) -> list[Problem]:
    try:
        names = await _model_names(provider, suite)
    except ProviderError as error:
        return [Problem(called[0][0], str(error))]
    absent = [(path, name.model) for path, name in called if names and not _is_there(name, names)]
    return [Problem(path, f"{provider} has no model {model!r}{near(model, names)}") for path, model in absent]


async def _model_names(provider: str, suite: Suite) -> list[str]:
    """Returns the names that a provider lists, or nothing if the list may be incomplete.

    Raises `ProviderError` for errors that calls will have too.
    """
    settings = dict(suite.around.providers.get(provider, {}))
    try:
        rows = await list_models(provider, **settings, environment=suite.around.environment)
    except ConfigError:
        return []
    except ProviderError as error:
        if _fails_calls_too(error):
            raise
        return []
    traits = provider_traits(provider)
    # A custom address may be another server, which may have more models than it lists.
    is_whole = traits.lists_all and (traits.local or "base_url" not in settings)
    return [row.name for row in rows] if is_whole else []


def _fails_calls_too(error: ProviderError) -> bool:
    """Checks whether calls will fail as well. Some keys may call models but not list them."""
    return isinstance(error, Unreachable) or (error.status == 401 and "scope" not in str(error))


def _is_there(name: ModelName, names: Sequence[str]) -> bool:
    """Checks whether a model is listed. A dated model also answers to its name without the date."""
    if provider_traits(name.provider).tags:
        return nearest_tag(name.model, names) is not None
    stem = name.model.removesuffix(LATEST_SUFFIX)
    return any(each.startswith(stem) or stem.startswith(each) for each in names)
