"""From a suite to its results: begins them or goes on with them."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..core import plugins
from ..core.errors import ConfigError, NoSuchRecord
from ..core.files import write_private
from ..core.texts import each_text
from .executors import EXECUTORS
from .forecast import forecast
from .loading import LoadOptions, frozen, load
from .playing import Discuss, SampleContext
from .runner import BenchmarkProgress, BenchmarkRunner, RunOutcome
from .scoring import ScorerFactory
from .settings import Setting
from .store import Store
from .suite import Suite

SUITE_FILE = "suite.yaml"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a suite is run: who hears of its progress, what runs discussions, and whether failures are repeated."""

    hear: Callable[[BenchmarkProgress], None] = lambda progress: None
    discuss: Discuss | None = None
    again: bool = False
    allow_unsandboxed: bool = False


DEFAULT_RUN = RunOptions()


def begin(suite: Suite, folder: Path) -> Store:
    """New results, with all that is needed to go on with them, the suite last; raises `JournalError`."""
    hide = suite.document.expansion.hide
    settings = {setting.name: each_text(setting_document(setting), hide) for setting in suite.settings}
    with ExitStack() as undoing:
        store = undoing.enter_context(closing(Store.create(folder)))
        store.begin(suite.tasks, settings)
        store.set_fact("name", suite.name)
        store.set_fact("repeats", suite.benchmark.repeats)
        store.set_fact("unscored", suite.benchmark.unscored)
        store.set_fact("forecast", asdict(forecast(suite)))
        write_private(folder / SUITE_FILE, [suite.document.as_yaml()])
        undoing.pop_all()
    return store


def reopen(folder: Path, wishes: LoadOptions) -> tuple[Suite, Store]:
    """The suite of results as it was begun, and the results to go on with; raises `ConfigError`, `JournalError`."""
    with ExitStack() as undoing:
        store = undoing.enter_context(closing(Store.open(folder, to_write=True)))
        if not (folder / SUITE_FILE).is_file():
            raise NoSuchRecord(f"{folder} was not begun: it has no {SUITE_FILE}. Remove it, and run the suite again.")
        suite = load(str(folder / SUITE_FILE), replace(wishes, tasks=tuple(store.tasks())))
        if [setting.name for setting in suite.settings] != [*store.settings()]:
            raise ConfigError(f"{folder / SUITE_FILE} has other settings than the results; run it as a new benchmark.")
        undoing.pop_all()
    return suite, store


def run(suite: Suite, store: Store, terms: RunOptions = DEFAULT_RUN) -> RunOutcome:
    """Plays what is lacking; the store stays open."""
    with frozen():
        return asyncio.run(play(suite, store, terms))


async def play(suite: Suite, store: Store, terms: RunOptions = DEFAULT_RUN) -> RunOutcome:
    kit = _sample_context(suite, terms)
    keeper = store if suite.benchmark.cache and suite.benchmark.repeats == 1 and _asked_twice(suite) else None
    executor = plugins.create(EXECUTORS, suite.benchmark.executor, kit, keeper)
    runner = BenchmarkRunner(suite, store, executor, _expected_costs(suite), terms.hear)
    try:
        return await runner.run(again=terms.again)
    finally:
        await executor.aclose()


def _expected_costs(suite: Suite) -> Mapping[str, float]:
    """What a sample of each setting may cost, by forecast, where that is limited."""
    expected = forecast(suite).settings if suite.benchmark.limits.cost_usd is not None else ()
    return {each.setting: each.high or 0.0 for each in expected}


def setting_document(setting: Setting) -> Mapping[str, Any]:
    """What a setting is made of, as the suite says it after multiplying out; models by their types."""
    return {key: _by_type(value) for key, value in (setting.written or {}).items()}


def _by_type(value: Any) -> Any:
    if isinstance(value, list):
        return [_by_type(each) for each in value]
    return value["type"] if isinstance(value, dict) and "type" in value else value


def _sample_context(suite: Suite, terms: RunOptions) -> SampleContext:
    return SampleContext(
        {setting.name: setting for setting in suite.settings},
        suite.scorers,
        suite.around,
        ScorerFactory(suite.around, suite.benchmark.sandbox, terms.allow_unsandboxed),
        suite.benchmark.concurrency,
        terms.discuss,
        str(suite.document.base),
    )


def _asked_twice(suite: Suite) -> bool:
    """Whether two settings have a model in common: only then the cache has something to find."""
    models = [{model.type for model in setting.models} for setting in suite.settings]
    return sum(map(len, models)) > len(set().union(*models))
