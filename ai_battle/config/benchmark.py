"""The schema of a benchmark suite: `benchmark`, and what stands beside it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from .collaboration import Help, Helper
from .discussion import Timeouts
from .providers import BaseDirectory, ContextWindows, Prices, Providers
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
)

Unscored = Literal["wrong", "exclude"]
"""What an answer counts that no scorer can read."""

MOST_AT_ONCE = 10_000


def _scorer(raw: Any) -> Any:
    """Returns a scorer in its long form: `numeric` is short for a name, and what stands beside the name are options."""
    if isinstance(raw, str):
        return {"name": raw}
    if not isinstance(raw, dict) or "options" in raw:
        return raw
    beside = {key: value for key, value in raw.items() if key != "name"}
    return {key: raw[key] for key in ("name",) if key in raw} | {"options": beside}


class ScorerSettings(Section):
    """How answers are scored; what stands beside the name are options of this scorer."""

    name: Name = Field(description="The scorer.", examples=["numeric", "exact", "python_tests"])
    options: FreeMapping = Field(default={}, description="What the scorer takes.")


AnyScorer = Annotated[ScorerSettings, ShortSpelling(_scorer, {"anyOf": [TEXT, {"type": "object"}]})]


class DatasetSettings(Section):
    """Tasks out of a file."""

    path: Name = Field(description="The file, relative to the suite.", examples=["tasks.jsonl"])
    format: Name = Field(
        default="auto", description="jsonl, gsm8k, humaneval, bfcl, csv, recorded; by default it is recognised."
    )
    name: str = Field(default="", description="What it is called in reports; by default the name of the file.")
    fields: FreeMapping = Field(
        default={}, description="Which column holds what.", examples=[{"prompt": "question", "reference": "answer"}]
    )
    limit: Positive | None = Field(default=None, description="How many tasks are drawn.", examples=[200])
    seed: Count | None = Field(default=None, description="Draws them at random, always the same ones; else the first.")
    scorers: Listed[AnyScorer] = Field(default=(), description="Scorers of these tasks, in place of those of all.")


class SettingSettings(Help):
    """One way of answering: a model, alone or helped, or a whole discussion."""

    name: Name = Field(description="What it is called in reports.", examples=["small", "rescue"])
    model: Helper | None = Field(
        default=None, description="The model that answers.", examples=["ollama-gemma3-1b", "recorded/small"]
    )
    recorded: str = Field(
        default="", description="Answers out of the dataset in place of a model: small, large.", examples=["small"]
    )
    discussion: str = Field(
        default="", description="A discussion file that answers: each task is its goal.", examples=["debate.yaml"]
    )
    system: str = Field(default="", description="A system prompt for all tasks, before that of the task.")
    grid: FreeMapping = Field(
        default={},
        description="Values that are multiplied out, by key.",
        examples=[{"threshold": [0.5, 0.6, 0.7], "max_retries": [1, 2]}],
    )


class SuiteLimits(Section):
    """What all samples together may use."""

    cost_usd: Amount | None = Field(default=None, description="Dollars.", examples=[5])
    seconds: Seconds | None = Field(default=None, description="Wall time.", examples=[3600])
    unpriced: Unpriced = "refuse"


class Benchmark(Section):
    """Settings that are compared on tasks."""

    datasets: Listed[DatasetSettings] = Field(description="Where the tasks come from.")
    scorers: Listed[AnyScorer] = Field(
        default=(), description="How answers are scored: the first that can read an answer. By default as the format."
    )
    unscored: Unscored = Field(
        default="wrong",
        description="What an answer counts that no scorer can read: as wrong, or not at all (exclude).",
    )
    settings: Listed[SettingSettings] = Field(description="What is compared.")
    repeats: Annotated[int, Field(ge=1, le=1000), AS_NUMBER] = Field(
        default=1, description="How often each setting answers each task."
    )
    concurrency: Annotated[int, Field(ge=1, le=MOST_AT_ONCE), AS_NUMBER] = Field(
        default=16, description="Samples at once, and the most calls at once to one provider."
    )
    limits: SuiteLimits = Field(default=SuiteLimits(), description="What a run may use.")
    timeouts: Timeouts = Field(default=Timeouts(), description="Deadlines and retries of each call.")
    cache: Flag = Field(
        default=True, description="Asks the same only once for all settings; without effect when there are repeats."
    )
    executor: Name = Field(default="local", description="Where samples run: local, or ray.")
    sandbox: Sandbox = Field(default="auto", description="The fence around code in answers.")


class BenchmarkFile(Section):
    """A benchmark, and how its models are reached."""

    benchmark: Benchmark = Field(description="What is compared on what.")
    providers: Providers = Field(default={})
    prices: Prices = Field(default={})
    context_windows: ContextWindows = Field(default={})
    base_directory: BaseDirectory = ""
