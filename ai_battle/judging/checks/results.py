"""Whether an answer after calls says what the tools have returned since the prompt."""

import json
import re

from ...core.messages import ToolResult, user
from ...signals.invention import Evidence
from ...signals.languages import has_word_anywhere
from ...signals.provenance import Known, facts
from ...signals.residue import gives_up
from ...signals.stems import stems
from ..case import Case

FEW = 3
"""Words of a result that leave nothing to tell."""
_BARE_NO = re.compile(r"^\W{0,3}[^\W\d_]{2,6}\b[,.!](?:\s|\Z)")


def check(case: Case) -> dict[str, float]:
    """Whether it tells otherwise than the tools have returned, or what only a tool could bring, and no call did."""
    if not case.context.tools or case.calls or not case.text:
        return {}
    turn = case.context
    weighed = Evidence(case.text, turn.tools, (*turn.history, user(case.prompt), *turn.steps)).weighed()
    brought = any(step.brought_something for step in case.steps)
    return {**{name: float(value) for name, value in weighed.items()}, "denied": float(brought and _declines(case))}


def say_much(case: Case) -> bool:
    """Whether a tool has returned what an answer could tell: a figure, or more than a few words."""
    brought = [step.result for step in case.steps if step.brought_something]
    return any(len(text.split()) > FEW or any(not fact.is_small for fact in facts(text)) for text in brought)


def _written(result: ToolResult) -> str:
    return json.dumps(result.call.arguments, ensure_ascii=False, default=str)


def _declines(case: Case) -> bool:
    """It does not know, or nothing is there, it says, and tells nothing of what there is. "No, it isn't." may be it."""
    denied = has_word_anywhere(case.text, "negation") and not _BARE_NO.match(case.text)
    return say_much(case) and (denied or gives_up(case.text, case.prompt)) and not _uses_results(case)


def _uses_results(case: Case) -> bool:
    """It tells something of the results that the prompt and the calls did not have."""
    given = Known((case.prompt, *map(_written, case.context.results)))
    returned = Known([result.text for result in case.context.results])
    if (stems(returned.text) - stems(given.text)) & stems(case.text):
        return True
    return any(returned.supports(fact) and not given.supports(fact) for fact in facts(case.text))
