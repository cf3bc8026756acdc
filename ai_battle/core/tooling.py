"""The events around tools: which are offered, which calls may run, and what came of them."""

from dataclasses import dataclass
from typing import Literal

from .exchange import ToolSpec
from .messages import ToolCall, ToolResult

By = Literal["policy", "person", "no terminal"]
ProposalKind = Literal["question", "offer", "example", "condition", "refusal", "unsure"]


@dataclass(frozen=True, slots=True)
class ToolsOffered:
    """The tools that a model is offered from here on; `speaker` is filled in by whoever runs the discussion."""

    tools: tuple[ToolSpec, ...]
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class ToolProposed:
    """An answer holds a call that was not run: it stands beside a question, an offer, a refusal, ... (`kind`).

    `unsure` is a call that writes and has no marker, or text behind it. `speaker` is filled in by whoever runs the
    discussion.
    """

    call: ToolCall
    kind: ProposalKind
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


@dataclass(frozen=True, slots=True)
class ToolCalled:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolReturned:
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True)
class LoopStopped:
    """No more tools are called for this answer, and why; what follows is an answer without tools.

    `in_circles`: the calls got nowhere; else a limit is reached.
    """

    reason: str
    in_circles: bool = False


@dataclass(frozen=True, slots=True)
class FabricationSuspected:
    """An answer speaks of what a tool returned, as in `claim`, and no tool was called for it."""

    claim: str
