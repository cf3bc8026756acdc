"""Results that no tool returned: where an answer tells them all the same.

Each fact of an answer is looked up in what its speaker has seen: prompts, earlier messages, calls and their results.
One that is in none of them, of the kind that a tool at hand looks up, is suspect; so is a deed of the kind that a tool
does, where no such call was made.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from ..core.exchange import ToolSpec
from ..core.messages import Message, ToolCall, ToolResult
from .arithmetic import claims
from .cleaning import cleaned
from .provenance import Fact, Known, facts
from .states import named
from .stems import stems
from .words import content_stems, sentences

READ, LONGEST, SHORT, WORDED = 40_000, 400, 60, 30
"""Characters of an answer that are read and of a claim that is told; words of an answer that only reports, and those of
a prompt that only looks something up."""
_FENCED = re.compile(r"```[\s\S]*?(?:```|\Z)")
_QUOTED = re.compile(
    r"\"[^\"\n]{3,300}\"|[\u201c\u201e][^\u201d\u201c\n]{3,300}[\u201d\u201c]|\u00ab[^\u00bb\n]{3,300}\u00bb"
)
# A model that plays the other roles too, the tool's or its own behind it, or takes the form of a tool's result.
_ROLE = re.compile(
    r"<\|(?:im_start|start_header_id)\|>\s*(?:assistant|tool)|<\|end_header_id\|>|^assistant\b"
    r"|<(?:tool|function)_(?:response|result|output)s?\b|^\W{0,4}\[?(?:tool |function |command |query |search )?"
    r"(?:output|result|response|observation)s?(?:\][: ]|\W{0,4}: ?[^\s`<])|#{2,} ?response:|<!--\s*response:",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = re.compile(r"<\|[^|<>]*\|>|</?[a-z_?!][^<>]*>|```\w*|<!--|-->|\bassistant\b", re.IGNORECASE)
_CALL = re.compile(r"\w\([^()\n]{0,400}=|^\W{0,4}\[\w|\w=['\"\w]")
_NAMED = re.compile(r"[\w#-]{0,30}(?:\d{4}|[a-zA-Z][-_]?\d|\d-?[a-zA-Z]|\w\.[a-z])[\w.-]{0,40}")
_DID = re.compile(
    r"\b(?:i|we)(?:'ve| have| had)?(?: (?:just|also|now|then|quickly|went ahead and|went and))* "
    r"(?!need|want|like|agree|note)(?:[a-z]{2,12}ed|ran|found|got|put|sent|read|wrote|made)\b"
    r"|^(?:just )?(?:ran|having [a-z]{2,10}ed|after [a-z]{3,12}ing)\b",
    re.IGNORECASE,
)
# What explains a call or its code states no result of it.
_EXPLAINS = re.compile(
    r"^\W{0,8}(?:import|print|def|#)\b|\w_\w|[\w)\]] ?==? |'\w+':|\w\(|\b(?:will|please|call)\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\ds?")
OF_ANY = frozenset(("web", "files", "programs"))
LOOKED_UP = frozenset(("weather", "money", "time", "things", "files", "programs", "routes"))


def claimed(text: str, tools: Iterable[ToolSpec] = (), messages: Sequence[Message] = ()) -> str:
    """Where an answer tells a fact or a deed that only a tool could bring, and no call did; empty where it doesn't."""
    specs = tuple(tools)
    turn = _Turn(specs, messages)
    if not specs or turn.wants_fiction:
        return ""
    plain = _FENCED.sub("\n", _ends_of(cleaned(text).text))
    if not turn.results and (mark := _ROLE.search(plain)):
        return plain[mark.start() : mark.start() + LONGEST]
    is_report = len(plain.split()) <= SHORT and ":\n" not in plain
    is_report = is_report and not named(plain, "question") and not claims(plain)
    return next((said[:LONGEST] for said in sentences(plain) if turn.is_suspect(said, is_report=is_report)), "")


def invented(after: str, messages: Sequence[Message] = (), calls: Iterable[ToolCall] = ()) -> str:
    """What stands behind a call in the same text and only its result could tell; empty when there is nothing such."""
    after = _ends_of(after)
    role = _ROLE.search(after)
    if role and (said := _words(after[role.end() :])):
        return said
    known = Known((*_texts(messages), *(str(dict(call.arguments)) for call in calls)))
    plain = sentences(_MARKS.sub("\n", after))
    return next((said[:LONGEST] for said in plain if not _is_no_claim(said) and _is_new(said, known)), "")


def _is_new(said: str, known: Known) -> bool:
    """Whether it has figures or names that were not there, even such as one could calculate: a call is to do that."""
    if _EXPLAINS.search(said):
        return False
    return any(not known.has(fact) for fact in _figures(said))


