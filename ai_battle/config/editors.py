"""JSON Schemas of the configuration files, for editors and other programs."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from ..core.errors import ConfigError
from ..core.plugins import near
from .benchmark import BenchmarkFile
from .discussion import DiscussionFile
from .judge import RubricFile
from .messages import OTHER_NAMES
from .rewriting import DISCUSSION_KEYS, TOP_KEYS
from .server import ServerFile
from .values import Section

SCHEMAS: Mapping[str, type[Section]] = {
    "discussion": DiscussionFile,
    "benchmark": BenchmarkFile,
    "server": ServerFile,
    "rubric": RubricFile,
}


class _WithoutTitles(GenerateJsonSchema):
    """A generator without titles, as they only repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(kind: str = "discussion", providers: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the JSON Schema of one kind of file. `providers` are the built-in ones."""
    if kind not in SCHEMAS:
        raise ConfigError(f"there is no schema {kind!r}{near(kind, list(SCHEMAS))}")
    schema = SCHEMAS[kind].model_json_schema(schema_generator=_WithoutTitles)
    for section, (other, own) in OTHER_NAMES.items():
        if described := schema["$defs"].get(section):
            _add_other_name(described, other, own)
    beside = schema["properties"]
    if "providers" in beside:
        beside["providers"] |= _by_name(schema["$defs"]["Provider"], providers)
    if kind == "discussion":
        inside = schema["$defs"]["Discussion"]["properties"]
        inside.update({key: beside[key] for key in TOP_KEYS})
        beside.update({key: inside[key] for key in DISCUSSION_KEYS})
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": f"ai-battle {kind}"}


def _add_other_name(section: dict[str, Any], other: str, own: str) -> None:
    section["properties"][other] = section["properties"][own]
    if own in section.get("required", ()):
        section["required"] = [key for key in section["required"] if key != own]
        section["anyOf"] = [{"required": [own]}, {"required": [other]}]


def _by_name(provider: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Returns the schema of providers by name. Only plug-ins, with any other name, may have further options."""
    own = {**provider, "description": "A plug-in, with options of its own."}
    provider["additionalProperties"] = False
    known = {"$ref": "#/$defs/Provider"}
    return {
        "patternProperties": {f"^({'|'.join(sorted(names))})$": known},
        "additionalProperties": {"anyOf": [known, own]},
    }
