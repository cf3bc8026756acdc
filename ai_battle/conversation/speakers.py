"""Decides who speaks next among those present, and finds the one name that a selecting model's answer means."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from random import Random
from typing import Any, Literal, TypeAlias

from ..core.errors import AIBattleError
from ..core.events import SpeakerSelected
from ..core.exchange import ModelRequest, object_schema
from ..core.messages import Message, user
from ..wire.dialects.thinking import without_thought
from .participant import Participant, request_aside
from .plan import Plan
from .prompting import prompt
from .state import EventDispatcher

RECORDED_CHARACTERS = 500
"""How much of a selector's answer is recorded."""
SHOWN_MESSAGES, SHOWN_CHARACTERS = 8, 600
"""How many messages a selector is shown, and how much of each."""


class SpeakerScheduler:
    """Chooses the next speaker among those who are present; `left` are the people who have left."""

    def __init__(self, plan: Plan, emit: EventDispatcher, left: Sequence[str]) -> None:
        self._plan = plan
        self._state = emit.state
        self._emit = emit
        self._left = left
        self._order = [p.name for p in plan.regulars]
        self._by_name = {p.name: p for p in plan.participants}

    @property
    def present(self) -> Sequence[Participant]:
        return [p for p in self._plan.regulars if p.name not in self._left]

    @property
    def round_to_go(self) -> Sequence[Participant]:
        """The participants who have not answered in this round yet."""
        at = self._state.position
        return [self._by_name[name] for name in at.phase.speakers[at.turns_in_round :]]

    @property
    def reason_to_end(self) -> str:
        return f"{self._left[-1]} left" if self._left and len(self.present) < 2 else ""

    @property
    def wrap_up_speaker(self) -> Participant:
        """The moderator, or the next participant who is not a person."""
        return self._plan.moderator or _next_model(self._plan, self._state.last_regular, self._left)

    @property
    def concluder(self) -> Participant:
        return concluder(self._plan, self._state.last_regular, self._left)

    async def next_speaker(self) -> Participant:
        """Returns who speaks next.

        In a fixed order, people who have left keep their turns, which fail at once: the others speak no more for it.
        """
        state, plan = self._state, self._plan
        at = state.position
        order, last = at.phase.speakers, state.last_regular if at.taken else ""
        here = [name for name in order if name not in self._left] or order
        if state.selected in here:
            return self._by_name[state.selected]
        if plan.speaker_selection == "random":
            return self._by_name[random_name(here, state.last_regular, plan.seed, state.turn + 1)]
        if plan.speaker_selection == "round_robin" or not self._selector:
            return self._by_name[round_robin(order, order, last)]
        await self._select(self._selector, _other_names(here, state.last_regular))
        return self._by_name[state.selected]

    @property
    def _selector(self) -> Participant | None:
        """The moderator, or the last speaker unless that is a person; None at the start."""
        if self._plan.speaker_selection == "moderator" and self._plan.moderator:
            return self._plan.moderator
        if not self._state.last_regular:
            return None
        last = self._by_name[self._state.last_regular]
        return last if last.role != "user" else next((p for p in self.present if p.role != "user"), None)

    async def _select(self, selector: Participant, names: Sequence[str]) -> None:
        """Asks the selector for one of `names`. If the answer matches none, the next in order speaks."""
        if len(names) == 1:
            await self._emit(SpeakerSelected(names[0], "chosen"))
            return
        fallback = round_robin(names, self._order, self._state.last_regular)
        request = choice_request(self._plan.prompt, self._state.recent_for(selector.name), names, selector)
        answer, usage = await request_aside(selector, request, self._emit, self._emit.wants)
        if isinstance(answer, AIBattleError):
            await self._emit(SpeakerSelected(fallback, "fallback", str(answer), usage))
            return
        speaker, how = matching_name(answer.text, names) or (fallback, "fallback")
        await self._emit(SpeakerSelected(speaker, how, answer.text[:RECORDED_CHARACTERS], usage))


def concluder(plan: Plan, last: str, left: Sequence[str] = ()) -> Participant:
    """Returns who writes the outcome: the moderator, or who spoke `last`; after a person, the model that is next."""
    spoke = next((p for p in plan.regulars if p.name == last and p.role != "user"), None)
    return plan.moderator or spoke or _next_model(plan, last, left)


