"""The summary of a benchmark: plain values, which the terminal, summary.json, the CSV and the report show."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..config.benchmark import Unscored
from .cascade import BySignal, HelpOrder
from .paired import ComparedPair
from .setting_results import Axis
from .sweep import SweepResult

VERSION = 1


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting. What has `_low` and `_high` beside it has a 95 % interval; None is what is not known.

    All figures are over the `n` tasks that the compared settings share; `is_apart` says that this setting has too few
    scores to be compared, and that its figures are over its own tasks. `samples` counts all that was played,
    `unscored` the answers that no scorer could read, `failed` what neither the setting nor its answer is to blame for.
    `effort` is the mean of what the costs are compared by. `dominated` names a setting that is no worse and no dearer,
    and in one of both shown to be better.
    """

    name: str
    model: str
    strategy: str
    helpers: tuple[str, ...]
    samples: int
    n: int
    unscored: int
    failed: int
    quality: float | None = None
    low: float | None = None
    high: float | None = None
    cost_usd: float | None = None
    cost_per_task: float | None = None
    estimated: bool = False
    cost_low: float | None = None
    cost_high: float | None = None
    quality_per_dollar: float | None = None
    effort: float | None = None
    seconds_p50: float | None = None
    seconds_p50_low: float | None = None
    seconds_p50_high: float | None = None
    seconds_p95: float | None = None
    seconds_p95_low: float | None = None
    seconds_p95_high: float | None = None
    asked: int = 0
    declined: int = 0
    help_usd: float | None = None
    before: float | None = None
    after: float | None = None
    help_rate: float | None = None
    help_rate_low: float | None = None
    help_rate_high: float | None = None
    rescued: float | None = None
    spoilt: float | None = None
    usd_per_rescued: float | None = None
    drafts_wasted: int = 0
    wasted_usd: float | None = None
    apgr: float | None = None
    apgr_low: float | None = None
    apgr_high: float | None = None
    cpt50: float | None = None
    cpt80: float | None = None
    order: HelpOrder | None = None
    dominated: str = ""
    is_apart: bool = False
    errors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bin:
    """First answers whose quality the detector puts between `low` and `high`: what it said, and how many were right."""

    low: float
    high: float
    n: int
    said: float
    right: float
    right_low: float
    right_high: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Counts the samples of each setting that took between `edges[n]` and `edges[n + 1]` seconds."""

    edges: tuple[float, ...] = ()
    counts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """A task: the mean score of each setting, and the share of its samples that got help; None where there is none."""

    task: str
    dataset: str
    scores: Mapping[str, float | None]
    helped: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BenchmarkSummary:
    """`smallest` is the smallest difference that this many tasks show in 4 of 5 benchmarks, at the median pair.

    `compared` counts the tasks that all compared settings have a score for, `unscored` says what an answer counts that
    no scorer could read.
    """

    name: str
    tasks: int
    compared: int
    unscored: Unscored
    repeats: int
    axis: Axis
    settings: tuple[SettingRow, ...]
    pairs: tuple[ComparedPair, ...] = ()
    smallest: float | None = None
    calibration: tuple[Bin, ...] = ()
    calibration_error: float | None = None
    by_signal: Mapping[str, tuple[BySignal, ...]] = field(default_factory=dict)
    sweep: tuple[SweepResult, ...] = ()
    sweep_of: str = ""
    latency: Latency = Latency()
    items: tuple[Item, ...] = ()
    forecast: Mapping[str, Any] | None = None
    spent_usd: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def front(self) -> tuple[SettingRow, ...]:
        """Settings that no other beats, the cheapest first."""
        kept = [row for row in self.settings if not row.dominated and not row.is_apart and row.quality is not None]
        return tuple(sorted(kept, key=lambda row: row.effort or 0.0))

    @property
    def apart(self) -> tuple[SettingRow, ...]:
        """Settings that have too few scores to be compared."""
        return tuple(row for row in self.settings if row.is_apart)

    def as_json(self) -> dict[str, Any]:
        """Returns what summary.json holds."""
        data = {"version": VERSION, **asdict(self)}
        data["pairs"] = [{"a": each.a, "b": each.b, **each.as_json(), "said": each.sentence} for each in self.pairs]
        data["front"] = [row.name for row in self.front]
        data["sweep"] = [{**asdict(each), "policy": each.policy.name} for each in self.sweep]
        return data

    def text(self) -> str:
        return json.dumps(self.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
