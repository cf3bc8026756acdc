"""Checks whether an answer leaves work undone, by comparing the request with the calls, their results and the text.

Each finding is evidence and no proof, since asking back or being brief may be right. So all are weighed together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from unicodedata import normalize

from ..core.exchange import ToolSpec
from ..core.messages import ToolResult
from ..signals.invention import takes_anything
from ..signals.languages import UNSPACED, has_word, language_of, name_stems, plain_words, words_everywhere
from ..signals.progress import FAILURE, ToolStep, tells_failure
from ..signals.provenance import Fact, facts
from ..signals.refusals import QUESTION_MARKS, gives_up, only_announces, refuses
from ..signals.states import denies

LONGEST, ROOT_LENGTH, MOST_PARTS, FEW_WORDS = 400, 4, 6, 3
"""Characters of an answer that is judged; equal first letters of two forms of a word; parts of a request that are
counted; words of an empty result."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W\d_]{3,}|\d+")
_PART = re.compile(r"[,;:.!?]\s|\b(?:and|then|und|dann|et|puis|y|oraz|ve)\b", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w/.])(?=\S*[a-z])[\w-]+(?:[./@][\w-]+)+")
_NAME = re.compile(r"(?<=[^\s.!?:] )(?:[A-Z\u00c0-\u00de\u0410-\u042f][^\W\d_]{3,}|[A-Za-z]{1,4}-?\d{1,6}\b)")
_FIGURE = re.compile(
    r"(?P<name>[^\W\d_]{3,})\"?\s?[:=]\s?(?P<value>\d[\d.,:]*)(?!\w)"
    r"|(?<![\w.:,])(?P<count>\d[\d.,:]*) (?P<counted>[^\W\d_]{3,})"
)
_VERDICT = re.compile(r"\W{0,3}(?:yes|no|not|ja|nein|oui|non|s[i\u00ed])\b", re.IGNORECASE)
_PLEASE = re.compile(r"\b(?:please|bitte|veuillez|merci de|s'il (?:te|vous)|por favor|per favore)\b", re.IGNORECASE)
# Nothing was done: "0 of 812 rows", "Imported: 0", "413 payload too large".
_ZERO_RESULT = re.compile(r"\b0 ?(?:of|von|sur|de|/)\b|: ?0(?![\w.,])|(?<![\w.,:])0 [^\W\d]|\"[45]\d\d [^\W\d]")
_DIGITS = re.compile(r"\d+")
_NAME_PART = re.compile(r"[^a-z]+")
# By name, for tools that don't say whether they write: a reading verb wins, as in "get_order" or "list_updates".
_READING = frozenset(("find", "get", "list", "search", "read", "show", "count", "check", "look", "fetch", "query"))
_ACTS: frozenset[str] = frozenset().union(
    ("add", "append", "apply", "archive", "assign", "bash", "book", "build", "buy", "cancel", "change", "clean"),
    ("clear", "close", "copy", "create", "delete", "deploy", "disable", "edit", "enable", "execute", "import"),
    ("insert", "install", "invite", "kill", "mark", "merge", "move", "open", "order", "pay", "post", "print"),
    ("publish", "push", "put", "remove", "rename", "replace", "reply", "reserve", "reset", "resize", "restart"),
    ("restore", "save", "send", "schedule", "set", "share", "start", "stop", "store", "submit", "transfer"),
    ("update", "upload", "write"),
)
# Any answer fulfils these words of a request.
_REPORT_WORDS: frozenset[str] = frozenset().union(
    ("say", "tell", "show", "try", "check", "see", "sag", "sage", "sagen", "zeig"),
    ("zeige", "nenn", "nenne", "dis", "dire"),
)
EVIDENCE: Mapping[str, tuple[float, str]] = {
    "asks": (2.5, "it asks back before it has looked with a tool"),
    "begs": (2.7, "it asks for something that a tool could find"),
    "speaks_of_itself": (2.4, "it speaks of itself, and has called no tool"),
    "gives_up_early": (1.0, "it gives up before it has called a tool"),
    "guesses": (1.2, "it answers a question, and has called no tool"),
    "no_tool_fits": (-1.3, ""),
    "announces": (0.7, "it announces what it has not done"),
    "changes_nothing": (0.8, "it was asked to do something, and has changed nothing"),
    "leaves_tool": (2.2, "it was asked to do something, and has changed nothing"),
    "no_news": (0.6, "it uses nothing that the tools returned"),
    "only_of_itself": (4.9, "it speaks of itself and uses nothing that the tools returned"),
    "half": (3.9, "it leaves out a part of the request, and so did the calls"),
    "leaves_file": (1.8, "the request names a file that no call has touched"),
    "other_name": (3.8, "something else was looked up than what the request names"),
    "other_value": (3.1, "something else was looked up than what the request names"),
    "hides_failure": (5.0, "it does not mention that the last call failed"),
    "other_figure": (3.8, "it gives another figure than the tools returned"),
}
"""What each finding adds to the logit of unfinished work, and its reason; learned by `research.unfinished`.

That no tool fits has half of its learned weight, since the tasks it was learned on have few tools each.
"""
NO_EVIDENCE = -2.4


