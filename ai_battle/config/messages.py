"""Translates pydantic's errors into the words of someone who writes YAML."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import ValidationError

from ..core.plugins import likely_names, near
from .environment import is_secret_key
from .problems import KeyPath, Problem
from .tree import Node, is_number
from .values import Section, is_null

MISSING = "is missing"
LONG_INTEGER = 10**30
KINDS = {dict: "a mapping", list: "a list", type(None): "nothing"}
PARTICIPANTS = ("discussion", "models")
FOREIGN_KEYS = {
    "persona": ("system_message", "system_prompt", "system", "backstory", "description"),
    "type": ("model", "model_name", "llm", "llm_config"),
    "models": ("agents", "participants"),
    "goal": ("topic", "task", "tasks", "message"),
    "turns": ("max_turns", "max_rounds", "max_round"),
    "stop": ("termination", "termination_condition", "is_termination_msg"),
}
"""Keys of a discussion, with their names in AutoGen, CrewAI and other programs."""
OTHER_NAMES = {
    "Discussion": ("rounds", "turns"),
    "PhaseSettings": ("turns", "rounds"),
    "Pair": ("model", "primary"),
    "RouteSettings": ("primary", "model"),
    "SettingSettings": ("primary", "model"),
}
"""The second name of a key, and the key, by section. The schema knows only the key, so both together are an error."""

# The message for each type of pydantic error, filled with the value as written and with what is expected.
MESSAGES = {
    "missing": MISSING,
    "string_type": "must be text, not {value}",
    "string_unicode": "must be text that UTF-8 can write",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters long",
    "string_pattern_mismatch": "must be like 1024x1024 or 4K, not {value}",
    "int_parsing_size": "is too large a number",
    "finite_number": "must be a finite number, not {value}",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number, not {value}"),
    **dict.fromkeys(("float_type", "float_parsing", "not_a_number"), "must be a number, not {value}"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false, not {value}"),
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list, not {value}"),
    "dict_type": "must be a mapping of keys and values, not {value}",
    **dict.fromkeys(("model_type", "model_attributes_type"), "must be a mapping of keys and values, not {value}{keys}"),
    "greater_than_equal": "must be at least {ge}, not {value}",
    "greater_than": "must be more than {gt}, not {value}",
    "less_than_equal": "must be at most {le}, not {value}",
    "less_than": "must be less than {lt}, not {value}",
    "share": "is a share from 0 to 1, not {value}; write {share} for {percent} %",
    "literal_error": "must be {choices}, not {value}{near}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries, not {actual_length}",
}
MESSAGES_ON_PARTICIPANTS = {
    "too_short": "needs at least {min_length} participants, not {actual_length}",
    "too_long": "names more than {max_length} participants; no more can take part",
    "dict_type": "must be a mapping of names and participants, such as {{Ann: {{type: gpt-4o}}}}, not {value}",
}


def problems_of(error: ValidationError, schema: type[Section], written: Node) -> list[Problem]:
    """Returns the problems. A key that is missing because it is misspelt is reported once."""
    problems = list(_each_problem(error, schema, written))
    misspelt = {(p.path[:-1], key) for p in problems if p.key for key in re.findall(r"'(\w+)'", p.message)}
    return [p for p in problems if (p.path[:-1], p.path[-1]) not in misspelt or not p.message.startswith(MISSING)]


def _each_problem(error: ValidationError, schema: type[Section], written: Node) -> Iterator[Problem]:
    """Yields one problem per error. Values are shown as written, since expanded ones may be secret."""
    lists: set[str] = set()  # a list of all keys is shown once
    for fault in error.errors(include_url=False, include_context=True):
        path, kind, context = fault["loc"], fault["type"], fault.get("ctx", {})
        if kind == "extra_forbidden":
            hint = _near_key(str(path[-1]), schema, path[:-1], written.nearest(path[:-1]))
            unknown = f"unknown key{'' if hint in lists else hint}"
            yield Problem(path, _twin_words(path, schema, unknown), key=True)
            lists |= {hint} if hint.startswith("; there is") else set()
        elif path and path[-1] == "[key]" and not kind.startswith("model_"):  # pydantic's mark, or a key of that name
            yield Problem(path[:-1], f"the key {_message(kind, path, context, '', fault['msg'])}", key=True)
        else:
            value = short_value(written, path)
            keys = _keys_of(section_at(schema, path), value) if kind.startswith("model_") else ""
            yield Problem(path, _message(kind, path, {**context, "keys": keys}, value, fault["msg"]))


def _message(kind: str, path: KeyPath, context: Mapping[str, Any], value: str, otherwise: str) -> str:
    template = _template(kind, path, value)
    if template is None:
        return otherwise
    expected = {name: _limit(limit) if isinstance(limit, int | float) else limit for name, limit in context.items()}
    if kind == "literal_error":
        choices = str(context["expected"]).replace(" or ", ", ").split(", ")
        hint = near(value.strip("'"), [choice.strip("'") for choice in choices])
        listed = " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))
        expected |= {"choices": listed, "near": hint if hint.startswith("; did") else ""}
    return template.format_map({**expected, "value": value})


def _template(kind: str, path: KeyPath, value: str) -> str | None:
    if path == PARTICIPANTS and kind in MESSAGES_ON_PARTICIPANTS:
        return MESSAGES_ON_PARTICIPANTS[kind]
    return MESSAGES.get(kind)


def _keys_of(section: type[Section] | None, value: str) -> str:
    """Returns the way out for a section that is no mapping: an empty one is mostly one whose keys are not indented."""
    if value == KINDS[type(None)]:
        return "; indent its keys below it"
    return near("", _key_names(section)) if section else ""


def _key_names(section: type[Section]) -> list[str]:
    return [field.alias or name for name, field in section.model_fields.items()]


def _limit(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.12g}"


def short_value(written: Node, path: KeyPath) -> str:
    """Returns the value at `path` as written and shortened. Secrets are not shown."""
    node = written.nearest(path)
    value = None if isinstance(node.value, dict) and node is not written.at(path) else node.value
    return "this" if any(map(is_secret_key, path)) else _short(value)


def _short(value: Any) -> str:
    if kind := KINDS.get(type(None if is_null(value) else value)):
        return kind
    match value:
        case "":
            return "nothing"
        case bool():
            return str(value).lower()
        case int() if abs(value) >= LONG_INTEGER:
            return "a number of more than 30 digits"
    short = _shorten(str(value))
    return repr(short) if isinstance(value, str) and not is_number(value) else short


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _near_key(key: str, schema: type[Section], path: KeyPath, written: Node) -> str:
    """Suggests where an unknown key belongs, or a similar key; otherwise lists the keys that there are."""
    section = section_at(schema, path) or Section
    known = _key_names(section)
    if own := [name for name in known if key in FOREIGN_KEYS.get(name, ())]:
        return near(own[0], own)
    places = _places(key, dict(_subsections(section)))
    if not places and not likely_names(key, known):
        places = _places_outside(key, schema, path) or _places_deeper(key, section, written)
    return f" here; it belongs under {' or '.join(map(repr, places))}" if places else near(key, known, len(known))


def _places_deeper(key: str, section: type[Section], written: Node) -> list[str]:
    """Returns the places in sections of the keys that are written here: `temperature` in `model: parameters:`."""
    places = _places(key, _every_section(section))
    return [place for place in places if written.child(place.partition(":")[0])]


def _twin_words(path: KeyPath, schema: type[Section], otherwise: str) -> str:
    """Returns the problem of a key beside another name of it, and `otherwise` for any other key."""
    section = section_at(schema, path[:-1]) or Section
    other, key = OTHER_NAMES.get(section.__name__, ("", ""))
    return f"says the same as {key!r}, which is there too; leave one of the two out" if path[-1] == other else otherwise


def _places_outside(key: str, schema: type[Section], path: KeyPath) -> list[str]:
    """Returns the nearest section around `path` that has a key, or the only one anywhere."""
    everywhere = _places(key, _every_section(schema))
    return _places(key, _enclosing_sections(schema, path))[:1] or (everywhere if len(everywhere) == 1 else [])


def _places(key: str, sections: Mapping[str, type[Section]]) -> list[str]:
    return [place for place, section in sections.items() if key in section.model_fields]


def _enclosing_sections(schema: type[Section], path: KeyPath) -> dict[str, type[Section]]:
    """Returns the sections that hold the one at `path`, the nearest first, each by its own key."""
    ways = (path[:end] for end in range(len(path) - 1, 0, -1))
    return {f"{way[-1]}:": section for way in ways if (section := section_at(schema, way))}


def _every_section(schema: type[Section]) -> dict[str, type[Section]]:
    """Returns each kind of section that a file may have up to three levels deep, by the shortest way to it."""
    found: dict[str, type[Section]] = {}
    level = {"": schema}
    for _ in range(3):
        level = {f"{way} {name}".strip(): inner for way, outer in level.items() for name, inner in _subsections(outer)}
        found |= {way: inner for way, inner in level.items() if inner not in found.values()}
    return found


def _subsections(section: type[Section]) -> Iterator[tuple[str, type[Section]]]:
    """Yields the sections in a section's keys; NAME stands for a name that the file chooses."""
    for name, expected in get_type_hints(section, include_extras=True).items():
        own, listed = _section_in(expected), _section_in(_type_at(expected, ""))
        inner = own or listed
        if name in section.model_fields and inner:
            is_named = not own and any(get_origin(kind) is dict for kind in _kinds(expected))
            yield f"{name}: NAME:" if is_named else f"{name}:", inner