def _next_model(plan: Plan, last: str, left: Sequence[str]) -> Participant:
    """Returns the next participant after `last` who is present and not a person, or the next person."""
    present = {p.name: p for p in plan.regulars if p.name not in left}
    models = [name for name, p in present.items() if p.role != "user"] or [*present]
    return present[round_robin(models, [p.name for p in plan.regulars], last)]


def round_robin(names: Sequence[str], order: Sequence[str], last: str) -> str:
    """Returns the first of `names` after `last` in speaking order."""
    start = order.index(last) + 1 if last in order else 0
    return next(name for name in (*order[start:], *order[:start]) if name in names)


def random_name(names: Sequence[str], last: str, seed: int, turn: int) -> str:
    """Draws anyone but the last speaker. The seed and the turn determine the result, whatever happened before."""
    return Random(f"{seed}:{turn}").choice(_other_names(names, last))  # noqa: S311 - no secret depends on it


def _other_names(names: Sequence[str], last: str) -> Sequence[str]:
    """Returns `names` without the last speaker, unless nobody else is there."""
    return [name for name in names if name != last] or names


def choice_request(
    opening: str, recent: Iterable[Message], names: Sequence[str], selector: Participant
) -> ModelRequest:
    """Builds the question for one of `names`, with a JSON Schema, and short enough for a model of 1B parameters."""
    shown = "\n\n".join(f"{message.speaker}: {_shorten(message.text)}" for message in [*recent][-SHOWN_MESSAGES:])
    question = prompt("choice", said=f"{_shorten(opening)}\n\n{shown}".strip(), names=", ".join(names))
    schema = object_schema({"next": {"type": "string", "enum": list(names)}})
    return ModelRequest(
        (user(question),), prompt("selector"), tool_choice="none", output_schema=schema, options=selector.parameters
    )


def _shorten(text: str) -> str:
    """Keeps the beginning and the end of a text: questions to others tend to come last."""
    half = SHOWN_CHARACTERS // 2
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:half]} [...] {text[-half:]}"


_Matcher: TypeAlias = Callable[[str, Sequence[str]], str]
How: TypeAlias = Literal["chosen", "normalised", "near match"]

MISSPELLING_RATIO = 0.78
"""The difflib ratio from which a word counts as a misspelt name."""
MIN_WORD_LENGTH = 3
DENIED_WEIGHT = -4


def _pattern(*alternatives: str) -> str:
    return f"(?i){'|'.join(alternatives)}"


_CLAUSE_END = r"[.](?=\s|$)|[,;!?\n\u2014\u3002\uff0c]|\s[-\u2013]\s"
_SENTENCE_END = r"[.](?=\s|$)|[;!?\n\u3002]"
_WORD = r"[A-Za-z\u00c0-\u024f]+|[^\W\d_A-Za-z\u00c0-\u024f]+|\d+"

_BEFORE_WANTED = _pattern(
    r"\b(?:next|speaker|answer|choice|choose|chosen|pick|select|go with|hear from|let|let's|floor|over to|must be)\b",
    r"\b(?:boxed|therefore|hence|leaves|time for|w\u00e4hle|sondern|jetzt|n\u00e4chste[nrs]?)\b|->|=>|\u2192",
    r"\b(?:prochain|parole|siguiente|pr\u00f3xim[oa]|hablar|turno|tocca|toca)\b|\u4e0b\u4e00|\u6b21",
    r"\u0441\u043b\u0435\u0434\u0443\u044e\u0449|\b(?:is|be|so)\W*(?:the )?$",
)
_AFTER_WANTED = _pattern(
    r"\W*(?:should|must|would be|could be|next|to (?:speak|go|answer|respond)|goes|please|knows|rather than)\b",
    r"\W*(?:it is|is (?:next|needed|better|the one)|can (?:answer|bring)|'s turn)\b",
    r"\W*(?:de parler|bitte|dran|sollte|deber\u00eda)\b",
)
_BEFORE_UNWANTED = _pattern(
    r"\b(?:not|neither|nor|except|instead of|rather than|never|(?:any|every)(?:one|body) but)\b|n't\b",
    r"\b(?:nicht|statt|pas|no|non)\b",
)
_AFTER_UNWANTED = _pattern(
    r"\W*(?:should(?:n't| not)|(?:has|have) (?:just|already|both|said|spoken|talked|dominated|nothing))\b",
    r"\W*(?:already|just|too|spoke|said|asked|raised|talked|makes|speaks)\b",
    r"\W*(?:ya|vient de|schon|hat (?:gerade|schon|bereits)|ihn|ha (?:gi\u00e0|ya))\b",
)
_POSSESSIVE = r"['\u2019]s\b(?! turn)"
_REASON = _pattern(
    r"\b(?:because|since|given that|as|after|before|while|what|reason|by|then|weil|denn|porque|car|puisque)\b"
)


