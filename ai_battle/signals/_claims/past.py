"""What was done and told before an answer, and whether that backs what the answer says."""

import re
from collections.abc import Iterable, Sequence

from ...core.messages import Document, Image, Message, ToolResult
from .claim import Claim
from .tool_words import ANY, kinds_of, words_of

ANY_TOOL = Claim(frozenset({ANY}), own=False)
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*|`[^`\n]{2,60}`|\"[^\"\n]{2,60}\"")
_MOST = 12
_BEYOND_CODE = frozenset({"search", "mail", "calendar", "weather"})
_OF_FAILURE = re.compile(
    r"\b(?:errors?|fail\w*|denied|refus\w+|unable|could not|cannot|not?|none|nothing|unavailable|unfortunately"
    r"|timed? ?out|problems?|exceptions?|raised|crashed|rejected|invalid|missing|fehl\w*|nicht\w*|kein\w*"
    r"|erreur|échou\w+"
    r"|pas|rien|nada|falló)\b|n't\b|错误|失败|没有|无法",
    re.IGNORECASE,
)
_EARLIER = re.compile(
    r"\b(?:earlier|before|previous(?:ly)?|already|last (?:round|time|turn)|vorhin|zuvor)\b", re.IGNORECASE
)


class Past:
    """The messages up to an answer, the speaker's own calls and their results among them."""

    def __init__(self, messages: Sequence[Message]) -> None:
        last = next((place for place in reversed(range(len(messages))) if messages[place].role == "user"), 0)
        self._turn = _results(messages[last:])
        self._messages = messages
        self.asked = messages[last].text if messages else ""

    def backs(self, claim: Claim, said: str) -> bool:
        """By a call of this turn, by an earlier one with the same figures, or by what others have told."""
        if any(_is_of(claim, said, result) for result in self._turn):
            return True
        figures = _figures(said)
        return self._repeats(claim, said, figures) or self._retells(claim, figures)

    def tells(self, said: str) -> bool:
        """Whether all figures stand in a result or in what was said, and there are any."""
        figures = _figures(said)
        results = (result.text for result in _results(self._messages))
        return bool(figures) and _all_in(figures, (*results, *(message.text for message in self._messages)))

    def _retells(self, claim: Claim, figures: list[str]) -> bool:
        others = [message for message in self._messages if message.role == "user"]
        if claim.kinds == {"files"} and any(_shows(message) for message in others):
            return True
        return not claim.own and bool(figures) and _all_in(figures, (message.text for message in others))

    def _repeats(self, claim: Claim, said: str, figures: list[str]) -> bool:
        earlier = [result.text for result in _results(self._messages) if _is_of(claim, said, result)]
        known = (*earlier, *(message.text for message in self._messages))
        return bool(earlier) and (_EARLIER.search(said) is not None or _all_in(figures, known))


def _is_of(claim: Claim, said: str, result: ToolResult) -> bool:
    """Whether such a call can be meant: code can do much, and of an unknown tool nobody knows.

    A call that failed, or was refused, backs nothing but that.
    """
    if result.is_error and not _OF_FAILURE.search(said):
        return False
    name = result.call.name
    kinds = kinds_of(name)
    if "code" in kinds and not claim.kinds <= _BEYOND_CODE:
        return True
    return ANY in claim.kinds or not kinds or bool((kinds | words_of(name)) & claim.kinds)


def _figures(said: str) -> list[str]:
    return [figure.strip('`"') for figure in _FIGURE.findall(said)[:_MOST]]


def _results(messages: Iterable[Message]) -> list[ToolResult]:
    return [result for message in messages for result in message.tool_results]


def _all_in(figures: Iterable[str], texts: Iterable[str]) -> bool:
    known = "\n".join(texts)
    return all(_stands_in(known, figure) for figure in figures)


def _stands_in(known: str, figure: str) -> bool:
    """A number stands there as such, and not in another; of a fraction the first digits will do."""
    if not figure[:1].isdigit():
        return figure in known
    more = "" if "." in figure else r"(?!\d)"
    return re.search(rf"(?<!\d){re.escape(figure)}{more}", known) is not None


def _shows(message: Message) -> bool:
    return any(isinstance(part, Document | Image) for part in message.parts)
