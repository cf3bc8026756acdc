"""Whether an answer that should be JSON is JSON, and fits the schema or has the keys that were asked for."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...wire.dialects.arguments import fit
from ..case import Case

LONGEST_SCHEMA, MOST_OBJECTS = 8_000, 8
_ASKED = re.compile(
    r"\A\s*(?:an? )?json\b|\b(?:valid|only|as|in|into|return|output|respond|answer|reply|give|write|extract|following"
    r"|strict|als|en|em|come|jako|w formacie|olarak|\u0432)\b[^.\n?]{0,40}\bjson\b"
    r"|\bjson[- ]?(?:array|object|list|liste|lista|objekt|objet|objeto|oggetto|obiekt)\b"
    r"|json\s?(?:\u683c\u5f0f|\u5f62\u5f0f|\u914d\u5217)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:what|why|how|explain|difference|function|script|program|code|parse|convert|read|python|javascript|sql|fetch"
    r"|load|library|was ist|warum|wie)\b",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"\b(?:keys?|fields?|properties|schl\u00fcsseln?|feldern?|cl\u00e9s|claves|chaves|chiavi|campos|campi|klucze)\b"
    r"[^\"`'.\w]{0,3}(?:of |are |named )?((?:[\"`'][\w -]{1,40}[\"`'][,\s]*(?:\w{1,3}\s(?=[\"`']))?){1,12}"
    r"|[a-z_]{2,30}(?:, [a-z_]{2,30}){0,8},? and [a-z_]{2,30}\b)",
)
_QUOTED = re.compile(r"[\"`']([\w -]{1,40})[\"`']")
_LISTED = re.compile(r",? and |, ")
_LONE_BACKSLASH = re.compile(r'\\(?!["\\/bfnrtu])')
_FENCED = re.compile(r"```(?:json)?[ \t]*\n([\s\S]*?)(?:```|\Z)", re.IGNORECASE)


def check(case: Case) -> dict[str, float]:
    """A call is no such answer; its arguments are read elsewhere. Nor is working, with LaTeX in it, to an answer."""
    wanted = case.context.output_schema
    if wanted is None and (case.calls or not is_asked(case.question)):
        return {}
    value, readable = read_json(case.text)
    if not readable:
        return {"json_unreadable": float(wanted is not None or not case.states_answer)}
    wanted = wanted or schema_in(case.prompt)
    lacks = not _has_keys(value, _keys(case.question))
    return {"json_unreadable": 0.0, "json_unfit": float(lacks or (wanted is not None and not _fits(value, wanted)))}


def is_asked(prompt: str) -> bool:
    """It asks for JSON as the answer, rather than about JSON or for a program that has to do with it."""
    asked = _ASKED.search(prompt) if "json" in prompt.casefold() else None
    return asked is not None and not _ABOUT.search(prompt[: asked.end()])


def schema_in(prompt: str) -> Mapping[str, Any] | None:
    """The JSON Schema that a prompt states; None where it states none."""
    prompt, begin = prompt[:LONGEST_SCHEMA], -1
    for _ in range(MOST_OBJECTS if '"type"' in prompt else 0):
        begin = prompt.find("{", begin + 1)
        if begin < 0:
            break
        found = _object_at(prompt, begin)
        if isinstance(found.get("type"), str) and ("properties" in found or "items" in found):
            return found
    return None


def read_json(text: str) -> tuple[Any, bool]:
    """The JSON that a text is, or has in a code block or between words; and whether there is any."""
    fenced = [match[1] for match in _FENCED.finditer(text)] if "```" in text else []
    begin = min((at for at in map(text.find, "[{") if at >= 0), default=0)
    between = text[begin : max(text.rfind("]"), text.rfind("}")) + 1]
    for block in (*fenced, between, text[text.find("{") : text.rfind("}") + 1], text):
        for written in (block, _LONE_BACKSLASH.sub(r"\\\\", block)) if "\\" in block else (block,):
            try:
                return json.loads(written, strict=False), True
            except (ValueError, RecursionError):
                continue
    return None, False


def _object_at(text: str, begin: int) -> Mapping[str, Any]:
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(text, begin)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _keys(prompt: str) -> Iterator[str]:
    """The names that a prompt gives to the keys that it wants."""
    for listed in _KEYS.findall(prompt):
        yield from map(str.casefold, _QUOTED.findall(listed) or _LISTED.split(listed))


def _has_keys(value: Any, keys: Iterator[str]) -> bool:
    """Whether an object, or each of a list, has them."""
    wanted = set(keys)
    objects = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
    return not wanted or (bool(objects) and all(wanted <= {str(key).casefold() for key in item} for item in objects))


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """As it is written: what would have to be mended does not fit."""
    found = fit({"it": value}, {"type": "object", "properties": {"it": schema}})
    return not found.problems and not found.repairs
