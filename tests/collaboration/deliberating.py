"""Members of a council for tests: each says one thing, and ranks what others say by an opinion of its own."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

ANSWERS = re.compile(r"Answer ([A-Z]):\s*<answer>\s*(.*?)\s*</answer>", re.DOTALL)
LINES = re.compile(r"^([A-Z]): (?:[\d.]+ of|nobody)", re.MULTILINE)


def texts(body: Any) -> str:
    """All texts of a request, whichever API it is for."""
    if isinstance(body, str):
        return body
    parts = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return "\n".join(map(texts, parts))


def order_of(asked: str, opinion: Sequence[str]) -> list[str]:
    """The letters that a member with this opinion puts first and last."""
    found = {said: letter for letter, said in ANSWERS.findall(asked)}
    return [found[said] for said in opinion if said in found]


def member(says: str, opinion: Sequence[str], chair: Callable[[str], str] | None = None) -> Callable[[Any], str]:
    """Replies to the body of a request with an answer, a ranking, or what the chair makes of all."""

    def reply(body: Any) -> str:
        asked = texts(body)
        if "You have the chair." in asked:
            return (chair or edit)(asked)
        if "Rank them from best to worst." in asked:
            return json.dumps({"why": "So it seems.", "ranking": order_of(asked, opinion)})
        return says

    return reply


def edit(asked: str) -> str:
    """A chair that takes the best and gives its reasons for the rest."""
    best, *rest = LINES.findall(asked)
    said = dict(ANSWERS.findall(asked))[best]
    reasons = "\n".join(f"{letter} - it is wrong" for letter in rest)
    return f"USED: {best}\nLEFT OUT: {reasons}\nANSWER:\nIn the end: {said}"
