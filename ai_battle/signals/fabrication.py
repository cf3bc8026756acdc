"""Results that no tool returned: where an answer speaks of them all the same."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ..core.exchange import ToolSpec
from ..core.messages import Message
from ._claims.past import ANY_TOOL, Past
from ._claims.phrases import HEDGE
from ._claims.result_marks import mark_in
from ._claims.sentences import LONGEST, claim_in
from ._claims.tool_words import toolbox
from .words import sentences

READ = 40_000
"""Characters of an answer that are read; of a longer one as much of its beginning as of its end."""
_FENCED = re.compile(r"```[\s\S]*?(?:```|\Z)")
_QUOTED = re.compile(r"\"[^\"\n]{3,300}\"|[“„][^”“\n]{3,300}[”“]|«[^»\n]{3,300}»|「[^」\n]{1,300}」")
# What is asked for is made up.
_FICTION = re.compile(
    r"\b(?:stor(?:y|ies)|poem|tale|scene|dialogue|sketch|novel|hypothetical\w*|fiction\w*|made[- ]up"
    r"|make (?:\w+ ){1,3}up|pretend|role-?play|invent(?:ed)?|geschichte|histoire|historia|cuento)\b|故事"
    r"|\b(?:show|give|write|draft|make|create|zeig\w*|gib|montre\w*|donne\w*|muéstra\w*|dame)\b[^.?!\n]{0,40}"
    r"\b(?:examples?|sample|mock|template|transcript|beispiel|exemple|ejemplo)\b|例子|示例",
    re.IGNORECASE,
)
# A model that plays the other roles too: the tool's, or its own after the tool's.
_ROLE = re.compile(
    r"<\|(?:im_start|start_header_id)\|>\s*(?:assistant|tool)|assistant<\|end_header_id\|>|^assistant\b"
    r"|<tool_(?:response|result|output)|<function_results?|#{2,} ?response:|<!--\s*response:",
    re.IGNORECASE | re.MULTILINE,
)
_LABELLED = re.compile(r"^\W*(?:output|result|response|observation)s?\W{0,4}: ?[^\s`<{]", re.IGNORECASE)
_MARKS = re.compile(r"<\|[^|<>]*\|>|</?[a-z_?!][^<>]*>|```\w*|<!--|-->|\bassistant\b", re.IGNORECASE)
_VALUE = re.compile(r"\d|\bis an? [a-z-]+ |\"[^\"]+\"|\b[A-Z][a-z]+ [A-Z][a-z]+\b")
_STATES = re.compile(
    r"\b(?:is|are|was|were|it's|there's|contains|departs|arrives|costs)\b(?!:)|: ?\$?\d[\d,.]{2}", re.IGNORECASE
)
_DONE = re.compile(
    r"\b(?:has|have) been (?:successfully )?(?:sent|created|saved|updated|deleted|booked|scheduled|added|written)\b",
    re.IGNORECASE,
)
# What explains the call, or plans the next one, states no result of it.
_EXPLAINS = re.compile(
    r"\b(?:will|would|can|could|should|may|might|must|cannot|unable|if|please|let|let's|going to|needs?|needed|want)\b"
    r"|\b(?:no|not|unfortunately|examples?|assum\w+|hypothetical\w*|note|you|your|i'll|we|expected?|however)\b"
    r"|\b(?:functions?|calls?|called|calling|parameters?|arguments?|code|tools?|provided|python|json|api|object)\b"
    r"|\b(?:request(?:ed)?|question|default\w*|optional|specif\w+|given|list of|array|using|set to|returns?)\b"
    r"|\b(?:schema|in this case|explanation)\b"
    r"|\b(?:print|line|def|import|required|placeholder)\b|\w\(|_|'\w+':|[{}=]|\$X|\[[A-Z]|^(?:to|for) |:$",
    re.IGNORECASE,
)


_STATES_ELSEWHERE = re.compile(
    r"\b(?:beträgt|betragen|ist|sind|es gibt|est|sont|il y a|es|son|hay|tiene)\b|[\u4e00-\u9fff](?:是|为|有|共)",
    re.IGNORECASE,
)
_EXPLAINS_ELSEWHERE = re.compile(
    r"\b(?:wird|kann|sobald|wenn|falls|sollte|aufruf|funktion|wie gewünscht|paramètres?|appel|fonction|sera|peut|si|dès"
    r"|comme|parámetros?|llamada|función|será|puede|cuando|como)\b|参数|调用|函数|会|将|可以|如果|请",
    re.IGNORECASE,
)


def claimed(text: str, tools: Iterable[ToolSpec] = (), messages: Sequence[Message] = ()) -> str:
    """Where an answer says what a tool returned and no call stands behind it; empty when it says nothing such.

    `messages` are what the speaker has seen and done up to the answer: calls of this turn back what is said of tools of
    their kind, earlier ones what repeats their results, and what others have told may be told again.
    """
    box, past, text = toolbox(tools), Past(messages), _ends_of(text)
    if _FICTION.search(past.asked):
        return ""
    for said, blanked in _prose(text):
        if (claim := claim_in(blanked, box)) and not past.backs(claim, said):
            return said[:LONGEST]
    if (mark := mark_in(text, box)) and not past.backs(ANY_TOOL, mark):
        return mark[:LONGEST]
    return ""


def _ends_of(text: str) -> str:
    half = READ // 2
    return text if len(text) <= READ else f"{text[:half]}\n{text[-half:]}"


def _prose(text: str) -> Iterator[tuple[str, str]]:
    """The sentences outside of code, each as it stands and without what it quotes."""
    plain = _QUOTED.sub(_blank, _FENCED.sub(_blank_lines, text))
    at = 0
    for blanked in sentences(plain):
        at = plain.index(blanked, at)
        yield text[at : at + len(blanked)], blanked
        at += len(blanked)


def _blank(quoted: re.Match[str]) -> str:
    return " " * len(quoted.group())


def _blank_lines(fenced: re.Match[str]) -> str:
    return "\n" * len(fenced.group())


def invented(after: str, messages: Sequence[Message] = ()) -> str:
    """What stands behind a call in the same text and only its result could tell; empty when there is nothing such.

    What only repeats figures of `messages`, those before the call, is known without its result.
    """
    after, past = _ends_of(after), Past(messages)
    role = _ROLE.search(after)
    if role and (said := _words(after[role.end() :])) and not HEDGE.search(sentences(said)[0].lower()):
        return said
    plain = sentences(_MARKS.sub("\n", after))
    stated = (said[:LONGEST] for said in plain if _asserts(said) and not past.tells(said))
    return claimed(after, (), messages) or next(stated, "")


def _asserts(said: str) -> bool:
    if _LABELLED.match(said):
        return True
    if _DONE.search(said) and not HEDGE.search(said.lower()):
        return True
    if _EXPLAINS.search(said):
        return False
    in_english = _VALUE.search(said) and _STATES.search(said) and len(said.split()) > 3
    return bool(in_english) or _asserts_elsewhere(said)


def _asserts_elsewhere(said: str) -> bool:
    """In German, French, Spanish and Chinese."""
    stated = re.search(r"\d", said) and _STATES_ELSEWHERE.search(said)
    return bool(stated) and not _EXPLAINS_ELSEWHERE.search(said)


def _words(text: str) -> str:
    said = " ".join(_MARKS.sub(" ", text[: 4 * LONGEST]).split())[:LONGEST]
    return said if len(re.findall(r"[^\W\d]{2,}", said)) > 3 else ""
