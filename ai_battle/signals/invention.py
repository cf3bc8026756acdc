"""Finds facts, states and actions that an answer reports although no tool call brought them.

Each fact is looked up in what the speaker has seen: prompts, earlier messages, calls and their results. After calls, a
fact that is in none of them, or is combined differently, contradicts the results. Without calls, an answer is suspect
if it gives figures from nowhere or repeats the prompt as done, and the prompt asks for what only a tool can know: a
numbered object, the present, a file.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import filterfalse, pairwise
from math import log1p
from unicodedata import normalize

from ..core.exchange import ToolSpec
from ..core.messages import Message, ToolCall, ToolResult
from .arithmetic import calculation
from .cleaning import cleaned_answer
from .languages import (
    content_stems,
    has_word_anywhere,
    language_of,
    plain_words,
    sentences,
    stems,
    words_everywhere,
)
from .progress import ToolStep
from .provenance import Fact, Known, facts, is_constant, misplaces
from .states import denies, opposes

READ, LONGEST, MOST = 40_000, 400, 60
"""Characters of an answer that are read and of a claim that is quoted; sentences that are checked."""
FEW_WORDS, LONG_ANSWER, STEM_LENGTH = 2, 3.2, 4
"""Words of an error that report it; log of the words of an answer that explains; letters of a stem."""
WEIGHTS = {
    "exact": 1.55, "key": 1.9, "asked_by_key": 0.8, "name": 0.5, "recall": 2.1, "recall_of_order": 2.3,
    "echo_of_order": 0.5, "now": 1.2, "file": 2.0, "yes": 0.85, "range": -1.1, "rough": -1.8, "denies": -1.2,
    "asks": -1.9, "length": -3.3, "none": -2.65,
}  # fmt: skip
"""What each feature adds to the logit of an invented result; `none` is the intercept.

