"""The events of tools: which are offered, which calls may run, and what they returned; and a person's answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .exchange import ToolSpec
from .messages import ToolCall, ToolResult

By = Literal["policy", "person", "no terminal"]
ProposalKind = Literal["question", "offer", "example", "condition", "refusal", "unsure"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to a call. `for_good`: for this tool until the run ends; the model is told the `reason`."""

    allowed: bool
    for_good: bool = False
    reason: str = ""


Ask: TypeAlias = Callable[[ToolCall, str], Awaitable[Answer | bool | None]]
"""Asks a person about a participant's call; returns None if nobody could answer."""


@dataclass(frozen=True, slots=True)
class ToolsOffered:
    """The tools that a model is offered from here on; `speaker` is filled in by the discussion."""

    tools: tuple[ToolSpec, ...]
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class ToolProposed:
    """An answer contains a call that was not run, because it is a question, an offer, a refusal, ... (`kind`).

    `unsure` is a call that writes but has no marker, or text after it. `speaker` is filled in by the discussion.
    """

    call: ToolCall
    kind: ProposalKind
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class ToolDecided:
    """A call was allowed or denied, by the policy or by a person, or it was denied for lack of a terminal.

    `call` is what would run, defaults included; `reason` is the person's; `speaker` is filled in by the discussion.
    """

    call: ToolCall
    decision: Literal["allowed", "denied"]
    by: By
    reason: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolReturned:
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True)
class LoopStopped:
    """No more tools are called for this answer, for `reason`; the next answer is made without tools.

    `in_circles`: the calls made no progress; otherwise a limit is reached.
    """

    reason: str
    in_circles: bool = False


@dataclass(frozen=True, slots=True)
class FabricationSuspected:
    """An answer claims a tool's result, as in `claim`, though no tool was called for it."""

    claim: str
