"""The events of tools: which are offered, which calls may run, and what they returned; and a person's answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
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
class HeldCall:
    """A participant of a parallel round calls a tool before its turn is heard; `result` is None until it returns.

    Its `ToolCalled` and `ToolReturned` follow with its turn. This one is for a resumed run, in case they never do.
    """

    speaker: str
    call: ToolCall
    result: ToolResult | None = field(default=None, metadata={"sparse": True})


UNKNOWN_OUTCOME = (
    "The outcome is unknown: this call was interrupted while it was running. It may have taken effect, so it is "
    "not run again now. Find out what happened with a tool that only reads, or say that the outcome is unknown."
)
"""What a model is told of a call whose effect nobody knows."""


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call that was made for an answer before the answer was broken off; `result` is None if it is unknown.

    It `is_fresh` if the same turn is taken again, so that nobody else has done anything since.
    """

    call: ToolCall
    result: ToolResult | None = None
    is_fresh: bool = True


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
