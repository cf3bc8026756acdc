"""A task: the prompt for a model, and what its answer is checked against."""

import json
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

    @property
    def right_answers(self) -> tuple[str, ...]:
        """The right answers: each text or number in a reference that is a list of them, else the reference."""
        try:
            value = json.loads(self.reference) if self.reference.lstrip().startswith("[") else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, list) or not value or not all(isinstance(each, str | int | float) for each in value):
            return (self.reference,)
        return tuple(each if isinstance(each, str) else json.dumps(each) for each in value)