def section_at(schema: type[Section], path: KeyPath) -> type[Section] | None:
    """Returns the schema of the mapping at `path`."""
    expected: Any = schema
    for step in path:
        expected = _type_at(expected, step)
    return _section_in(expected)


def expects_text(schema: type[Section], path: KeyPath) -> bool:
    """Checks whether nothing but text may stand at `path`."""
    section = section_at(schema, path[:-1])
    expected = get_type_hints(section, include_extras=True).get(str(path[-1])) if section else None
    return {*_kinds(expected)} - {type(None)} == {str}


def _type_at(expected: Any, step: str | int) -> Any:
    if section := _section_in(expected):
        return get_type_hints(section, include_extras=True).get(str(step))
    several = [kind for kind in _kinds(expected) if get_origin(kind) in (dict, tuple)]
    return get_args(several[0])[1 if get_origin(several[0]) is dict else 0] if several else None


def _section_in(expected: Any) -> type[Section] | None:
    return next((kind for kind in _kinds(expected) if isinstance(kind, type) and issubclass(kind, Section)), None)


def _kinds(expected: Any) -> Iterator[Any]:
    """Yields the alternatives of a union without annotations."""
    origin = get_origin(expected)
    if origin is Annotated:
        yield from _kinds(get_args(expected)[0])
    elif origin in (dict, tuple) or isinstance(expected, type):
        yield expected
    else:
        for part in get_args(expected):
            yield from _kinds(part)
