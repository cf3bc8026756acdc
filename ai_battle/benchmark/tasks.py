"""A task: what a model is asked, and what its answer is checked against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.exchange import ToolSpec


@dataclass(frozen=True, slots=True)
class Recording:
    """An answer that a model gave to a task at another time; `correct` is None where nobody has said."""

    text: str
    correct: float | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """`reference` is the right answer, as text or as JSON text; `tests` is a Python program that tries the answer.

    `options` are the texts of lettered options. A task with a `goal` is a whole discussion: a mapping of settings that
    go over those of its file. `recorded` are answers by the role of the model that gave them: "small", "large".
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
