"""Checks the code and JSON of an answer, and a predicted output against its program."""

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..signals.asked_programs import syntax_tree
from ..signals.code import asked_language, code_of, is_readable
from ..signals.languages import closed_words, plain_words, words
from ..signals.outcomes import literal
from ..signals.refusals import QUESTION_MARKS
from ..wire.dialects.arguments import fit
from .case import Case

LONGEST_SCHEMA, MOST_OBJECTS = 8_000, 8
_ASKED_KEYS = re.compile(
    r"\A\s*(?:an? )?json\b|\b(?:valid|only|as|in|into|return|output|respond|answer|reply|give|write|extract|following"
    r"|strict|als|en|em|come|jako|w formacie|olarak|\u0432)\b[^.\n?]{0,40}\bjson\b"
    r"|\bjson[- ]?(?:array|object|list|liste|lista|objekt|objet|objeto|oggetto|obiekt)\b"
    r"|json\s?(?:\u683c\u5f0f|\u5f62\u5f0f|\u914d\u5217)",
    re.IGNORECASE,
)
_EXPLANATION = re.compile(
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
_LIST_SEPARATOR = re.compile(r",? and |, ")
_LONE_BACKSLASH = re.compile(r'\\(?!["\\/bfnrtu])')
_FENCED = re.compile(r"```(?:json)?[ \t]*\n([\s\S]*?)(?:```|\Z)", re.IGNORECASE)


def json_measures(case: Case) -> dict[str, float]:
    """Measures an answer in JSON. Arguments of calls are checked elsewhere, and LaTeX in the working is not JSON."""
    wanted = case.context.output_schema
    if wanted is None and (case.calls or not is_asked(case.question)):
        return {}
    value, readable = read_json(case.text)
    if not readable:
        return {"json_unreadable": float(wanted is not None or not case.states_answer)}
    fits = _has_keys(value, _keys(case.question)) and _fits(value, wanted or schema_in(case.prompt) or {})
    return {"json_unreadable": 0.0, "json_unfit": float(not fits)}


def is_asked(prompt: str) -> bool:
    """Checks whether the prompt asks for JSON as the answer, not about JSON or for a program that handles it."""
    match = _ASKED_KEYS.search(prompt) if "json" in prompt.casefold() else None
    return match is not None and not _EXPLANATION.search(prompt[: match.end()])


def schema_in(prompt: str) -> Mapping[str, Any] | None:
    """Returns the JSON Schema that a prompt states, or None."""
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
    """Returns the JSON that a text is or contains, in a code block or between words, and whether there is any."""
    fenced = [match[1] for match in _FENCED.finditer(text)] if "```" in text else []
    # Models put JSON into a fence, between sentences, or write it plainly; some also leave a LaTeX backslash unescaped.
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
    """Yields the names that a prompt wants as keys."""
    for listed in _KEYS.findall(prompt):
        yield from map(str.casefold, _QUOTED.findall(listed) or _LIST_SEPARATOR.split(listed))


def _has_keys(value: Any, keys: Iterator[str]) -> bool:
    """Checks whether an object, or each one of a list, has these keys."""
    wanted = set(keys)
    objects = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
    return not wanted or (bool(objects) and all(wanted <= {str(key).casefold() for key in item} for item in objects))


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Checks whether a value fits a schema without repairs."""
    found = fit({"it": value}, {"type": "object", "properties": {"it": schema}})
    return not found.problems and not found.repairs


MAX_CHARACTERS = 6_000
_PROGRAM = re.compile(r"\[PYTHON\]\s*\n([\s\S]*?)\[/PYTHON\]|```(?:python|py)?[ \t]*\n([\s\S]*?)```")
_HOLE = re.compile(r"==\s*\?+|==\s*_+\s*$", re.MULTILINE)
_MAX_LEAVES = 50


def output_measures(case: Case) -> dict[str, float]:
    """Measures a predicted output against its program; empty if the prompt asks for none."""
    code = _program(case.prompt)
    call = asserted_call(code) if _HOLE.search(code) else None
    if call is None or case.final is None:
        return {}
    written, found = case.final.text.strip(), list(words(case.working))
    value = _value(written)
    inputs = [given for node in call.args if (given := literal(ast.unparse(node))) is not None]
    return {
        **_of_value(value, inputs),
        "output_from_nowhere": _from_nowhere(value, code),
        "output_length": math.log1p(len(written)) / 5,
        "program_length": math.log1p(len(code)) / 5,
        "program_branches": min(code.count("if "), 5) / 5,
        "varied_words": len(set(found)) / max(1, len(found)),
    }


def _program(prompt: str) -> str:
    found = _PROGRAM.search(prompt)
    return str(found[1] or found[2])[:MAX_CHARACTERS] if found else ""


def _value(written: str) -> Any:
    """Returns the value of a literal, or the text itself."""
    value = literal(written)
    return written if value is None and written != "None" else value


def _of_value(value: Any, inputs: list[Any]) -> dict[str, float]:
    return {
        "output_is_input": float(any(type(given) is type(value) and given == value for given in inputs)),
        "output_is_bool": float(isinstance(value, bool)),
        "input_length": math.log1p(max((len(given) for given in inputs if isinstance(given, str)), default=0)) / 5,
    }


@lru_cache(maxsize=64)
def asserted_call(code: str) -> ast.Call | None:
    """Returns the call whose result an assertion leaves open, or None."""
    tree = syntax_tree(_HOLE.sub("== 0", code))
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and isinstance(node.test.left, ast.Call):
            return node.test.left
    return None


def _from_nowhere(value: Any, code: str) -> float:
    """Returns the share of numbers and strings that occur neither in the program nor in its input."""
    leaves = [leaf for leaf, _ in zip(_leaves(value), range(_MAX_LEAVES), strict=False)]
    strange = sum(not isinstance(leaf, bool) and leaf is not None and str(leaf) not in code for leaf in leaves)
    return strange / max(1, len(leaves))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(key)
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


_WANTED = re.compile(
    r"\b(?:write|implement|create|develop|(fix|refactor|complete))\b(?: me| us)?(?: an?| the| this| some| my)?"
    r"((?: [\w+#-]{1,20}){0,3}) (?:(function|algorithm)|program|script|code|class|method|query)\b(?! calls?| period)",
    re.IGNORECASE,
)
_CODE_MARK = re.compile(r"[`(){};=]")
_NAMED = re.compile(r"\b(?:write|implement|create)\b[^.?!`\n]{0,60}`(\w{2,60})\(", re.IGNORECASE)
_STARTS = re.compile(
    r"^(?:def|class|import|from|async def|@\w+)\b|`[^`\n]+`|^\s*(?:const|let|function|SELECT)\b",
    re.MULTILINE,
)


def program_measures(case: Case) -> dict[str, float]:
    code = code_of(case.text, case.question)
    wanted = _wants_code(case.prompt) and not case.once(output_measures)
    return {
        "code_does_not_parse": float(any(not is_readable(language, part) for language, part in code)),
        "no_code": float(wanted and not code and not _shows_code(case)),
        "code_misnamed": float(bool(code) and not _has_name(case.prompt, code)),
    }


def _wants_code(prompt: str) -> bool:
    """Checks for an order of code. Classes, scripts and programs are ones of code only beside a language's name.

    Code that is missing in the prompt can't be fixed.
    """
    found = _WANTED.search(prompt)
    if found is None or not (found[3] or asked_language(prompt)) or (found[1] and not _CODE_MARK.search(prompt)):
        return False
    return closed_words("en", "function")[0].isdisjoint(plain_words(found[2]))


def _shows_code(case: Case) -> bool:
    """Checks for code without a block, a stated answer, as to a question about what code does, or a question back."""
    asks_back = case.text.rstrip().endswith(QUESTION_MARKS)
    return asks_back or case.states_answer or _STARTS.search(case.text) is not None


def _has_name(prompt: str, code: list[tuple[str, str]]) -> bool:
    """Checks whether the code has the function name that the prompt asks for, if it names one as code."""
    named = _NAMED.search(prompt)
    return named is None or any(named[1] in part for _, part in code)
