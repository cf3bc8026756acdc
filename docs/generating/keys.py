"""The page of the YAML keys, from the JSON Schema that editors get."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ai_battle.config.editors import json_schema
from ai_battle.config.participants import ModelFile, ModelSettings
from ai_battle.config.rewriting import DISCUSSION_KEYS, TOP_KEYS
from ai_battle.providers.scripted import FAULTS

from .tables import code, codes, table

Schema = Mapping[str, Any]
REFERENCE = r"\$\{"
FILE, DISCUSSION = "DiscussionFile", "Discussion"
SHARED_KEYS = {*ModelSettings.model_fields, *ModelFile.model_fields}
"""Keys that a section has from another one are listed after its own."""

HEAD = """# YAML keys

A discussion file is YAML in UTF-8. Begin it with this line, and editors complete and check it:

```yaml
# yaml-language-server: $schema=discussion.schema.json
```

`ai-battle schema > discussion.schema.json` writes that schema. `ai-battle validate FILE` finds what is wrong, each
problem with file, line, column and a suggestion. The rules that hold everywhere:

- A key that is not listed is an error. A key without a value counts as missing.
- `${NAME}` in a value is the environment variable, `${NAME:-default}` has a default, and
  `$${NAME}` stands for the text `${NAME}`.
  A `.env` beside the file is read; variables that are set win. What came from a variable is never shown or stored.
- A single entry is short for a list of it.
- Relative paths start at the folder of the file, `~` is the home directory.
- Python tags, duplicate keys, and files or aliases that are far too large are refused.
"""


def page() -> str:
    schema = json_schema()
    sections = {FILE: schema, **schema["$defs"]}
    return "\n\n".join((HEAD, *(_section(name, sections) for name in _in_order(sections))))


def _in_order(sections: Mapping[str, Schema]) -> list[str]:
    """From the file inwards, each section after the one that mentions it first."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in found:
            return
        found[name] = None
        for _, prop in _own_first(sections[name]):
            for inner in _references(prop):
                visit(inner)

    visit(FILE)
    return list(found)


def _own_first(schema: Schema) -> list[tuple[str, Any]]:
    return sorted(schema.get("properties", {}).items(), key=lambda entry: entry[0] in SHARED_KEYS)


def _references(schema: Any) -> Iterator[str]:
    match schema:
        case {"$ref": str(reference)}:
            yield reference.rpartition("/")[2]
        case dict():
            for value in schema.values():
                yield from _references(value)
        case list():
            for value in schema:
                yield from _references(value)


def _section(name: str, sections: Mapping[str, Schema]) -> str:
    schema = sections[name]
    elsewhere = {FILE: DISCUSSION_KEYS, DISCUSSION: TOP_KEYS}.get(name, ())
    rows = (
        (code(key), _type(prop), _default(key, prop, schema), _meaning(prop))
        for key, prop in _own_first(schema)
        if key not in elsewhere
    )
    described = table(("key", "type", "default", "meaning"), rows)
    return f"## {_title(name)}\n\n{_introduction(name, schema)}\n\n{described}"


def _introduction(name: str, schema: Schema) -> str:
    text = " ".join(schema.get("description", "").split())
    if name == FILE:
        return f"{text} {codes(DISCUSSION_KEYS)} may stand here too, beside `discussion`."
    if name == "ScriptEntry":
        return f"{text} The faults for `fail` are {codes(FAULTS)}."
    if name == DISCUSSION:
        return f"{text} {codes(TOP_KEYS)} may stand in it too."
    return text


def _title(name: str) -> str:
    return {FILE: "The file", "ParticipantSettings": "A participant"}.get(name, _in_words(name))


def _in_words(name: str) -> str:
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return words.strip().capitalize()


def _anchor(name: str) -> str:
    return _title(name).lower().replace(" ", "-")


def _default(key: str, prop: Schema, schema: Schema) -> str:
    if key in schema.get("required", ()):
        return "*required*"
    default = prop.get("default")
    is_open = default in (None, "", [], {}) or isinstance(default, dict)
    return "" if is_open else code(_flow_yaml(default))


def _meaning(prop: Schema) -> str:
    examples = f"For example {code(_flow_yaml(prop['examples'][0]))}." if prop.get("examples") else ""
    return " ".join(filter(None, (prop.get("description", ""), examples)))


def _flow_yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=200)
    return text.removesuffix("...\n").strip()


def _type(schema: Schema) -> str:
    """The alternatives; a single entry instead of a list goes without saying, older words for a value come last."""
    options = [option for option in schema.get("anyOf", [schema]) if not _is_left_out(option)]
    if len(options) > 1 and all("enum" in option for option in options):
        older, current = options
        return f"{_one(current)}; also {_one(older)}"
    lists = [_type(option["items"]) for option in options if "items" in option]
    return " or ".join(dict.fromkeys(text for text in map(_one, options) if text and text not in lists))


def _is_left_out(option: Schema) -> bool:
    return option.get("type") == "null" or option.get("pattern") == REFERENCE


def _one(schema: Schema) -> str:
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{_title(name).lower()}](#{_anchor(name)})"
    if "anyOf" in schema:
        return _type(schema)
    if choices := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        return codes(map(str, choices))
    return _plain(schema)


def _plain(schema: Schema) -> str:
    match schema.get("type"):
        case "array":
            return f"list of {_several(schema['items'])}" if schema.get("items") else "list"
        case "object":
            inner = schema.get("additionalProperties")
            return f"mapping to {_type(inner)}" if isinstance(inner, dict) and inner else "mapping"
        case "integer" | "number" as kind:
            return f"{'whole number' if kind == 'integer' else 'number'}{_bounds(schema)}"
        case "string":
            return "text"
        case "boolean":
            return "true, false"
        case list() as kinds:
            return " or ".join({"string": "text", "object": "mapping"}.get(str(kind), str(kind)) for kind in kinds)
    return "anything"


def _several(schema: Schema) -> str:
    inner = _type(schema)
    return f"({inner})" if " or " in inner and schema.get("type") != ["string", "object"] else inner


def _bounds(schema: Schema) -> str:
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    start = f" from {low:g}" if low is not None and low > -(10**6) else f" above {above:g}" if above is not None else ""
    return f"{start} to {high:g}" if start and high is not None and high < 10**6 else start
