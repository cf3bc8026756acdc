"""Decides whether a call may run: by configuration, or by asking a person."""

import asyncio
from dataclasses import dataclass

from ..config.tools import STRICTER, Approval, Verdict
from ..core.errors import ToolError
from ..core.messages import ToolCall
from ..core.plugins import translate_errors
from ..core.tooling import Answer as Answer
from ..core.tooling import Ask, By


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a call, who made it, and the person's reason."""

    allowed: bool
    by: By
    reason: str = ""


class Approver:
    """Asks a person about one call at a time, and remembers answers for good."""

    def __init__(self, ask: Ask | None = None) -> None:
        self._ask = ask
        self._one_at_a_time = asyncio.Lock()
        self._settled: dict[str, Answer] = {}

    def refuses(self, tool: str) -> bool:
        """Returns whether all calls of the tool were refused for good."""
        return tool in self._settled and not self._settled[tool].allowed

    async def decide(self, call: ToolCall, participant: str) -> Decision:
        # Inside the lock: an answer for good to the first of several calls settles those that wait.
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
    """Decides what one participant may do with tools. The strictest of its approvals holds."""

    def __init__(
        self, participant: str = "", approvals: tuple[Approval, ...] = (), person: Approver | None = None
    ) -> None:
        self._participant = participant
        self._approvals = approvals
        self._person = person or Approver()

    def denies(self, tool: str) -> bool:
        """Returns whether the tool need not be offered at all."""
        return self._verdict(tool) == "deny" or self._person.refuses(tool)

    async def decide(self, call: ToolCall, *, writes: bool = True, doubt: str = "") -> Decision:
        """Decides about a call.

        `writes` says that it changes things outside a sandbox; with a `doubt` a person is asked in any case.
        """
        verdict = self._verdict(call.name) or ("ask" if writes else "allow")
        if verdict == "ask" or (doubt and verdict == "allow"):
            return await self._person.decide(call, self._participant)
        return Decision(verdict == "allow", "policy")

    def _verdict(self, tool: str) -> Verdict | None:
        found = [one for approval in self._approvals if (one := approval.verdict(tool))]
        return max(found, key=STRICTER.index, default=None)


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
