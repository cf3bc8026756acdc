"""The schema of a benchmark suite."""

from typing import Annotated, Any, Literal

from pydantic import Field

from .collaboration import Help, Helper
from .discussion import Timeouts
from .participants import BaseDirectory, ModelFile
from .tools import Sandbox
from .values import (
    AS_NUMBER,
    TEXT,
    Amount,
    Count,
    Flag,
    FreeMapping,
    Listed,
    Name,
    Positive,
    Seconds,
    Section,
    ShortSpelling,
    Unpriced,
    short_for,
)

Unscored = Literal["wrong", "exclude"]
"""How an answer counts that no scorer can read."""

MOST_AT_ONCE = 10_000


def _scorer(raw: Any) -> Any:
    """Expands a scorer: `numeric` is short for a name, and keys next to the name are options."""
    if isinstance(raw, str):
        return {"name": raw}
    if not isinstance(raw, dict) or "options" in raw:
        return raw
    beside = {key: value for key, value in raw.items() if key != "name"}
    return {key: raw[key] for key in ("name",) if key in raw} | {"options": beside}


class ScorerSettings(Section):
    """How answers are scored. Keys next to the name are options of the scorer."""

    name: Name = Field(description="The scorer.", examples=["numeric", "exact", "python_tests"])
    options: FreeMapping = Field(default={}, description="Options of the scorer.")


AnyScorer = Annotated[ScorerSettings, ShortSpelling(_scorer, {"anyOf": [TEXT, {"type": "object"}]})]


class DatasetSettings(Section):
    """Tasks from a file."""

    path: Name = Field(description="The file, relative to the suite.", examples=["tasks.jsonl"])
    format: Name = Field(
        default="auto", description="jsonl, gsm8k, humaneval, bfcl, csv or recorded; detected by default."
    )
    name: str = Field(default="", description="Its name in reports; by default the name of the file.")
    fields: FreeMapping = Field(
        default={},
        description="The columns of prompt, reference and so on.",
        examples=[{"prompt": "question", "reference": "answer"}],
    )
    limit: Positive | None = Field(default=None, description="How many tasks are drawn.", examples=[200])
    seed: Count | None = Field(
        default=None, description="Seed to draw them at random; without it, the first ones are taken."
    )
    scorers: Listed[AnyScorer] = Field(default=(), description="Scorers for these tasks, instead of the suite's.")


AnyDataset = Annotated[DatasetSettings, short_for("path")]


class SettingSettings(Help):
    """One way of answering: a model, alone or helped, or a whole discussion."""

    name: Name = Field(description="Its name in reports.", examples=["small", "rescue"])
    model: Helper | None = Field(
        default=None, description="The model that answers.", examples=["ollama-gemma3-1b", "recorded/small"]
    )
    recorded: str = Field(
        default="",
        description="Takes recorded answers of the dataset instead of a model's: small, large.",
        examples=["small"],
    )
    discussion: str = Field(
        default="", description="A discussion file that answers; its goal is the task.", examples=["debate.yaml"]
    )
    system: str = Field(default="", description="A system prompt for all tasks, put before the task's own.")
    grid: FreeMapping = Field(
        default={},
        description="Values by key; each combination becomes a setting.",
        examples=[{"threshold": [0.5, 0.6, 0.7], "max_retries": [1, 2]}],
    )


class SuiteLimits(Section):
    """What all samples together may use."""

    cost_usd: Amount | None = Field(default=None, description="Dollars.", examples=[5])
    seconds: Seconds | None = Field(default=None, description="Wall time.", examples=[3600])
    unpriced: Unpriced = "refuse"


class Benchmark(Section):
    """Settings to compare on tasks."""

    datasets: Listed[AnyDataset] = Field(description="Where the tasks come from.")
    scorers: Listed[AnyScorer] = Field(
        default=(),
        description="How answers are scored: by the first that can read the answer. By default, the format decides.",
    )
    unscored: Unscored = Field(
        default="wrong",
        description="How an answer counts that no scorer can read: as wrong, or not at all (exclude).",
    )
    settings: Listed[SettingSettings] = Field(description="The settings to compare.")
    repeats: Annotated[int, Field(ge=1, le=1000), AS_NUMBER] = Field(
        default=1, description="How often each setting answers each task."
    )
    concurrency: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), AS_NUMBER] = Field(
        default=16, description="Samples at once, and the most calls at once to one provider."
    )
    limits: SuiteLimits = Field(default=SuiteLimits(), description="Limits of a run.")
    timeouts: Timeouts = Field(default=Timeouts(), description="Deadlines and retries of each call.")
    cache: Flag = Field(
        default=True, description="Asks identical requests once for all settings; no effect with repeats."
    )
    executor: Name = Field(default="local", description="Where samples run: local, or ray.")
    sandbox: Sandbox = Field(default="auto", description="The sandbox for code in answers.")


class BenchmarkFile(ModelFile):
    """A benchmark, and how its models are reached."""

    benchmark: Benchmark = Field(description="The comparison.")
    base_directory: BaseDirectory = ""
