"""Compares the answers of two models: by a judge that does not know whose they are, or by a check of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..core.client import ModelClient
from ..core.errors import BadReply
from ..core.events import ignore
from ..core.exchange import WHOLE_ANSWER, ModelRequest, object_schema
from ..evidence.trials import AnswerComparison, Outcome
from ..judging.assessment import Context
from ..wire.dialects.thinking import without_thought
from ._checks import Check
from ._documents import json_object
from ._prompts import HelpCase, Sees, excerpt, labelled_answers, packaged_prompt, request_in_place, with_note

MOST_SHOWN = 16_000
"""How many characters of an answer a judge reads."""
LONGEST_REASON = 500
MOST_WRITTEN = 2_000
"""Tokens of a judgement, including the thinking that some judges write first."""
SCHEMA = object_schema({"why": {"type": "string"}, "better": {"type": "string", "enum": ["A", "B", "same"]}})
SMALL_FIRST: Mapping[str, Outcome] = {"a": "win", "b": "loss", "same": "tie"}
FAILED_CHECK_SIGNALS = ("check_fails", "program_fails")
"""Signals of a check, from 0 to 1."""
OTHERWISE = "The judge decides otherwise with the answers in the other order."
LARGE_FIRST: Mapping[str, Outcome] = {"a": "loss", "b": "win", "same": "tie"}


class AnswerJudge(Protocol):
    async def compare(self, request: ModelRequest, small: str, large: str) -> AnswerComparison:
        """Compares the small model's answer with the large one's. Raises `ProviderError` if it can't decide."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class BlindJudge:
    """Asks a model in both orders of the answers, and calls it a tie if its verdicts differ.

    A judge may prefer a position. It reads of the request what helpers may see.
    """

    client: ModelClient
    sees: Sees = "history"

    async def compare(self, request: ModelRequest, small: str, large: str) -> AnswerComparison:
        """Compares two answers; equal ones are a tie without asking the model."""
        if small.strip() == large.strip():
            return AnswerComparison("tie", "The answers are the same.")
        first, reason = await self._preference(request, (small, large))
        second, _ = await self._preference(request, (large, small))
        if SMALL_FIRST[first] != LARGE_FIRST[second]:
            return AnswerComparison("tie", OTHERWISE, is_steady=False)
        return AnswerComparison(SMALL_FIRST[first], reason)

    async def _preference(self, request: ModelRequest, answers: Sequence[str]) -> tuple[str, str]:
        """Returns which answer the model prefers (a, b or same) and why."""
        shown = labelled_answers(excerpt(answer, MOST_SHOWN) for answer in answers)
        question = with_note(
            request_in_place(HelpCase(request), self.sees), packaged_prompt("comparison", answers=shown)
        )
        options = {"max_tokens": MOST_WRITTEN}
        question = replace(question, tool_choice="none", output_schema=SCHEMA, options=options, wants=WHOLE_ANSWER)
        reply = without_thought((await self.client.complete(question)).text)
        verdict = json_object(reply)
        better = str(verdict.get("better")).strip().lower()
        if better not in SMALL_FIRST:
            raise BadReply(f"The judge does not say which answer is better: {reply[:80]!r}")
        return better, excerpt(str(verdict.get("why") or "").strip(), LONGEST_REASON)

    async def aclose(self) -> None:
        await self.client.aclose()


@dataclass(frozen=True, slots=True)
class CheckJudge:
    """Compares by a check: the answer of which a smaller share fails is better."""

    check: Check

    async def compare(self, request: ModelRequest, small: str, large: str) -> AnswerComparison:
        prompt = Context.of(request).prompt
        small_fails, large_fails = [await self._failing_share(prompt, answer) for answer in (small, large)]
        words = f"Of the small model's answer {small_fails:.0%} fails, of the large one's {large_fails:.0%}."
        if small_fails == large_fails:
            return AnswerComparison("tie", words)
        return AnswerComparison("win" if small_fails < large_fails else "loss", words)

    async def _failing_share(self, prompt: str, answer: str) -> float:
        found = await self.check(prompt, answer, ignore)
        if not found:
            raise BadReply("There is nothing in the answer that could be checked.")
        return max(found[0].signals.get(name, 0.0) for name in FAILED_CHECK_SIGNALS)

    async def aclose(self) -> None:
        """Does nothing: a check holds no connection."""
