"""Loads a suite and checks it before any money is spent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..assembly import strategies
from ..assembly.models import BuildContext
from ..config.benchmark import BenchmarkFile, DatasetSettings, ScorerSettings
from ..config.documents import FileKind, Source, YamlText, read_document
from ..config.packaged import packaged_suite, packaged_suites
from ..config.problems import Problem
from ..config.rewriting import rename_keys_below
from ..core import plugins
from ..core.errors import ConfigError
from ..core.plugins import near
from ..providers._calls import RetryPolicy
from . import checking
from .datasets import DATASETS
from .scorers import SCORERS
from .settings import Setting, SettingError, expand_settings
from .suite import DATASET_KEY, SCORER_KEY, Suite, SuiteFile, dataset, is_code, name_of, tasks_of
from .tasks import Task

SUITE = FileKind(
    "benchmark",
    SuiteFile,
    BenchmarkFile,
    lambda tree: (rename_keys_below(tree, ("benchmark", "settings"), "primary", "model"), ()),
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

    read_document(SUITE, _resolved_source(source), environment, options.changes, base, look)
    return found[0]


def _resolved_source(source: Source) -> Source:
    """Returns the file of a packaged suite, or the source itself. Raises `ConfigError` for an unknown name."""
    if isinstance(source, Mapping | YamlText) or Path(source).exists():
        return source
    if found := packaged_suite(str(source)):
        return found
    if Path(source).suffix or len(Path(source).parts) > 1:
        return source
    raise ConfigError(
        f"{source}: there is no such file, and no suite of this name{near(str(source), packaged_suites())}"
    )


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
