"""Results that no tool returned: where an answer speaks of them all the same."""

import re

from .words import sentences

LONGEST = 300

_TOOL = r"(?:tools?|functions?|(?:function |tool )?calls?|api|(?:web )?search(?:es)?|quer(?:y|ies)|scripts?|programs?)"
_RESULT = r"(?:results?|outputs?|responses?)"
_SOURCE = r"(?:the|these|this|my|your|running|calling)"
_DONE = r"\bI(?:'ve| have)? (?:just |now |already )?"
_CLAIMS = (
    rf"\bhere (?:are|is) the (?:\w+ )?{_RESULT} (?:of|from) {_SOURCE}\b",
    rf"\bhere (?:are|is) the {_RESULT}:$",
    rf"\bthe {_RESULT} (?:of|from) {_SOURCE} (?:[\w`.:-]+ )?{_TOOL} (?:is|are|was|were)\b(?! (?:an?|returned|not)\b)",
    rf"\b(?:the|my|this) (?:[\w`.:-]+ )?{_TOOL} (?:has |have |just )*(?:returned|reported|printed|found|gave|showed)\b",
    rf"{_DONE}(?:called|executed|invoked|queried|ran|run|used) (?:[\w`'.:-]+ ){{0,4}}(?:`|code\b|tests\b|{_TOOL}\b)",
    rf"{_DONE}(?:searched|googled|looked (?:it|this|that|them) up|looked up|fetched|retrieved)\b",
    rf"{_DONE}(?:checked|opened|read) the (?:[\w`'./-]+ )?(?:files?|pages?|site|database|logs?|web)\b",
    rf"\b(?:according to|based on) (?:the|my) (?:[\w`.:-]+ )?(?:{_TOOL} {_RESULT}|search),",
)
_CLAIM = re.compile("|".join(_CLAIMS), re.IGNORECASE)
_HEDGED = re.compile(
    r"\b(?:will|would|should|could|if|once|not|can't|cannot|examples?|apologi[sz]e|placeholder|assum\w+)\b",
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
_STATES = re.compile(r"\b(?:is|are|was|were)\b(?!:)|: ?\$?\d[\d,.]{2}", re.IGNORECASE)
# What explains the call, or plans the next one, states no result of it.
_EXPLAINS = re.compile(
    r"\b(?:will|would|can|could|should|may|might|must|cannot|unable|if|please|let|let's|going to|needs?|needed|want)\b"
    r"|\b(?:no|not|unfortunately|examples?|assum\w+|hypothetical\w*|note|you|your|i'll|we|expected?|however)\b"
    r"|\b(?:functions?|calls?|called|calling|parameters?|arguments?|code|tools?|provided|python|json|api|object)\b"
    r"|\b(?:request(?:ed)?|question|default\w*|optional|specif\w+|given|list of|array|using|set to|returns?)\b"
    r"|\b(?:schema|in this case|explanation)\b"
    r"|\b(?:print|line|def|import|required|placeholder)\b|\w+\(|_|'\w+':|[{}=]|\$X|\[[A-Z]|^(?:to|for) |:$",
    re.IGNORECASE,
)


def claimed(text: str) -> str:
    """The sentence in which an answer without any call says what a tool returned; empty when there is none."""
    return next((said[:LONGEST] for said in sentences(text) if _CLAIM.search(said) and not _HEDGED.search(said)), "")


def invented(after: str) -> str:
    """What stands behind a call in the same text and only its result could tell; empty when there is nothing such."""
    if (role := _ROLE.search(after)) and (said := _words(after[role.end() :])) and not _HEDGED.search(said):
        return said
    plain = sentences(_MARKS.sub("\n", after))
    return claimed(after) or next((said[:LONGEST] for said in plain if _asserts(said)), "")


def _asserts(said: str) -> bool:
    if _LABELLED.match(said):
        return True
    whole = _VALUE.search(said) and _STATES.search(said) and len(said.split()) > 3
    return bool(whole) and not _EXPLAINS.search(said)


def _words(text: str) -> str:
    said = " ".join(_MARKS.sub(" ", text[: 4 * LONGEST]).split())[:LONGEST]
    return said if len(re.findall(r"[^\W\d]{2,}", said)) > 3 else ""
