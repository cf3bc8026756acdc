"""`text_statistics`: counts what models are bad at counting: characters, words, sentences, occurrences of a part."""

import re
from collections import Counter
from typing import Any

from ai_battle import Tool


class TextStatistics(Tool):
    """A tool as a class, for when there is more to say than a function's signature can."""

    name = "text_statistics"
    description = (
        "Count the characters, words, sentences and lines of a text, its most frequent words, and a part of it."
    )
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "text": {"type": "string", "description": "The text", "required": True},
        "count": {"type": "string", "description": "A letter, word or phrase whose occurrences are counted"},
    }

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        text, wanted = parameters["text"], parameters.get("count", "")
        words = re.findall(r"[\w'\u2019-]+", text.lower())
        counted = {"occurrences": text.lower().count(wanted.lower())} if wanted else {}
        return {
            "characters": len(text),
            "words": len(words),
            "sentences": len(re.findall(r"[.!?…]+(?=\s|$)", text)) or int(bool(words)),
            "lines": text.count("\n") + bool(text),
            "different_words": len(set(words)),
            "most_frequent": dict(Counter(words).most_common(5)),
            **counted,
        }
