"""Results that no tool returned: where an answer tells them all the same.

After calls, each fact of an answer is looked up in what its speaker has seen: prompts, earlier messages, calls and
their results. Where none was made, a sentence is suspect that gives what was in none of them, or says the prompt back
as done, where the prompt asks for what only a tool can know: of something by its number, of now, in a tool's words.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import log1p

from ..core.exchange import ToolSpec
from ..core.messages import Message, ToolCall, ToolResult
from .cleaning import cleaned
from .languages import has_word_anywhere, language_of, spoken, words_everywhere
from .provenance import Fact, Known, facts, is_constant, misplaces
from .states import denies
from .stems import stems
from .trouble import Step
from .words import content_stems, sentences

READ, LONGEST, MOST = 40_000, 400, 60
"""Characters of an answer that are read and of a claim that is told; sentences that are looked at."""
TOLD = 2
"""Words of an error that tell of it."""
WEIGHTS = {
    "exact": 1.75, "key": 2.75, "name": 0.5, "recall": 2.75, "now": 1.75, "order": 1.75, "file": 2.75, "yes": 1.5,
    "range": -2.0, "works": -1.75, "denies": -2.0, "asks": -2.75, "length": -1.0,
}  # fmt: skip
"""What each feature of a sentence adds to the logit of an invented result, by hand, after a logistic regression."""
ENOUGH, ROUND = 1.2, 5
"""The logit from which on a sentence is suspect; what a figure is a multiple of that may be advice or an estimate."""
# Parameters that take anything: a tool that wants no other may be meant by any prompt.
_ANYTHING = frozenset(
    ("query", "q", "code", "command", "sql", "jql", "expression", "path", "url", "text", "prompt")
).union(("content", "action", "language", "input", "script", "body"))
_FENCED = re.compile(r"```[\s\S]*?(?:```|\Z)")
_QUOTED = re.compile(
    r"\"[^\"\n]{3,300}\"|[\u201c\u201e][^\u201d\u201c\n]{3,300}[\u201d\u201c]|\u00ab[^\u00bb\n]{3,300}\u00bb"
)
# A model that plays the other roles too, the tool's or its own behind it, or takes the form of a tool's result.
_ROLE = re.compile(
    r"<\|(?:im_start|start_header_id)\|>\s*(?:assistant|tool)|<\|end_header_id\|>|^assistant\b"
    r"|<(?:tool|function)_(?:response|result|output)s?\b|^\W{0,4}\[?(?:tool |function |command |query |search )?"
    r"(?:output|result|response|observation)s?(?:\][: ]|\W{0,4}: ?[^\s`<])|## ?response:|<!--\s*response:",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = re.compile(r"<\|[^|<>]*\|>|</?[a-z_?!][^<>]*>|```\w*|<!--|-->|\bassistant\b", re.IGNORECASE)
# What explains a call or its code states no result of it.
_EXPLAINS = re.compile(
    r"^\W{0,8}(?:import|print|def|#)\b|\w_\w|[\w)\]] ?==? |'\w+':|\w\(|\b(?:will|would|should|please|call|assuming)\b"
    r"|^\W{0,4}\[\w|\w=['\"\w]",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(?<![\w.,:])(?:[A-Za-z]{1,12}[-_]?[A-Za-z\d-]{0,20}\d[A-Za-z\d-]{0,20}|\d{1,6}(?:[-/]\d{2,8}){1,3}|\d{4,15})(?![.,]?\d)"
)
_FILE = re.compile(r"https?://\S|(?<![\w.])[\w/-]{1,60}\.[a-z]{2,5}\b|\w/\w")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\ds?")
_RANGE = re.compile(r"\d\s?(?:[-\u2013~\u5230\u81f3]|\b[^\W\d_]{1,3}\b|\u304b\u3089)\s?\d")
_ASKS = re.compile(r"[?\uff1f\u061f][\s\"'*_)\]\u201d\u00bb]*\Z|\u304b\u3002?\Z")


def claimed(text: str, tools: Iterable[ToolSpec] = (), messages: Sequence[Message] = ()) -> str:
    """Where an answer tells a fact or a deed that only a tool could bring, and no call did; empty where it doesn't."""
    specs = tuple(tools)
    if not specs:
        return ""
    plain = _FENCED.sub("\n", _ends_of(cleaned(text).text))
    turn = _Turn(specs, messages)
    if turn.results:
        told = contradicted(plain, turn.known, turn.results, turn.prompt)
        return (told or plain * hides_failure(plain, turn.results, turn.prompt))[:LONGEST]
    if mark := _ROLE.search(plain):
        return plain[mark.start() : mark.start() + LONGEST]
    said = [sentence for sentence in sentences(plain)[:MOST] if not _EXPLAINS.search(sentence)]
    return next((sentence[:LONGEST] for sentence in said if turn.suspicion(sentence, plain) > ENOUGH), "")