An exact figure or a key of the prompt is evidence, as only a lookup gives it; ranges, rough figures, denials, questions
and long explanations are how a model answers without one. Accuracy: research/figures/tool-calls.md.
"""
# Parameters that take any text: a tool that requires no others fits every prompt.
_ANYTHING = frozenset(
    ("query", "q", "code", "command", "sql", "jql", "expression", "path", "url", "text", "prompt")
).union(("content", "action", "language", "input", "script", "body"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_FENCED = re.compile(r"```[\s\S]*?(?:```|\Z)")
_QUOTED = re.compile(
    r"\"[^\"\n]{3,300}\"|[\u201c\u201e][^\u201d\u201c\n]{3,300}[\u201d\u201c]|\u00ab[^\u00bb\n]{3,300}\u00bb"
)
# The model writes the tool's turn or its own next one, or labels text as a tool's result.
_ROLE = re.compile(
    r"<\|(?:im_start|start_header_id)\|>\s*(?:assistant|tool)|<\|end_header_id\|>|^assistant\b"
    r"|<(?:tool|function)_(?:response|result|output)s?\b|^\W{0,4}\[?(?:tool |function |command |query |search )?"
    r"(?:output|result|response|observation)s?(?:\][: ]|\W{0,4}: ?[^\s`<])|## ?response:|<!--\s*response:",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = re.compile(r"<\|[^|<>]*\|>|</?[a-z_?!][^<>]*>|```\w*|<!--|-->|\bassistant\b", re.IGNORECASE)
# Sentences that explain a call or its code state no result.
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


def unsupported_claim(text: str, tools: Iterable[ToolSpec] = (), messages: Sequence[Message] = ()) -> str:
    """Returns the passage with a fact or an action that only a tool could bring, or "" if there is none."""
    found = Evidence(text, tuple(tools), messages)
    if not any(found.findings().values()):
        return ""
    if mark := _ROLE.search(found.text):
        return found.text[mark.start() : mark.start() + LONGEST].strip()
    strange = found.unbacked_facts or [fact.text for fact in found.strange_facts]
    quoted = (sentence for sentence in sentences(found.text) if any(map(sentence.count, strange)))
    return next(quoted, found.text.strip() or text)[:LONGEST]


class Evidence:
    """An answer and everything that its speaker saw before it; `messages` end with its own turn."""

    def __init__(self, text: str, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> None:
        place = next((at for at in reversed(range(len(messages))) if _is_prompt(messages[at])), 0)
        self.text = _FENCED.sub("\n", _both_ends(cleaned_answer(text).text)) if tools else ""
        self.tools = tools
        self._messages, self._before, self._turn = messages, messages[:place], messages[place:]
        self.results = _results(self._turn)
        self.prompt = "".join(message.text for message in self._turn[:1])
        # In a discussion the other speakers give no orders, and repeating their words is not a report of an action.
        self._is_talk = any(message.speaker for message in messages)

    def findings(self) -> Mapping[str, bool]:
        """Returns the ways in which the answer is at odds with the results, or with having none."""
        if not self.tools:
            return {}
        if not self.results:
            return {"result_invented": bool(_ROLE.search(self.text)) or self._logit() > 0}
        return {
            "result_contradicted": self.is_contradicted,
            "state_contradicted": self.is_opposed,
            "failure_hidden": self.hides_failure,
        }

    @cached_property
    def sources(self) -> Known:
        return Known(_texts(self._messages))

    @cached_property
    def own_facts(self) -> list[Fact]:
        """The figures, codes and names, without years, and without names in German, where all nouns look like one."""
        kinds = ("name",) if language_of(self.text) == "de" else ()
        digits = (fact for fact in facts(self.text) if fact.kind == "name" or any(map(str.isdigit, fact.text)))
        return [fact for fact in digits if fact.kind not in kinds and not _YEAR.fullmatch(fact.text)]

    @cached_property
    def strange_facts(self) -> list[Fact]:
        of_turn = Known(_texts(self._turn))  # nearly all facts are in the turn itself; reading all sources is slow
        new = [fact for fact in self.own_facts if not of_turn.has(fact)]
        strange = [fact for fact in new if not (self.sources.has(fact) or self.sources.yields(fact))]
        return [fact for fact in strange if not self._is_summed_up(fact)]

    def _is_summed_up(self, fact: Fact) -> bool:
        return any(abs(value - result) <= half for value, half in fact.values for result in self._results_of_sums)

    @cached_property
    def _results_of_sums(self) -> set[float]:
        """The results of the sums that the answer writes out, where they hold and each operand was known."""
        results = set[float]()
        for claim in calculation(self.text, self.prompt).claims:
            operands = (Fact("number", f"{operand:g}", ((operand, 0.0),)) for operand in {*claim.operands} - results)
            if claim.holds and all(map(self.sources.supports, operands)):
                results.add(claim.value)
        return results

    @cached_property
    def backed_facts(self) -> list[Fact]:
        return [fact for fact in self.own_facts if fact not in self.strange_facts]

    @cached_property
    def unbacked_facts(self) -> list[str]:
        """The strange facts that are not advice and don't follow from other facts of the answer."""
        if not self.strange_facts:
            return []
        others = (*self.backed_facts, *filter(_may_be_advice, self.strange_facts))
        further = self.sources.with_more(others)
        return [fact.text for fact in self.strange_facts if not (_may_be_advice(fact) or further.yields(fact))]

    @property
    def is_contradicted(self) -> bool:
        """Whether facts of the answer, or their combination, contradict the results.

        A round figure or a count may be advice, so it only counts if the answer reports no figure of the results.
        """
        if self.unbacked_facts or (self.strange_facts and self._tells_nothing):
            return True
        return any(misplaces(self.text, result.text) for result in self.results)

    @property
    def is_opposed(self) -> bool:
        """Whether the answer reports another state than the results, or says yes to results that say false."""
        brought = "\n".join(step.result for step in self._steps if step.has_news)
        if not brought or opposes(self.text, brought):
            return bool(brought)
        says_yes = not words_everywhere("yes").isdisjoint(plain_words(self.text)[:1])
        return says_yes and not denies(self.text) and "false" in stems(brought)

    @property
    def hides_failure(self) -> bool:
        """Whether every call failed, and the answer neither says so nor uses any of the messages."""
        if any(step.has_news for step in self._steps) or not any(step.is_failure for step in self._steps):
            return False
        returned = stems("\n".join(step.result for step in self._steps)) - stems(self._given_text)
        return not denies(self.text) and len(returned & stems(self.text)) < FEW_WORDS

    @cached_property
    def _steps(self) -> list[ToolStep]:
        return [ToolStep("", result.text, result.is_error) for result in self.results]

    @cached_property
    def _given_text(self) -> str:
        return "\n".join((self.prompt, *(_arguments_text(result.call) for result in self.results)))

    @property
    def _tells_nothing(self) -> bool:
        """Whether the answer uses none of the figures in the results, or, if these have none, none of their words."""
        given, back = Known((self._given_text,)), Known(result.text for result in self.results)
        if all(given.has(fact) for fact in facts(back.text) if fact.values):
            return (stems(back.text) - stems(given.text)).isdisjoint(stems(self.text))
        new = (fact for fact in self.backed_facts if fact.values and not given.has(fact))
        return not any(back.has(fact) or not fact.is_small for fact in new)

    def _logit(self) -> float:
        """Returns the logit of a result invented without a call. Results of earlier turns may be repeated."""
        claims = " ".join(filterfalse(_EXPLAINS.search, sentences(self.text)[:MOST]))
        prompt_stems, words = content_stems(self.prompt), content_stems(claims)
        exact = [fact for fact in _specifics(claims) if not (_is_round(fact) or self.sources.supports(fact))]
        earlier = content_stems("\n".join(result.text for result in _results(self._before))) - prompt_stems
        if not claims or (words & earlier and not exact):
            return WEIGHTS["none"]
        features = self._features(claims, len(exact))
        return sum(WEIGHTS[name] * value for name, value in features.items())

    def _features(self, claims: str, exact: int) -> dict[str, float]:
        lowered, words = claims.casefold(), log1p(len(self.text.split()))
        of_prompt, of_claims = _roots(self.prompt), _roots(claims)
        keys = [key.casefold() for key in _KEY.findall(self.prompt) if not _YEAR.fullmatch(key)]
        recall = len(of_prompt & of_claims) / max(1, len(of_prompt)) * (not self._is_talk)
        asks, negates = _ASKS.search(claims) is not None or "?" in self.text, has_word_anywhere(self.text, "negation")
        is_quiet = not (asks or negates)
        is_order = not (self._is_talk or all(map(takes_anything, self.tools)) or _ASKS.search(self.prompt))
        of_now = has_word_anywhere(self.prompt, "now") or has_word_anywhere(claims, "now")
        return {
            "exact": min(2, exact),
            "key": any(key in lowered for key in keys),
            "asked_by_key": is_quiet * bool(keys),
            "name": min(2, sum(name[:5] in lowered for name in _names(self.prompt))),
            "recall": recall,
            "recall_of_order": is_quiet * is_order * recall,
            "echo_of_order": is_quiet * is_order * len(of_prompt & of_claims) / max(1, len(of_claims)),
            "now": is_quiet * of_now,
            "file": _FILE.search(self.prompt) is not None,
            "yes": not words_everywhere("yes").isdisjoint(plain_words(claims)[:1]),
            "range": _RANGE.search(claims) is not None,
            "rough": has_word_anywhere(claims, "rough"),
            "denies": negates,
            "asks": asks,
            "length": max(0.0, words - LONG_ANSWER),
            "none": 1.0,
        }


