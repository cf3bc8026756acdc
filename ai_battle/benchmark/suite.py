"""A suite: tasks, settings and scorers. Settings are ways of answering: expanded from grids, named by what differs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..assembly import strategies
from ..assembly.models import BuildContext
from ..config.benchmark import Benchmark, BenchmarkFile, DatasetSettings, ScorerSettings, SettingSettings
from ..config.collaboration import Help, HelperSettings
from ..config.documents import ConfigDocument, find_nothing
from ..config.loading import Check, LoadedDiscussion, load
from ..config.messages import problems_of
from ..config.problems import KeyPath, Problem
from ..config.tree import Node, from_python
from ..core import plugins
from ..core.errors import ConfigError
from ..core.plugins import near
from .tasks import Task

RECORDED = "recorded/"
"""The prefix of a model type whose answers the dataset has: `recorded/small`."""

RETRYING = {"stuck_detector", "max_retries"}
"""The parameters of strategies that try again."""

MAX_SETTINGS = 10_000
PLACE: KeyPath = ("benchmark", "settings")
_OWN_KEYS = ("name", "model", "recorded", "discussion", "system", "grid")
_FIXED = ("name", "grid")


@dataclass(frozen=True, slots=True)
class Setting:
    """A way of answering, at `place` in the suite. `model` is None for a discussion, `help` for a model alone.

    `described` is what the suite writes of it, expanded, with models as their types.
    """

    name: str
    model: HelperSettings | None
    help: Help | None = None
    discussion: str = ""
    system: str = ""
    place: KeyPath = ()
    described: Mapping[str, Any] = field(default_factory=dict)

    @property
    def placed_models(self) -> Iterator[tuple[KeyPath, HelperSettings]]:
        """The model and all its helpers, with their paths in the setting."""
        if self.model:
            yield ("model",), self.model
        if self.help:
            yield from strategies.helpers_of(self.help)

    @property
    def models(self) -> tuple[HelperSettings, ...]:
        return tuple(settings for _, settings in self.placed_models)

    @property
    def is_recorded(self) -> bool:
        return bool(self.model and self.model.type.startswith(RECORDED))


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


def is_code(name: str) -> bool:
    """Checks for the dotted name of a module or a Python file, which is imported only if trusted."""
    return name.endswith(".py") or ("." in name and all(map(str.isidentifier, name.split("."))))


def name_of(settings: DatasetSettings) -> str:
    return settings.name or Path(settings.path).name.partition(".")[0]


def load_discussion(setting: Setting, around: BuildContext, tree: Node, also: Check = find_nothing) -> LoadedDiscussion:
    """Returns a setting's discussion with the prices of the suite's `tree`: a model has one price in a comparison.

    Raises `ConfigError`.
    """
    loaded = load(str(around.base / setting.discussion), around.environment)
    return loaded.with_sections_of(tree, also)


class SettingError(ConfigError):
    """An invalid setting; `problem` has its place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def expand_settings(sections: Sequence[SettingSettings]) -> Iterator[Setting]:
    """Yields all settings, those of a grid in the order of its keys. Raises `SettingError`."""
    seen: dict[str, KeyPath] = {}
    for index, settings in enumerate(sections):
        for setting in islice(_settings_of(settings, (*PLACE, index)), MAX_SETTINGS + 1):
            if setting.name in seen:
                raise SettingError(
                    Problem((*PLACE, index, "name"), f"{setting.name!r} is already the name of another setting")
                )
            seen[setting.name] = setting.place
            yield setting
            if len(seen) > MAX_SETTINGS:
                raise SettingError(Problem((*PLACE, index, "grid"), f"makes more than {MAX_SETTINGS:,} settings"))


def _settings_of(section: SettingSettings, place: KeyPath) -> Iterator[Setting]:
    if not section.grid:
        yield _setting(section, section.name, place)
        return
    for key in section.grid:
        _check_key(key, (*place, "grid", key))
    values = [value if isinstance(value, list) else [value] for value in section.grid.values()]
    for combination in product(*values):
        chosen = dict(zip(section.grid, combination, strict=True))
        name = " ".join((section.name, *(f"{key}={_short_value(value)}" for key, value in chosen.items())))
        yield _setting(_settings_with(section, chosen, place), name, place)


def _check_key(key: str, path: KeyPath) -> None:
    known = [name for name in SettingSettings.model_fields if name not in _FIXED]
    if key not in known:
        raise SettingError(Problem(path, f"is not a key of a setting{near(key, known)}", key=True))


def _short_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("type", "{...}"))
    return "+".join(map(_short_value, value)) if isinstance(value, list) else str(value)


def _settings_with(section: SettingSettings, chosen: Mapping[str, Any], place: KeyPath) -> SettingSettings:
    kept = {key: getattr(section, key) for key in section.model_fields_set if key != "grid"}
    try:
        return SettingSettings.model_validate({**kept, **chosen})
    except ValidationError as error:
        wrong = problems_of(error, SettingSettings, from_python(chosen))[0]
        raise SettingError(Problem((*place, "grid", *wrong.path[:1]), wrong.message)) from None


def _setting(section: SettingSettings, name: str, place: KeyPath) -> Setting:
    model = section.model
    if section.recorded:
        model = HelperSettings(type=f"{RECORDED}{section.recorded}")
    given = {key: getattr(section, key) for key in sorted(section.model_fields_set) if key not in _OWN_KEYS}
    help_ = Help.model_validate(_without_retries(given, model)) if given else None
    written = section.model_dump(mode="json", exclude_unset=True, exclude={"grid", "name"})
    described = {key: _by_type(value) for key, value in written.items()}
    return Setting(name, model, help_, section.discussion, section.system, place, described)


def _without_retries(given: Mapping[str, Any], model: HelperSettings | None) -> Mapping[str, Any]:
    """Disables the retries of a recorded model, which has one answer to each task, unless its strategy has none."""
    strategy = given.get("strategy", Help.model_fields["strategy"].default)
    is_recorded = model is not None and model.type.startswith(RECORDED)
    if not is_recorded or "max_retries" in given or not _takes_retries(strategy):
        return given
    return {**given, "max_retries": 1}


def _takes_retries(strategy: str) -> bool:
    """Checks whether a strategy tries again. Code of the user's is not imported yet, and may."""
    is_ours = not is_code(strategy) and plugins.is_there(strategies.STRATEGIES, strategy)
    return not is_ours or not RETRYING.isdisjoint(strategies.parameters(strategies.factory(strategy)))


def _by_type(value: Any) -> Any:
    """Writes models as their types."""
    if isinstance(value, list):
        return [_by_type(each) for each in value]
    return value["type"] if isinstance(value, dict) and "type" in value else value
