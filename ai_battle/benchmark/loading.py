"""Loads a suite with its tasks and checks it before any money is spent."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..assembly import strategies
from ..assembly.models import BuildContext
from ..config.benchmark import BenchmarkFile, DatasetSettings, ScorerSettings
from ..config.documents import FileKind, Source, read_document
from ..config.problems import Problem
from ..config.rewriting import rename_keys_below
from ..core import plugins
from ..core.errors import ConfigError
from ..providers._calls import RetryPolicy
from . import checking
from .datasets import DATASETS, PLACE_KEY, Dataset
from .datasets._reading import first_object
from .scorers import SCORERS
from .suite import (
    DATASET_KEY,
    SCORER_KEY,
    Setting,
    SettingError,
    Suite,
    SuiteFile,
    expand_settings,
    is_code,
    name_of,
)
from .tasks import Task

SUITE = FileKind(
    "benchmark",
    SuiteFile,
    BenchmarkFile,
    lambda tree, variables: (rename_keys_below(tree, ("benchmark", "settings"), "primary", "model"), ()),
)


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a suite is loaded: overrides, the most tasks per dataset, tasks that are already known.

    With `trust`, the suite may name code that reads a dataset.
    """

    changes: Sequence[str] = ()
    limit: int | None = None
    tasks: tuple[Task, ...] | None = None
    allow_unsandboxed: bool = False
    trust: bool = False


def load(
    source: Source,
    options: LoadOptions = LoadOptions(),
    environment: Mapping[str, str] | None = None,
    base: Path | None = None,
) -> Suite:
    """Loads a suite from a path, a packaged name or a dictionary. Raises `ConfigError` with all problems."""
    found: list[Suite] = []

    def look(document: SuiteFile) -> Iterable[Problem]:
        builder = _SuiteBuilder(document, options)
        found.append(builder.suite())
        return builder.problems or checking.problems(found[0], allow_unsandboxed=options.allow_unsandboxed)

    read_document(SUITE, source, environment, options.changes, base, look)
    return found[0]


class _SuiteBuilder:
    """Builds the tasks and settings of a file and collects their problems."""

    def __init__(self, document: SuiteFile, options: LoadOptions) -> None:
        self._document = document
        self._section = document.file.benchmark
        self._options = options
        self._scorers: dict[str, tuple[ScorerSettings, ...]] = {}
        self.problems = [
            Problem(("benchmark", key), "is empty")
            for key in ("datasets", "settings")
            if not getattr(self._section, key)
        ]
        self._settings = self._all_settings()
        self._tasks = tuple(self._all_tasks())

    def suite(self) -> Suite:
        context = BuildContext.for_document(self._document, RetryPolicy.of(self._section.timeouts))
        return Suite(self._tasks, self._settings, self._scorers, context, self._document)

    def _all_settings(self) -> tuple[Setting, ...]:
        try:
            return tuple(map(self._with_file, expand_settings(self._section.settings)))
        except SettingError as wrong:
            self.problems.append(wrong.problem)
            return ()

    def _with_file(self, setting: Setting) -> Setting:
        help_ = setting.help and strategies.with_file(setting.help, self._document.base)
        return replace(setting, help=help_)

    def _all_tasks(self) -> Iterator[Task]:
        names: list[str] = []
        for index, section in enumerate(self._section.datasets):
            path, name = ("benchmark", "datasets", index, "path"), name_of(section)
            if name in names:
                self.problems.append(Problem(path, f"another dataset is also called {name!r}; give this one a name"))
            names.append(name)
            named = plugins.with_file(DATASETS, section.format, self._document.base)
            try:
                yield from self._tasks_of(section.model_copy(update={"format": named}), name)
            except ConfigError as error:
                self.problems.append(Problem(path, str(error)))

    def _tasks_of(self, section: DatasetSettings, name: str) -> Iterator[Task]:
        if self._options.tasks is not None:
            known = [task for task in self._options.tasks if task.extra[DATASET_KEY] == name]
            self._scorers[name] = self._scorers_of(section, next((task.extra[SCORER_KEY] for task in known), ""))
            yield from known
            return
        if is_code(section.format) and not self._options.trust:
            raise ConfigError(
                f"{section.format} is code that would be run. If you trust it, run the suite with --trust"
            )
        found = dataset(section, self._document.base)
        self._scorers[name] = self._scorers_of(section, found.scorer)
        for task in tasks_of(section, self._document.base, found)[: self._options.limit]:
            yield replace(task, id=f"{name}/{task.id}") if len(self._section.datasets) > 1 else task

    def _scorers_of(self, section: DatasetSettings, usual: str) -> tuple[ScorerSettings, ...]:
        stated = section.scorers or self._section.scorers or ((ScorerSettings(name=usual),) if usual else ())
        names = [plugins.with_file(SCORERS, each.name, self._document.base) for each in stated]
        return tuple(each.model_copy(update={"name": name}) for each, name in zip(stated, names, strict=True))


def dataset(settings: DatasetSettings, base: Path) -> Dataset:
    """Returns the dataset reader for the stated or detected format. Raises `ConfigError`."""
    name = settings.format if settings.format != "auto" else format_of(path_of(settings, base))
    options = {"fields": settings.fields} if settings.fields else {}
    made: Dataset = plugins.create(DATASETS, name, **options)
    return made


def format_of(path: Path) -> str:
    """Detects the format of a file by its suffix or its first row. Raises `ConfigError`."""
    _require(path)
    formats = {name: plugins.create(DATASETS, name) for name in plugins.names(DATASETS)}
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if by_suffix := [name for name, each in formats.items() if suffix in each.suffixes]:
        return by_suffix[0]
    row = first_object(path) or {}
    fitting = [name for name, each in formats.items() if row.keys() >= {*each.marks} and each.fits(row)]
    return max(fitting, key=lambda name: len(formats[name].marks))


def tasks_of(settings: DatasetSettings, base: Path, found: Dataset) -> list[Task]:
    """Returns the drawn tasks in the order of the file. Raises `ConfigError` for an invalid row."""
    path = path_of(settings, base)
    _require(path)
    tasks = list(_placed_tasks(settings, found, path))
    if not tasks:
        raise ConfigError(f"{path.name} holds no tasks")
    return _subset(tasks, settings)


def path_of(settings: DatasetSettings, base: Path) -> Path:
    return base / Path(settings.path).expanduser()


def _placed_tasks(settings: DatasetSettings, found: Dataset, path: Path) -> Iterator[Task]:
    """Yields the tasks with their dataset. Raises `ConfigError` for a duplicate id."""
    seen: dict[str, str] = {}
    about = {DATASET_KEY: name_of(settings), SCORER_KEY: found.scorer}
    for number, task in enumerate(found.read(path), 1):
        place = task.extra.get(PLACE_KEY, f"{path.name}, task {number}")
        if task.id in seen:
            raise ConfigError(
                f"{place}: the id {task.id!r} is already that of {seen[task.id]}; without ids, tasks have their lines"
            )
        seen[task.id] = place
        yield replace(task, extra={**task.extra, **about, PLACE_KEY: place})


def _subset(tasks: list[Task], settings: DatasetSettings) -> list[Task]:
    """Returns the first tasks, or random ones with a seed; a larger limit includes those of a smaller one."""
    if settings.limit is None or settings.limit >= len(tasks):
        return tasks
    if settings.seed is None:
        return tasks[: settings.limit]
    places = [*range(len(tasks))]
    random.Random(settings.seed).shuffle(places)  # noqa: S311 - a sample, not a secret
    return [tasks[place] for place in sorted(places[: settings.limit])]


def _require(path: Path) -> None:
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
