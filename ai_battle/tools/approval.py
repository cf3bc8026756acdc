"""Whether a call may run: as the file says, as a person says who is asked, or not at all."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ..config.discussion import Discussion
from ..config.participants import ParticipantSettings
from ..config.tools import Approval
from ..core.errors import ToolError, translate_errors
from ..core.messages import ToolCall
from ..core.tooling import By

CODE = "code_execution"
Verdict: TypeAlias = Literal["allow", "ask", "deny"]
STRICTER: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Answer:
    """Says what a person answers to a call. `for_good`: of this tool, until the run ends; `reason` is for the model."""

    allowed: bool
    for_good: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Says whether a call may run, who decided that, and what the person said to it."""

    allowed: bool
    by: By
    reason: str = ""


Ask: TypeAlias = Callable[[ToolCall, str], Awaitable[Answer | bool | None]]
"""Puts a call of a participant to a person; None: there is nobody who could answer."""


class Approver:
    """Asks a person about one call at a time, and not again where an answer was for good."""

    def __init__(self, ask: Ask | None = None) -> None:
        self._ask = ask
        self._one_at_a_time = asyncio.Lock()
        self._settled: dict[str, Answer] = {}

    def refuses(self, tool: str) -> bool:
        """Tells whether its calls were refused for good."""
        return tool in self._settled and not self._settled[tool].allowed

    async def decide(self, call: ToolCall, participant: str) -> Decision:
        async with self._one_at_a_time:
            answer = self._settled.get(call.name) or await self._answer(call, participant)
            if answer is None:
                return Decision(False, "no terminal")
            if answer.for_good:
                self._settled[call.name] = answer
        return Decision(answer.allowed, "person", answer.reason)

    async def _answer(self, call: ToolCall, participant: str) -> Answer | None:
        if self._ask is None:
            return None
        try:
            with translate_errors("What asks a person about calls failed", ToolError):
                answer = await self._ask(call, participant)
        except ToolError as error:
            return Answer(False, reason=str(error))
        return Answer(answer) if isinstance(answer, bool) else answer


class Consent:
    """Decides what one participant may do with tools: the strictest that `said` has to say of a tool holds."""

    def __init__(
        self, participant: str = "", approvals: tuple[Approval, ...] = (), person: Approver | None = None
    ) -> None:
        self._participant = participant
        self._approvals = approvals
        self._person = person or Approver()

    def denies(self, tool: str) -> bool:
        """Tells whether it need not be offered at all."""
        return self._verdict(tool) == "deny" or self._person.refuses(tool)

    async def decide(self, call: ToolCall, *, writes: bool = True, doubt: str = "") -> Decision:
        """Decides about a call.

        `writes` says that it changes things outside a fence, and with a `doubt` a person is asked.
        """
        verdict = self._verdict(call.name) or ("ask" if writes else "allow")
        if verdict == "ask" or (doubt and verdict == "allow"):
            return await self._person.decide(call, self._participant)
        return Decision(verdict == "allow", "policy")

    def _verdict(self, tool: str) -> Verdict | None:
        found = [one for approval in self._approvals if (one := verdict(tool, approval))]
        return max(found, key=STRICTER.index, default=None)


def verdict(tool: str, approval: Approval) -> Verdict | None:
    """A tool that stands in several lists is in the strictest of them; None where nothing is said of it."""
    for listed in reversed(STRICTER):
        if tool in getattr(approval, listed):
            return listed
    return approval.default


def is_code_denied(discussion: Discussion, participant: ParticipantSettings) -> bool:
    """Tells whether a participant's code may not be run, be it offered the tool for it or not."""
    approvals = (participant.approval, *((discussion.tools.approval,) if discussion.tools else ()))
    return any(verdict(CODE, each) == "deny" for each in approvals)


def refusal_words(tool: str, decision: Decision) -> str:
    """Returns what the model is told of a call that may not run."""
    match decision.by:
        case "policy":
            return f"{tool} may not be used in this discussion. Answer without it."
        case "no terminal":
            return (
                f"A person has to allow this call of {tool}, and nobody is there who could be asked. Answer without it."
            )
    reason = decision.reason.strip()
    return f"A person refused this call{f': {reason}' if reason else ''}. It was not run; do not ask for it again."
