"""Types of arguments that a shell can complete: configurations, runs and models."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ..conversation.runs import NEWEST, find_run, matching_runs, run_directories
from ..core.errors import ConfigError, ProviderError
from ..core.object_store import is_address
from .options import FOLDER, UNCLAIMED, Folder

MOST_RUNS = 200
COMPLETION_SECONDS = 2.0
"""The longest that a completion may take."""


class ConfigName(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.3
    """A YAML file, or the name of a packaged configuration."""

    name = "config"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from ..config.packaged import packaged_names

        return [*_beginning_with(incomplete, packaged_names()), CompletionItem(incomplete, type="file")]


class RunName(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.3
    """A run directory: a path, an address, a part of the name of one under `runs`, or `last`."""

    name = "run_dir"

    def __init__(self, folder: Folder = UNCLAIMED) -> None:
        self._folder = folder

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Returns the path of a run, even if it does not exist: the reader reports what is wrong there."""
        if is_address(value):
            found: Path = self._folder.convert(value, param, ctx)
            return found
        is_path = os.sep in str(value) or Path(value).exists()
        return Path(value) if is_path or not matching_runs(str(value)) else find_run(str(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        known = [run.name for run in run_directories()[:MOST_RUNS]]
        return [*_beginning_with(incomplete, [NEWEST, *known]), CompletionItem(incomplete, type="dir")]


class ModelType(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.3
    """A model type. After a provider and a slash it completes to the provider's models."""

    name = "type"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        provider, slash, _ = incomplete.partition("/")
        return _beginning_with(incomplete, _types_of(provider) if slash else _common_types())


def _common_types() -> Iterator[str]:
    from ..providers._endpoints import known_providers
    from ..providers._names import catalogue

    yield from (f"{provider}/" for provider in known_providers())
    yield from catalogue().vendors


def _types_of(provider: str) -> Iterable[str]:
    """Returns the models that a provider lists, or the well-known ones: a completion can't show why it lists none."""
    from ..providers._capabilities import list_models
    from ..providers._names import catalogue

    names: Iterable[str] = catalogue().names.get(provider, ())

    with suppress(ConfigError, ProviderError, TimeoutError):
        names = [model.name for model in asyncio.run(asyncio.wait_for(list_models(provider), COMPLETION_SECONDS))]
    return [f"{provider}/{name}" for name in names]


def _beginning_with(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


config = click.argument("config", type=ConfigName())
run_dir = click.argument("run_dir", type=RunName())
run_dir_to_write = click.argument("run_dir", type=RunName(FOLDER))
MODEL = ModelType()
describe_with = click.option(
    "--describe-with", type=MODEL, default="", help="The model that describes pictures to one that sees none."
)