def unfinished_work(end: "EndOfWork") -> str:
    """Returns why a short answer can't be the end of the work, or ""."""
    found = end.findings() if len(end.text) <= LONGEST else []
    if sum(EVIDENCE[name][0] for name in found) + NO_EVIDENCE <= 0:
        return ""
    return EVIDENCE[max(found, key=lambda name: EVIDENCE[name][0])][1]


@dataclass(frozen=True)
class EndOfWork:
    """An answer with its request, the `results` of the turn so far, and the `tools` offered.

    `is_first` means that nothing was answered before; later in a conversation, asking back is a normal turn.
    """

    text: str
    prompt: str
    results: Sequence[ToolResult]
    tools: Sequence[ToolSpec]
    is_first: bool = True

    def findings(self) -> list[str]:
        """Returns the names of the findings that suggest unfinished work."""
        looks = (*_ALWAYS, *(_WITH_CALLS if self.results else _WITHOUT_CALLS))
        return [look.__name__ for look in looks if look(self)]

    @cached_property
    def asked(self) -> frozenset[str]:
        return _roots(self.prompt)

    @cached_property
    def said(self) -> frozenset[str]:
        return _roots(self.text)

    @cached_property
    def arguments(self) -> str:
        """The names and arguments of all calls."""
        return "\n".join(" ".join((each.call.name, *each.call.arguments, *_values(each))) for each in self.results)

    @cached_property
    def returned(self) -> str:
        return "\n".join(result.text for result in self.results)

    @cached_property
    def found(self) -> frozenset[str]:
        return frozenset().union(*(_roots(result.text) for result in self.results))

    @cached_property
    def done(self) -> frozenset[str]:
        return _roots(self.arguments) | self.found

    @cached_property
    def is_question(self) -> bool:
        return self.prompt.rstrip().endswith(QUESTION_MARKS)

    @cached_property
    def asks_back(self) -> bool:
        return any(mark in self.text for mark in QUESTION_MARKS)

    @cached_property
    def is_of_itself(self) -> bool:
        language = language_of(self.text) or language_of(self.prompt) or "en"
        return has_word(self.text, language, "own")

    @cached_property
    def is_verdict(self) -> bool:
        return _VERDICT.match(self.text) is not None

    @cached_property
    def denies(self) -> bool:
        """Whether the answer denies in words that are not the prompt's: a mended error is still an error."""
        prompt_words = set(plain_words(self.prompt))
        own = " ".join(word for word in plain_words(self.text) if word not in prompt_words)
        return denies(own) or FAILURE.search(own) is not None

    @cached_property
    def tells_news(self) -> bool:
        """Whether the answer has something new from the results, a figure of its own, or a yes or no."""
        given = (self.prompt, self.arguments)
        return self.is_verdict or bool((self.said - self.asked) & self.found or _digits(self.text) - _digits(*given))

    @cached_property
    def idle_tools(self) -> list[ToolSpec]:
        """The tools that change something, if the prompt is an order and none of them was called."""
        if self.is_question or self.denies or self.asks_back:
            return []
        acting, called = list(filter(_acts, self.tools)), {result.call.name for result in self.results}
        return [] if any(tool.name in called for tool in acting) else acting


def announces(end: EndOfWork) -> bool:
    return only_announces(end.text, end.prompt)


def changes_nothing(end: EndOfWork) -> bool:
    return bool(end.idle_tools) and end.is_of_itself


def leaves_tool(end: EndOfWork) -> bool:
    return any(name_stems(tool.name) & name_stems(end.prompt) for tool in end.idle_tools)


def asks(end: EndOfWork) -> bool:
    return end.is_first and end.asks_back


def begs(end: EndOfWork) -> bool:
    return end.is_first and _PLEASE.search(end.text) is not None


def speaks_of_itself(end: EndOfWork) -> bool:
    return end.is_of_itself and not end.asks_back


def gives_up_early(end: EndOfWork) -> bool:
    return refuses(end.text) or gives_up(end.text, end.prompt)


def guesses(end: EndOfWork) -> bool:
    return end.is_question and not end.is_verdict


def no_news(end: EndOfWork) -> bool:
    return end.is_question and not end.tells_news


def only_of_itself(end: EndOfWork) -> bool:
    return end.is_of_itself and not end.tells_news and not _has_acted(end)


def half(end: EndOfWork) -> bool:
    """Checks whether a later part of the request shares no word with the calls, their results or the answer."""
    parts = [*filter(None, map(_roots, _PART.split(end.prompt)))]
    if len(end.results) >= len(parts) or language_of(end.prompt) in UNSPACED:
        return False
    return len(parts) <= MOST_PARTS and any(part.isdisjoint(end.done | end.said) for part in parts[1:])


def leaves_file(end: EndOfWork) -> bool:
    return any(name not in end.arguments and name not in end.returned for name in _FILE.findall(end.prompt))


