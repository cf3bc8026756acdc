"""Decisions that a text marks as such."""

import re
from collections.abc import Iterable, Iterator

from .words import sentences

LONGEST = 400

_MARKED = re.compile(
    "|".join(
        (
            r"^(?:final )?(?:decision|decided|agreed|resolved|resolution)\b[^:]{0,20}:",
            r"^(?:beschluss|entscheidung|d\u00e9cision|decisi\u00f3n|decisione)\b[^:]{0,20}:",
            r"\bwe(?:'ve| have)? (?:all |both |now |finally |hereby )*(?:decided?|agreed?|settled?|resolved?)\b",
            r"\b(?:it is|it's|that's|that is) (?:now |hereby )?(?:decided|agreed|settled)\b",
            r"\b(?:the|our|my) (?:final )?decision is\b|\bwir haben (?:uns )?(?:beschlossen|entschieden|geeinigt)\b",
        )
    ),
    re.IGNORECASE,
)


def decisions(texts: Iterable[str]) -> list[str]:
    """The sentences that say that something was decided, each once, in order."""
    return list(dict.fromkeys(found[:LONGEST] for text in texts for found in _marked(text)))


def _marked(text: str) -> Iterator[str]:
    heading = ""
    for sentence in sentences(text):
        whole = f"{heading} {sentence}".strip()
        heading = ""
        if not _MARKED.search(whole.replace("\u2019", "'")):
            continue
        if whole.endswith(":"):
            heading = whole
        else:
            yield whole
