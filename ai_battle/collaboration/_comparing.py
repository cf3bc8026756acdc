"""A judge compares the answers of two models without knowing whose they are, in both orders."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core.client import ModelClient
from ..core.errors import BadReply
from ..core.exchange import WHOLE_ANSWER, ModelRequest
from ..evidence.trials import AnswerComparison, Outcome
from ._documents import json_object
from ._prompts import HelpCase, data_section, excerpt, packaged_prompt, request_in_place, with_note
from ._ranking import without_thought
from ._turn import Sees

MOST_SHOWN = 16_000
"""Characters of an answer that a judge reads."""
LONGEST_REASON = 500
MOST_WRITTEN = 2_000
"""Tokens of a judgement, with what some judges think before it."""
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "better": {"type": "string", "enum": ["A", "B", "same"]}},
    "required": ["why", "better"],
    "additionalProperties": False,
}
SMALL_FIRST: Mapping[str, Outcome] = {"a": "win", "b": "loss", "same": "tie"}
LARGE_FIRST: Mapping[str, Outcome] = {"a": "loss", "b": "win", "same": "tie"}


async def compare_answers(
    judge: ModelClient, request: ModelRequest, sees: Sees, answers: tuple[str, str]
) -> AnswerComparison:
    """Returns how the first answer, the small model's, stands to the second by what the judge says in both orders.

    Of equal answers it is not asked. Raises `ProviderError` for one that does not answer, or not as it was asked to.
    """
    small, large = answers
    if small.strip() == large.strip():
        return AnswerComparison("tie", "The answers are the same.")
    first, reason = await _preference(judge, request, sees, (small, large))
    second, _ = await _preference(judge, request, sees, (large, small))
    outcome = SMALL_FIRST[first]
    if outcome != LARGE_FIRST[second]:
        return AnswerComparison("tie", "The judge says otherwise with the answers in the other order.", is_steady=False)
    return AnswerComparison(outcome, reason)


async def _preference(
    judge: ModelClient, request: ModelRequest, sees: Sees, answers: tuple[str, str]
) -> tuple[str, str]:
    """Which answer it finds better, a, b or same, and why."""
    texts = zip("AB", (excerpt(answer, MOST_SHOWN) for answer in answers), strict=True)
    sections = "\n\n".join(f"Answer {label}:\n{data_section('answer', text)}" for label, text in texts)
    asked = with_note(request_in_place(HelpCase(request), sees), packaged_prompt("compare", answers=sections))
    asked = replace(
        asked, tool_choice="none", output_schema=SCHEMA, options={"max_tokens": MOST_WRITTEN}, wants=WHOLE_ANSWER
    )
    reply = without_thought((await judge.complete(asked)).text)
    said = json_object(reply)
    better = str(said.get("better")).strip().lower()
    if better not in SMALL_FIRST:
        raise BadReply(f"The judge does not say which answer is better: {reply[:80]!r}")
    return better, excerpt(str(said.get("why") or "").strip(), LONGEST_REASON)