def other_name(end: EndOfWork) -> bool:
    """Checks whether a name in both request and answer is nowhere in the work, while another name was looked up."""
    if language_of(end.prompt) == "de":  # German capitalises every noun
        return False
    seen, answer = _folded_text(f"{end.arguments}\n{end.returned}"), _folded_text(end.text)
    missing = [name for name in map(_folded_text, _NAME.findall(end.prompt)) if name not in seen and name[:5] in answer]
    known_text = f"{_folded_text(end.prompt)}\n{answer}"
    names = (value for each in end.results for value in _values(each) if _NAME.fullmatch(f"= {value}", 2))
    return bool(missing) and any(_folded_text(name)[:5] not in known_text for name in names)


def other_value(end: EndOfWork) -> bool:
    """Checks for a call with another value than request and answer name, such as another branch."""
    pairs = (pair for result in end.results for pair in result.call.arguments.items())
    return any(_is_other_value(name, str(value), end) for name, value in pairs)


def hides_failure(end: EndOfWork) -> bool:
    """Checks whether the last call failed or had no effect, and the answer does not mention it."""
    last = end.results[-1]
    if end.denies or not (_fails(last) or (not end.is_question and _ZERO_RESULT.search(last.text))):
        return False
    if _is_empty_search(end):
        return False
    shared_words = (_roots(last.text) - end.asked) & end.said or _digits(last.text) & _digits(end.text)
    return not shared_words


def _is_empty_search(end: EndOfWork) -> bool:
    """Checks whether the last call is the only empty one of several searches."""
    last = end.results[-1]
    if last.is_error or len(last.text.split()) > FEW_WORDS:
        return False
    return any(each.call.name == last.call.name and not _fails(each) for each in end.results)


def other_figure(end: EndOfWork) -> bool:
    """Checks whether the answer differs from the result's figure next to a word of the request."""
    figures = [fact for fact in facts(end.text) if fact.values]
    return bool(figures) and any(not any(map(fact.is_shown_as, figures)) for fact in _asked_figures(end))


def _asked_figures(end: EndOfWork) -> Iterator[Fact]:
    """Yields the figures of the last result next to a word of the request, if the name has one figure only."""
    figures: dict[str, set[str]] = {}
    for found in _FIGURE.finditer(end.results[-1].text):
        word = _folded_text(found["name"] or found["counted"])[:ROOT_LENGTH]
        figures.setdefault(word, set()).add(found["value"] or found["count"])
    for word, values in figures.items():
        if word in end.asked and len(values) == 1:
            yield from (fact for fact in facts(*values) if fact.values)


def no_tool_fits(end: EndOfWork) -> bool:
    """Checks whether no tool shares a word with the request or accepts any text."""
    return not any(takes_anything(tool) or _roots(_description_of(tool)) & end.asked for tool in end.tools)


_ALWAYS = (announces, changes_nothing, leaves_tool)
_WITHOUT_CALLS = (asks, begs, speaks_of_itself, gives_up_early, guesses, no_tool_fits)
_WITH_CALLS = (no_news, only_of_itself, half, leaves_file, other_name, other_value, hides_failure, other_figure)


def _has_acted(end: EndOfWork) -> bool:
    called = {result.call.name for result in end.results}
    return any(tool.name in called and _acts(tool) for tool in end.tools)


def _description_of(tool: ToolSpec) -> str:
    return " ".join((tool.name, tool.description, *(tool.schema.get("properties") or ())))


def _acts(tool: ToolSpec) -> bool:
    parts = set(_NAME_PART.split(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool.name).casefold()))
    return tool.writes or (parts.isdisjoint(_READING) and not parts.isdisjoint(_ACTS))


def _is_other_value(name: str, value: str, end: EndOfWork) -> bool:
    named = re.search(rf"\b{re.escape(name)} (\w+)", end.prompt, re.IGNORECASE)
    if not named or not value.isalnum() or value.casefold() in end.prompt.casefold():
        return False
    root = _roots(named[1])
    return bool(root) and root <= end.said and root.isdisjoint(end.done) and _roots(value).isdisjoint(end.said)


def _fails(result: ToolResult) -> bool:
    return tells_failure(ToolStep("", result.text, result.is_error))


def _values(result: ToolResult) -> list[str]:
    return [str(value) for value in result.call.arguments.values()]


def _digits(*texts: str) -> set[str]:
    return {digits.lstrip("0") for text in texts for digits in _DIGITS.findall(text)}


def _folded_text(text: str) -> str:
    return _ACCENTS.sub("", normalize("NFKD", text.casefold()))


@cache
def _stop_words() -> frozenset[str]:
    """Returns the words that say nothing about the subject of a request, in all languages."""
    kinds = ("function", "question", "courtesy", "own", "pointer", "now")
    return _REPORT_WORDS.union(_folded_text(word) for kind in kinds for word in words_everywhere(kind)) - {"list"}


@lru_cache(maxsize=256)  # each answer of a turn reads the same results
def _roots(text: str) -> frozenset[str]:
    return frozenset(
        word[:ROOT_LENGTH] for word in _WORD.findall(_folded_text(text.replace("_", " "))) if word not in _stop_words()
    )
