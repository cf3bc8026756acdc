"""A suite: tasks, settings and scorers of a benchmark."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..assembly.models import BuildContext
from ..config.benchmark import Benchmark, BenchmarkFile, DatasetSettings, ScorerSettings
from ..config.documents import ConfigDocument
from ..core import plugins
from ..core.errors import ConfigError
from .datasets import DATASETS, PLACE_KEY, Dataset
from .datasets._reading import first_object
from .settings import Setting
from .tasks import Task


@dataclass(frozen=True, slots=True)
class SuiteFile(ConfigDocument):
    """A suite as written."""

    file: BenchmarkFile = field(repr=False)


@dataclass(frozen=True, slots=True)
class Suite:
    """A loaded suite; `scorers` are by dataset."""

    tasks: tuple[Task, ...]
    settings: tuple[Setting, ...]
    scorers: Mapping[str, tuple[ScorerSettings, ...]]
    around: BuildContext = field(repr=False)
    document: SuiteFile = field(repr=False)
    is_trusted: bool = False

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def benchmark(self) -> Benchmark:
        return self.document.file.benchmark

    def is_foreign(self, name: str) -> bool:
        """Checks whether a name is code that must not be imported yet."""
        return is_code(name) and not self.is_trusted

    @property
    def samples(self) -> int:
        return len(self.tasks) * len(self.settings) * self.benchmark.repeats


DATASET_KEY, SCORER_KEY = "dataset", "scorer"
"""Keys of a task's `extra`: the name of its dataset, and the scorer that fits the format."""


def dataset(settings: DatasetSettings, base: Path) -> Dataset:
    """Returns the dataset reader for the stated or detected format. Raises `ConfigError`."""
    name = settings.format if settings.format != "auto" else format_of(path_of(settings, base))
    options = {"fields": settings.fields} if settings.fields else {}
    made: Dataset = plugins.create(DATASETS, name, **options)
    return made


def is_code(name: str) -> bool:
    """Checks for the dotted name of a module or a Python file, which is imported only if trusted."""
    return name.endswith(".py") or ("." in name and all(map(str.isidentifier, name.split("."))))


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


def name_of(settings: DatasetSettings) -> str:
    return settings.name or Path(settings.path).name.partition(".")[0]


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
