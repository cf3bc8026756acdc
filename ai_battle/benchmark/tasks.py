"""A task: the prompt for a model, and what its answer is checked against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.exchange import ToolSpec


@dataclass(frozen=True, slots=True)
class Recording:
    """An answer that a model gave earlier; `correct` is None if it was never rated."""

    text: str
    correct: float | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A task. `reference` is the right answer as text or JSON, `tests` a Python program that tests the answer.

    `options` are the texts of lettered options. A task with a `goal` is a whole discussion: a mapping of settings that
    override those of its file. `recorded` has answers by the role of their model: "small", "large".
    """

    id: str
    prompt: str
    reference: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tests: str = ""
    options: tuple[str, ...] = ()
    system: str = ""
    goal: Mapping[str, Any] | None = None
    recorded: Mapping[str, Recording] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
