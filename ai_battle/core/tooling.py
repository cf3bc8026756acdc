"""The events around tools: which are offered, and which calls may run."""

from dataclasses import dataclass
from typing import Literal

from .exchange import ToolSpec
from .messages import ToolCall

By = Literal["policy", "person", "no terminal"]


@dataclass(frozen=True, slots=True)
class ToolsOffered:
    """The tools that a model is offered from here on; `speaker` is filled in by whoever runs the discussion."""

    tools: tuple[ToolSpec, ...]
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class ToolDecided:
    """Whether a call may run, and `by` whom that was decided: the file, a person, or because nobody could be asked.

    `call` is what would run, defaults filled in; `reason` is what the person said, `speaker` is filled in by whoever
    runs the discussion.
    """

    call: ToolCall
    decision: Literal["allowed", "denied"]
    by: By
    reason: str = ""
    speaker: str = ""
