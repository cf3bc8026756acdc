"""Asks providers for the models of a suite before any money is spent: one that is not there would fail each time."""

import asyncio
from collections.abc import Iterator, Sequence

from .. import providers
from ..config import Problem
from ..config.collaboration import HelperSettings
from ..config.problems import KeyPath
from ..core.errors import ConfigError, ProviderError, Unreachable
from ..core.plugins import near
from ..providers._endpoints import provider_traits
from ..providers._names import ModelName, nearest_tag, parse
from .checking import models_of, provider_of
from .scoring import judge_of
from .settings import RECORDED
from .suite import Suite, is_code

LATEST = "-latest"
Called = tuple[KeyPath, ModelName]


async def require_models(suite: Suite) -> None:
    """Raises `ConfigError` with all that are not there. A provider that has no list is believed."""
    called: dict[str, list[Called]] = {}
    for path, name in _called_models(suite):
        called.setdefault(name.provider, []).append((path, name))
    found = await asyncio.gather(*(_missing(provider, models, suite) for provider, models in called.items()))
    if problems := [problem for each in found for problem in each]:
        raise ConfigError("\n".join(map(suite.document.with_place, dict.fromkeys(problems))))


def _called_models(suite: Suite) -> Iterator[Called]:
    for path, settings in _written_models(suite):
        if not settings.type.startswith(RECORDED) and not is_code(provider_of(settings)):
            yield path, parse(settings.type, suite.around.providers)


def _written_models(suite: Suite) -> Iterator[tuple[KeyPath, HelperSettings]]:
    for setting in suite.settings:
        yield from (((*setting.place, *steps), settings) for steps, settings in models_of(setting))
    for scorers in suite.scorers.values():
        yield from ((("benchmark", "scorers"), judge_of(each)) for each in scorers if each.options.get("model"))


async def _missing(provider: str, called: Sequence[Called], suite: Suite) -> list[Problem]:
    try:
        names = await _model_names(provider, suite)
    except ProviderError as error:
        return [Problem(called[0][0], str(error))]
    absent = [(path, name.model) for path, name in called if names and not _is_there(name, names)]
    return [Problem(path, f"{provider} has no model {model!r}{near(model, names)}") for path, model in absent]


async def _model_names(provider: str, suite: Suite) -> list[str]:
    """Nothing where a list may not be whole; raises `ProviderError` for what calls will fail of, too."""
    settings = dict(suite.around.providers.get(provider, {}))
    try:
        rows = await providers.list_models(provider, **settings, environment=suite.around.environment)
    except ConfigError:
        return []
    except ProviderError as error:
        if _fails_calls_too(error):
            raise
        return []
    traits = provider_traits(provider)
    # What stands behind an address of the suite's own may be another server, with more than it lists.
    is_whole = traits.lists_all and (traits.local or "base_url" not in settings)
    return [row.name for row in rows] if is_whole else []


def _fails_calls_too(error: ProviderError) -> bool:
    """Not of a key that may ask models and may not list them."""
    return isinstance(error, Unreachable) or (error.status == 401 and "scope" not in str(error))


def _is_there(name: ModelName, names: Sequence[str]) -> bool:
    """Dated ones answer to their name without the date, too."""
    if provider_traits(name.provider).tags:
        return nearest_tag(name.model, names) is not None
    stem = name.model.removesuffix(LATEST)
    return any(each.startswith(stem) or stem.startswith(each) for each in names)