@dataclass(frozen=True, slots=True)
class _Mention:
    name: str
    start: int
    before: str
    after: str
    stands_alone: bool

    @property
    def weight(self) -> int:
        """Scores how much the clause around a mention speaks for the name.

        What comes before the name counts most, and a denial outweighs everything else.
        """
        return (
            3 * bool(re.search(_BEFORE_WANTED, self.before))
            + 2 * bool(re.match(_AFTER_WANTED, self.after))
            - 6 * bool(re.search(_BEFORE_UNWANTED, self.before))
            - 3 * bool(re.match(_AFTER_UNWANTED, self.after) or re.match(_POSSESSIVE, self.after))
            - 2 * bool(re.search(_REASON, self.before))
            + 4 * self.stands_alone
            + self._is_addressed
        )

    @property
    def _is_addressed(self) -> bool:
        """True if the mention opens the answer, as in "Ada: ..." and "Ada, what do you think?"."""
        return self.start == 0 and (not self.after or self.after.startswith(":"))


def matching_name(answer: str, names: Sequence[str]) -> tuple[str, How] | None:
    """Returns the name that an answer to "who speaks next?" means and how it was found, or None."""
    reply = without_thought(answer).strip()
    if literal := next((text for text in _strings(reply) if text in names), ""):
        return literal, "chosen"
    if exact := _weightiest(_mentions(reply, names, _exact_match)):
        return exact, "normalised"
    if close := _weightiest(_mentions(reply, names, _close_match)):
        return close, "near match"
    return None


def _strings(reply: str) -> Iterator[str]:
    """Yields the answer itself and, if it is JSON, the texts in it."""
    yield reply
    start, end = reply.find("{"), reply.rfind("}")
    try:
        yield from _texts(json.loads(reply[start : end + 1] if start >= 0 else reply))
    except ValueError:
        return


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)


def _weightiest(mentions: Iterable[_Mention]) -> str:
    """Returns the name with the highest weight, and the last mentioned among equals."""
    best = max(mentions, key=lambda mention: (mention.weight, mention.start), default=None)
    return best.name if best and best.weight > DENIED_WEIGHT else ""


def _mentions(reply: str, names: Sequence[str], match_word: _Matcher) -> Iterator[_Mention]:
    for name, start, end in _places(reply, names, match_word):
        before = re.split(_CLAUSE_END, reply[:start])[-1]
        after = re.split(_CLAUSE_END, reply[end:], maxsplit=1)[0]
        sentence = re.split(_SENTENCE_END, reply[:start])[-1] + re.split(_SENTENCE_END, reply[end:], maxsplit=1)[0]
        is_asked = reply[end:].lstrip("\"'*`").startswith("?")
        yield _Mention(name, start, before, after, not is_asked and not re.search(_WORD, sentence))


def _places(reply: str, names: Sequence[str], match_word: _Matcher) -> Iterator[tuple[str, int, int]]:
    """Yields each name in the text with its start and end, preferring the longest at each place."""
    found = [(match.group(), match.start(), match.end()) for match in re.finditer(_WORD, reply)]
    longest = max(len(re.findall(_WORD, name)) for name in names)
    position = 0
    while position < len(found):
        for length in range(min(longest, len(found) - position), 0, -1):
            run = found[position : position + length]
            if name := match_word("".join(word for word, _, _ in run).casefold(), names):
                yield name, run[0][1], run[-1][2]
                position += length - 1
                break
        position += 1


def _exact_match(word: str, names: Sequence[str]) -> str:
    return next((name for name in names if word == _key(name)), "")


def _close_match(word: str, names: Sequence[str]) -> str:
    """Returns the name with this unique part, or the name nearest to this misspelling; empty if ambiguous."""
    if len(word) < MIN_WORD_LENGTH:
        return ""
    if len(having := [name for name in names if word in _words(name)]) == 1:
        return having[0]
    closeness = sorted(((SequenceMatcher(None, word, _key(name)).ratio(), name) for name in names), reverse=True)
    nearest, second = closeness[0], closeness[1] if len(closeness) > 1 else (0.0, "")
    return nearest[1] if nearest[0] >= MISSPELLING_RATIO and nearest[0] > second[0] else ""


def _key(name: str) -> str:
    return "".join(_words(name))


@cache
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in re.findall(_WORD, name))