def contradicted(text: str, known: Known, results: Sequence[ToolResult], prompt: str) -> str:
    """The sentence that is other than what the tools have returned: by its facts, or by what it puts together.

    A round figure or a count may be advice, so that it says little where a figure of the results is told as well. What
    follows from another figure is a calculation.
    """
    is_german = language_of(text) == "de"
    said = [fact for fact in facts(text) if any(map(str.isdigit, fact.text)) or (fact.kind == "name" and not is_german)]
    strange = [fact for fact in said if not (known.has(fact) or known.yields(fact) or _YEAR.fullmatch(fact.text))]
    further = Known((known.text, *(fact.text for fact in said if fact not in strange or _may_be_advice(fact))))
    loud = [fact for fact in strange if not (_may_be_advice(fact) or further.yields(fact))]
    if loud or (strange and _tells_nothing_of(results, text, [fact for fact in said if fact not in strange], prompt)):
        told = [fact.text for fact in loud or strange]
        return next((sentence for sentence in sentences(text) if any(map(sentence.count, told))), text)
    return next((part for part in (*sentences(text), text) if any(misplaces(part, each.text) for each in results)), "")


def _may_be_advice(fact: Fact) -> bool:
    return fact.is_small or _is_round(fact) or is_constant(fact) or fact.kind == "name"


def _tells_nothing_of(results: Sequence[ToolResult], text: str, held: Sequence[Fact], prompt: str) -> bool:
    """Whether there are figures in what came back, none of which is told; or where there are none, no word of it."""
    given = Known((prompt, *(_written(result.call) for result in results)))
    back = Known(result.text for result in results)
    if all(given.has(fact) for fact in facts(back.text) if fact.values):
        return (stems(back.text) - stems(given.text)).isdisjoint(stems(text))
    return not any((back.has(fact) or not fact.is_small) and not given.has(fact) for fact in held if fact.values)


def hides_failure(text: str, results: Sequence[ToolResult], prompt: str) -> bool:
    """Whether it tells of no failure, nor anything else of what came back, though every call has failed."""
    steps = [Step("", result.text, result.is_error) for result in results]
    if any(step.brought_something for step in steps) or not any(step.failed for step in steps):
        return False
    given = stems("\n".join((prompt, *(_written(result.call) for result in results))))
    returned = stems("\n".join(step.result for step in steps)) - given
    return not denies(text) and len(returned & stems(text)) < TOLD


def invented(after: str, messages: Sequence[Message] = (), calls: Iterable[ToolCall] = ()) -> str:
    """What stands behind a call in the same text and only its result could tell; empty when there is nothing such.

    A figure that one could calculate is new as well: a call is to do that.
    """
    after = _ends_of(after)
    role = _ROLE.search(after)
    if role and (said := _words(after[role.end() :])):
        return said
    known = Known((*_texts(messages), *(str(dict(call.arguments)) for call in calls)))
    plain = (said for said in sentences(_MARKS.sub("\n", after)) if not (_EXPLAINS.search(said) or _is_no_claim(said)))
    return next((said[:LONGEST] for said in plain if any(not known.has(fact) for fact in _specific(said))), "")