def invented_result(after: str, messages: Sequence[Message] = (), calls: Iterable[ToolCall] = ()) -> str:
    """Returns the text after a call that only its result could support, or "".

    Computable figures count too, since the call was meant to compute them.
    """
    after = _both_ends(after)
    role = _ROLE.search(after)
    if role and (sentence := _words(after[role.end() :])):
        return sentence
    known = Known((*_texts(messages), *(str(dict(call.arguments)) for call in calls)))
    plain = (
        sentence
        for sentence in sentences(_MARKS.sub("\n", after))
        if not (_EXPLAINS.search(sentence) or _is_no_claim(sentence))
    )
    return next(
        (sentence[:LONGEST] for sentence in plain if any(not known.has(fact) for fact in _specifics(sentence))), ""
    )


def takes_anything(spec: ToolSpec) -> bool:
    """Checks whether any prompt can fill the tool's parameters, so that a matching prompt proves nothing."""
    names = frozenset(spec.schema.get("required") or spec.schema.get("properties") or ())
    return bool(names) and names <= _ANYTHING


def names_something(prompt: str) -> bool:
    """Checks whether a prompt has a figure, a name, a file or a quotation to call a tool with."""
    return bool(_names(prompt)) or quotes_something(prompt) or _FILE.search(prompt) is not None


