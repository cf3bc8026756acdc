"""A suite: the tasks, settings and scorers of a benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..assembly.models import BuildContext
from ..config.benchmark import Benchmark, BenchmarkFile, ScorerSettings
from ..config.documents import Document
from .settings import Setting
from .tasks import Task


@dataclass(frozen=True, slots=True)
class SuiteFile(Document[BenchmarkFile]):
    """A suite as it is written."""


@dataclass(frozen=True, slots=True)
class Suite:
    """`scorers` are those of each dataset, by its name."""

    tasks: tuple[Task, ...]
    settings: tuple[Setting, ...]
    scorers: Mapping[str, tuple[ScorerSettings, ...]]
    around: BuildContext = field(repr=False)
    document: SuiteFile = field(repr=False)

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def said(self) -> Benchmark:
        return self.document.file.benchmark

    @property
    def samples(self) -> int:
        return len(self.tasks) * len(self.settings) * self.said.repeats
