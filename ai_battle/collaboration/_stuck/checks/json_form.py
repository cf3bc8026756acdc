"""Whether an answer that should be JSON is JSON, and fits the schema that was asked for."""

import json
import re
from typing import Any

from ....wire.dialects.arguments import fit
from ..case import Case

_ASKED = re.compile(
    r"\b(?:valid|only|as|in|return|output|respond with|answer with|following|strict)\b[^.\n]{0,40}\bjson\b",
    re.IGNORECASE,
)
_LONE_BACKSLASH = re.compile(r'\\(?!["\\/bfnrtu])')
_FENCED = re.compile(r"```(?:json)?[ \t]*\n([\s\S]*?)(?:```|\Z)", re.IGNORECASE)


def check(case: Case) -> dict[str, float]:
    schema = case.context.output_schema
    if schema is None and (case.context.tools or not _ASKED.search(case.prompt)):
        return {}
    value, readable = read_json(case.text)
    if schema is None or not readable:
        return {"json_unreadable": float(not readable)}
    return {"json_unfit": float(bool(fit({"it": value}, {"type": "object", "properties": {"it": schema}}).problems))}


def read_json(text: str) -> tuple[Any, bool]:
    """The JSON that a text is, or has in a code block, or ends with; and whether there is any."""
    fenced = [match[1] for match in _FENCED.finditer(text)] if "```" in text else []
    for block in (*fenced, text[text.find("{") : text.rfind("}") + 1], text):
        for written in (block, _LONE_BACKSLASH.sub(r"\\\\", block)) if "\\" in block else (block,):
            try:
                return json.loads(written, strict=False), True
            except (ValueError, RecursionError):
                continue
    return None, False