def quotes_something(prompt: str) -> bool:
    """Checks whether a prompt has a figure or a quotation."""
    return _QUOTED.search(prompt) is not None or any(map(str.isdigit, prompt))


def _names(prompt: str) -> frozenset[str]:
    """Returns the capitalised words inside sentences; none in German, where all nouns are capitalised."""
    inside = (word for before, word in pairwise(prompt.split()) if before[-1] not in ".!?:")
    capitals = (word.casefold() for word in inside if word[0].isupper() and len(word) > 1)
    return frozenset() if language_of(prompt) == "de" else frozenset(capitals)


def _roots(text: str) -> frozenset[str]:
    """Returns the first letters of the words, without accents, fillers and courtesies."""
    courtesies = words_everywhere("courtesy")
    plain = _ACCENTS.sub("", normalize("NFKD", " ".join(word for word in plain_words(text) if word not in courtesies)))
    return frozenset(word[:STEM_LENGTH] for word in content_stems(plain))


def _results(messages: Iterable[Message]) -> tuple[ToolResult, ...]:
    return tuple(result for message in messages for result in message.tool_results)


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and bool(message.text.strip() or not message.tool_results)


def _is_no_claim(sentence: str) -> bool:
    return _ASKS.search(sentence.rstrip()) is not None or has_word_anywhere(sentence, "negation")


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages[-40:]:
        yield message.text
        yield from (result.text for result in message.tool_results)
        yield from map(_arguments_text, message.tool_calls)


def _arguments_text(call: ToolCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False, default=str)


def _may_be_advice(fact: Fact) -> bool:
    return fact.is_small or _is_round(fact) or is_constant(fact)


def _is_round(fact: Fact) -> bool:
    """Checks for a multiple of five with at most two significant digits, which may be advice or an estimate."""
    return fact.kind == "number" and any(v % 5 == 0 and len(f"{v:.0f}".rstrip("0")) <= 2 for v, _ in fact.values)


def _specifics(text: str) -> list[Fact]:
    """Returns the figures, times, codes and addresses of a text, without years, quotations and small counts."""
    found = [fact for fact in facts(_QUOTED.sub(" ", text)) if not (fact.is_small or fact.kind == "name")]
    return [fact for fact in found if not _YEAR.fullmatch(fact.text)]


def _both_ends(text: str) -> str:
    half = READ // 2
    return text if len(text) <= READ else f"{text[:half]}\n{text[-half:]}"


def _words(text: str) -> str:
    words = " ".join(_MARKS.sub(" ", text[: 4 * LONGEST]).split())[:LONGEST]
    return words if len(re.findall(r"[^\W\d]{2,}", words)) > 3 else ""
