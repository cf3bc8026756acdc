"""What pydantic finds wrong, said in the words of someone who writes YAML."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import ValidationError

from ..core.plugins import near
from ._nodes import Node
from ._scalars import is_number
from ._secrets import is_secret_key
from ._values import Section
from .problems import Path, Problem

MISSING = "is missing"
HUGE = 10**30
Words = Callable[[Mapping[str, Any], str], str]


def problems_of(error: ValidationError, schema: type[Section], written: Node) -> list[Problem]:
    """What is wrong; a key that is missing because it is misspelt is told once."""
    problems = list(_each(error, schema, written))
    misspelt = {(p.path[:-1], key) for p in problems if p.key for key in re.findall(r"'(\w+)'", p.message)}
    return [p for p in problems if (p.path[:-1], p.path[-1]) not in misspelt or not p.message.startswith(MISSING)]


def _each(error: ValidationError, schema: type[Section], written: Node) -> Iterator[Problem]:
    """One problem for each fault; values are shown as they were written, never as the environment filled them."""
    for fault in error.errors(include_url=False, include_context=True):
        path, kind = fault["loc"], fault["type"]
        if kind == "extra_forbidden":
            yield Problem(path, f"unknown key{_near_key(str(path[-1]), schema, path[:-1])}", key=True)
        elif path and path[-1] == "[key]":
            yield Problem(path[:-1], f"the key {_words(kind, fault.get('ctx', {}), '', fault['msg'])}", key=True)
        else:
            yield Problem(path, _words(kind, fault.get("ctx", {}), shown(written, path), fault["msg"]))


def shown(written: Node, path: Path) -> str:
    """The value at `path`, short and as it was written; keys are not shown."""
    node = written.nearest(path)
    value = None if isinstance(node.value, dict) and node is not written.at(path) else node.value
    if any(map(is_secret_key, path)):
        return "this"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return _scalar(value)


def _scalar(value: Any) -> str:
    match value:
        case None | "":
            return "nothing"
        case bool():
            return str(value).lower()
        case int() if abs(value) >= HUGE:
            return "a number of more than 30 digits"
    text = str(value)
    short = text if len(text) <= 40 else f"{text[:37]}..."
    return repr(short) if isinstance(value, str) and not is_number(value) else short


def _words(kind: str, context: Mapping[str, Any], value: str, otherwise: str) -> str:
    said = WORDS.get(kind)
    return said(context, value) if said else otherwise


def _expects(what: str) -> Words:
    return lambda _, value: f"must be {what}, not {value}"


def _bound(words: str, limit: str) -> Words:
    return lambda context, value: f"must be {words} {_limit(context[limit])}, not {value}"


def _limit(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.12g}"


def _choice(context: Mapping[str, Any], value: str) -> str:
    choices = str(context["expected"]).replace(" or ", ", ").split(", ")
    return f"must be {_or(choices)}, not {value}{_perhaps(value, choices)}"


def _perhaps(value: str, choices: list[str]) -> str:
    end = near(value.strip("'"), [choice.strip("'") for choice in choices])
    return end if end.startswith("; did") else ""


def _or(choices: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))


def _too_short(context: Mapping[str, Any], value: str) -> str:
    if context["field_type"] == "Dictionary":
        return f"needs at least {context['min_length']} participants, not {context['actual_length']}"
    return f"must have at least {context['min_length']} entries"


WORDS: dict[str, Words] = {
    "missing": lambda _, __: MISSING,
    "string_type": _expects("text"),
    "string_unicode": lambda _, __: "must be text that UTF-8 can write",
    "string_too_short": lambda _, __: "must not be empty",
    "string_too_long": lambda context, _: f"must be at most {context['max_length']} characters long",
    "string_pattern_mismatch": lambda _, value: f"must be like 1024x1024 or 4K, not {value}",
    "int_type": _expects("a whole number"),
    "int_parsing": _expects("a whole number"),
    "int_parsing_size": lambda _, __: "is too large a number",
    "int_from_float": _expects("a whole number"),
    "float_type": _expects("a number"),
    "float_parsing": _expects("a number"),
    "finite_number": _expects("a finite number"),
    "not_a_number": _expects("a number"),
    "bool_type": _expects("true or false"),
    "bool_parsing": _expects("true or false"),
    "greater_than_equal": _bound("at least", "ge"),
    "greater_than": _bound("more than", "gt"),
    "less_than_equal": _bound("at most", "le"),
    "share": lambda context, value: (
        f"is a share from 0 to 1, not {value}; write {context['share']} for {context['percent']} %"
    ),
    "less_than": _bound("less than", "lt"),
    "literal_error": _choice,
    "tuple_type": _expects("a list"),
    "list_type": _expects("a list"),
    "dict_type": _expects("a mapping of keys and values"),
    "model_type": _expects("a mapping of keys and values"),
    "model_attributes_type": _expects("a mapping of keys and values"),
    "too_short": _too_short,
    "too_long": lambda context, _: f"names more than {context['max_length']} participants; no more can take part",
}


def _near_key(key: str, schema: type[Section], path: Path) -> str:
    """What the key may have been meant to be, or where it belongs."""
    if not path and (inside := next((n for n in schema.model_fields if key in _keys_at(schema, (n,))), "")):
        return f" here; it belongs under '{inside}:'"
    return near(key, _keys_at(schema, path))


def _keys_at(schema: type[Section], path: Path) -> list[str]:
    section = section_at(schema, path)
    return list(section.model_fields) if section else []


def section_at(schema: type[Section], path: Path) -> type[Section] | None:
    """The schema of the mapping at `path`."""
    expected: Any = schema
    for step in path:
        expected = _inside(expected, step)
    return _section_in(expected)


def _inside(expected: Any, step: str | int) -> Any:
    if section := _section_in(expected):
        return get_type_hints(section, include_extras=True).get(str(step))
    several = [kind for kind in _kinds(expected) if get_origin(kind) in (dict, tuple)]
    return get_args(several[0])[1 if get_origin(several[0]) is dict else 0] if several else None


def _section_in(expected: Any) -> type[Section] | None:
    return next((kind for kind in _kinds(expected) if isinstance(kind, type) and issubclass(kind, Section)), None)


def _kinds(expected: Any) -> Iterator[Any]:
    """The alternatives of a union, annotations left away."""
    origin = get_origin(expected)
    if origin is Annotated:
        yield from _kinds(get_args(expected)[0])
    elif origin in (dict, tuple) or isinstance(expected, type):
        yield expected
    else:
        for part in get_args(expected):
            yield from _kinds(part)
