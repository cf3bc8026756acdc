"""Tasks and samples as rows of a table, and back."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any

from ..core.exchange import NOTHING_USED, ToolSpec, Usage
from .sample import Sample, Score
from .tasks import Recording, Task

WIDTH = 20
NOTHING_MORE = "{}"
_OF_A_TASK = tuple(each.name for each in fields(Task))
_values = attrgetter(*_OF_A_TASK)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dumped(value: Any) -> str:
    return _ENCODER.encode(value)


def loaded(text: str) -> Any:
    return json.loads(text)


def of_task(task: Task) -> str:
    """Without what it has not."""
    said = {name: value for name, value in zip(_OF_A_TASK, _values(task), strict=True) if value}
    if task.tools:
        said["tools"] = [{"name": t.name, "description": t.description, "schema": t.schema} for t in task.tools]
    if task.recorded:
        said["recorded"] = {role: asdict(answer) for role, answer in task.recorded.items()}
    return dumped(said)


def to_task(text: str) -> Task:
    said = loaded(text)
    said["tools"] = tuple(ToolSpec(**tool) for tool in said.get("tools", ()))
    said["options"] = tuple(said.get("options", ()))
    said["recorded"] = {role: Recording(**answer) for role, answer in said.get("recorded", {}).items()}
    return Task(**{"prompt": "", **said})


def of_sample(sample: Sample) -> tuple[Any, ...]:
    usage = sample.usage
    return (
        *sample.key,
        sample.answer,
        sample.score.value,
        sample.score.why,
        usage.input_tokens,
        usage.output_tokens,
        usage.cost_usd,
        sample.seconds,
        sample.helped,
        sample.quality,
        sample.reason,
        sample.small_answer,
        sample.large_answer,
        sample.small_score,
        sample.large_score,
        sample.error,
        sample.spent_usd,
        dumped(more) if (more := _more(sample)) else NOTHING_MORE,
    )


def to_sample(row: tuple[Any, ...]) -> Sample:
    (setting, task, repeat, answer, score, why, read, written, cost, seconds, helped, quality, reason, small, large,
     small_score, large_score, error, spent, more) = row  # fmt: skip
    said = {} if more == NOTHING_MORE else loaded(more)
    cached, stored, thought = said.get("tokens", (0, 0, 0))
    return Sample(
        setting,
        task,
        repeat,
        answer,
        Score(score, why, scorer_failed="scorer_failed" in said),
        Usage(read, written, cached, stored, thought, cost, "estimated" in said),
        seconds,
        bool(helped),
        Usage(*said["wasted"]) if "wasted" in said else NOTHING_USED,
        quality,
        said.get("signals", {}),
        reason,
        small,
        large,
        error,
        small_score,
        large_score,
        spent,
    )


def _more(sample: Sample) -> Mapping[str, Any]:
    """What is mostly empty."""
    more: dict[str, Any] = {}
    usage = sample.usage
    if usage.cache_read_tokens or usage.cache_write_tokens or usage.reasoning_tokens:
        more["tokens"] = [usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens]
    if usage.estimated:
        more["estimated"] = True
    if sample.wasted is not NOTHING_USED and sample.wasted != NOTHING_USED:
        more["wasted"] = [getattr(sample.wasted, each.name) for each in fields(Usage)]
    if sample.score.scorer_failed:
        more["scorer_failed"] = True
    if sample.signals:
        more["signals"] = dict(sample.signals)
    return more