class _Turn:
    """What the tools can bring, and what was there before an answer."""

    def __init__(self, specs: Sequence[ToolSpec], messages: Sequence[Message]) -> None:
        place = next((at for at in reversed(range(len(messages))) if _is_prompt(messages[at])), 0)
        self.results = _results(messages[place:])
        self._prompt = "".join(message.text for message in messages[place : place + 1])
        self._known = Known(_texts(messages))
        figures = sum(fact.kind == "number" for fact in facts(self._prompt))
        self._calculates = figures > 1 or len(self._prompt.split()) > WORDED
        used = {result.call.name for result in self.results if not result.is_error}
        told = [f"{_words_of(spec.name)} {spec.description}" for spec in specs if spec.name not in used]
        self._all_ran = bool(self.results) and not told
        self._kinds = frozenset[str]().union(*(named(each, "tool") for each in told))
        self._about = frozenset[str]().union(*map(_stems, told))
        backing = (result.call.name for result in _results(messages) if not result.is_error)
        self._used = frozenset[str]().union(
            *(_stems(_words_of(name)) | named(_words_of(name), "tool") for name in backing)
        )
        self._is_about_tools = bool(_stems(self._prompt) & self._about)
        # What the others of a discussion say is no order, and an answer to it reports nothing.
        self._is_talk = any(message.speaker for message in messages)
        self._ran = any("programs" in named(_words_of(name), "tool") for name in used)

    @property
    def wants_fiction(self) -> bool:
        """What is asked for as an example is made up."""
        return _is_hedged(self._prompt)

    def is_suspect(self, said: str, *, is_report: bool) -> bool:
        """Questions, plans, conditions, refusals, and calls that are only written claim nothing."""
        if _is_no_claim(said) or (self._ran and "web" not in named(said, "tool")):
            return False
        return self._witnesses(said) or (is_report and (self._tells(said) or self._reports(said)))

    def _tells(self, said: str) -> bool:
        news = named(said, "weather") - named(self._known.text, "weather")
        if news and "weather" in self._kinds and not named(self._prompt, "weather") and self._is_about_prompt(said):
            return True
        return any(self._looks_up(fact) for fact in _strange(said, self._known))

    def _looks_up(self, fact: Fact) -> bool:
        """The answer to a worded problem, or to a prompt with two figures or more, may be calculated."""
        if fact.kind == "number" and self._calculates:
            return False
        if fact.kind == "address":
            return bool(self._kinds & {"web", "files"})
        if self._kinds & LOOKED_UP <= {"programs", "files"}:
            return self._is_about_tools
        return fact.kind == "code" or bool(self._kinds & LOOKED_UP)

    def _witnesses(self, said: str) -> bool:
        """It says to have used a tool, or calls one to witness."""
        plain = _QUOTED.sub(" ", said)
        of_tools = (_stems(plain) & (self._about | self._used | {"tool"})) | (
            named(plain, "tool") & (self._kinds | OF_ANY)
        )
        if not of_tools or self._all_ran or named(plain, "plan"):
            return False
        if not (_DID.search(plain) or named(plain, "self") or named(plain, "witness")):
            return False
        figures = list(facts(plain))
        is_retold = all(map(self._known.has, figures))
        if (figures and is_retold) or of_tools & self._used:
            return not self.results and not is_retold
        return not named(plain, "other") or bool(_strange(plain, self._known))

    def _reports(self, said: str) -> bool:
        """It tells as done what was asked for, or of the very thing that was asked about."""
        if named(said, "plan") or (self._used and not self._about & _stems(self._prompt)):
            return False
        if self._kinds & {"things", "files"} and {*_NAMED.findall(said)} & {*_NAMED.findall(self._prompt)}:
            return True
        if "deeds" not in self._kinds or named(self._prompt, "question"):
            return False
        return self._is_about_prompt(said) and (self._is_about_tools or not self._is_talk)

    def _is_about_prompt(self, said: str) -> bool:
        return bool(_tokens(said) & _tokens(self._prompt))


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and bool(message.text.strip() or not message.tool_results)


def _is_no_claim(said: str) -> bool:
    asks = said.rstrip().endswith(("?", "\uff1f", "\u061f"))
    return asks or _is_hedged(said) or bool(named(said, "denial")) or _CALL.search(said) is not None


def _results(messages: Iterable[Message]) -> tuple[ToolResult, ...]:
    return tuple(result for message in messages for result in message.tool_results)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem.rstrip("s") for stem in stems(text))


def _tokens(text: str) -> frozenset[str]:
    """Words, figures, and pairs of characters where words have no spaces."""
    plain = (word.strip(".,;:!?\u0964\u060c") for word in text.casefold().split())
    return content_stems(text) | frozenset(word for word in plain if not word.isalpha() or not word.isascii())


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages[-40:]:
        yield message.text
        yield from (result.text for result in message.tool_results)
        yield from (str(dict(call.arguments)) for call in message.tool_calls)


def _words_of(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_./:-]", " ", name)


def _strange(said: str, known: Known) -> list[Fact]:
    """The facts of a sentence that nothing supports."""
    return [fact for fact in _figures(said) if not known.supports(fact)]


def _figures(said: str) -> list[Fact]:
    found = facts(_QUOTED.sub(" ", said))
    return [fact for fact in found if not (fact.is_small or _YEAR.fullmatch(fact.text))]


def _is_hedged(said: str) -> bool:
    return bool(named(said, "hedge"))


def _ends_of(text: str) -> str:
    half = READ // 2
    return text if len(text) <= READ else f"{text[:half]}\n{text[-half:]}"


def _words(text: str) -> str:
    said = " ".join(_MARKS.sub(" ", text[: 4 * LONGEST]).split())[:LONGEST]
    return said if len(re.findall(r"[^\W\d]{2,}", said)) > 3 else ""