class _Turn:
    """What was there before an answer, and what its prompt asks of the tools."""

    def __init__(self, specs: Sequence[ToolSpec], messages: Sequence[Message]) -> None:
        place = next((at for at in reversed(range(len(messages))) if _is_prompt(messages[at])), 0)
        self.results = _results(messages[place:])
        self.known = Known(_texts(messages))
        self.prompt = "".join(message.text for message in messages[place : place + 1])
        self._asked = content_stems(self.prompt)
        self._earlier = content_stems("\n".join(result.text for result in _results(messages[:place]))) - self._asked
        # What the others of a discussion say is no order, and saying it again no deed.
        self._is_talk = any(message.speaker for message in messages)
        self._orders = not (self._is_talk or all(map(takes_anything, specs)) or _ASKS.search(self.prompt))
        self._keys = [key.casefold() for key in _keys(self.prompt)]
        self._names = _names(self.prompt)
        self._is_of_now = has_word_anywhere(self.prompt, "now")
        self._of_file = _FILE.search(self.prompt) is not None

    def suspicion(self, said: str, answer: str) -> float:
        """The weights of a sentence: of what it tells that is new, and of what of the prompt it says back.

        What an earlier result has told may be told again.
        """
        lowered, words = said.casefold(), content_stems(said)
        exact = [fact for fact in _specific(said) if not (_is_round(fact) or self.known.supports(fact))]
        if words & self._earlier and not exact:
            return 0.0
        features = {
            "exact": min(2, len(exact)),
            "key": any(key in lowered for key in self._keys),
            "name": min(2, sum(name[:5] in lowered for name in self._names)),
            "recall": 0 if self._is_talk else len(words & self._asked) / max(1, len(self._asked)),
            "now": self._is_of_now or has_word_anywhere(said, "now"),
            "order": self._orders,
            "file": self._of_file,
            "yes": not words_everywhere("yes").isdisjoint(spoken(said)[:1]),
            "range": _RANGE.search(said) is not None,
            "works": "=" in answer,
            "denies": has_word_anywhere(answer, "negation"),
            "asks": _ASKS.search(answer) is not None,
            "length": log1p(len(answer.split())),
        }
        return sum(WEIGHTS[name] * value for name, value in features.items())


def takes_anything(spec: ToolSpec) -> bool:
    """Whether its parameters can be filled from any prompt, so that it proves nothing that one fills them."""
    names = frozenset(spec.schema.get("required") or spec.schema.get("properties") or ())
    return bool(names) and names <= _ANYTHING


def names_something(prompt: str) -> bool:
    """Whether a prompt has a figure, a name or a quotation that a tool could be called with."""
    return bool(_names(prompt)) or _QUOTED.search(prompt) is not None or any(map(str.isdigit, prompt))


def _names(prompt: str) -> frozenset[str]:
    """Capitals within a sentence, where not every noun has one."""
    inside = (word for before, word in pairwise(prompt.split()) if before[-1] not in ".!?:")
    capitals = (word.casefold() for word in inside if word[0].isupper() and len(word) > 1)
    return frozenset() if language_of(prompt) == "de" else frozenset(capitals)


def _results(messages: Iterable[Message]) -> tuple[ToolResult, ...]:
    return tuple(result for message in messages for result in message.tool_results)


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and bool(message.text.strip() or not message.tool_results)


def _is_no_claim(said: str) -> bool:
    return _ASKS.search(said.rstrip()) is not None or has_word_anywhere(said, "negation")


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages[-40:]:
        yield message.text
        yield from (result.text for result in message.tool_results)
        yield from map(_written, message.tool_calls)


def _written(call: ToolCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False, default=str)


def _keys(prompt: str) -> list[str]:
    """Numbers and codes by which a prompt names one thing: nobody knows of it by heart."""
    return [key for key in _KEY.findall(prompt) if not _YEAR.fullmatch(key)]


def _is_round(fact: Fact) -> bool:
    return fact.kind == "number" and any(value % ROUND == 0 for value, _ in fact.values)


def _specific(said: str) -> list[Fact]:
    """The figures, times, codes and addresses of a sentence, but for years, quotations, and ways to count."""
    found = [fact for fact in facts(_QUOTED.sub(" ", said)) if not (fact.is_small or fact.kind == "name")]
    return [fact for fact in found if not _YEAR.fullmatch(fact.text)]


def _ends_of(text: str) -> str:
    half = READ // 2
    return text if len(text) <= READ else f"{text[:half]}\n{text[-half:]}"


def _words(text: str) -> str:
    said = " ".join(_MARKS.sub(" ", text[: 4 * LONGEST]).split())[:LONGEST]
    return said if len(re.findall(r"[^\W\d]{2,}", said)) > 3 else ""
