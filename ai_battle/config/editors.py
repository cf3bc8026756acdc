"""JSON Schema of the configuration files, for editors and other programs."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from ..core.errors import ConfigError
from ..core.plugins import near
from .schema import DiscussionFile

SCHEMAS = {"discussion": DiscussionFile}


def json_schema(kind: str = "discussion") -> dict[str, Any]:
    """The JSON Schema of one kind of configuration file."""
    if kind not in SCHEMAS:
        raise ConfigError(f"there is no schema {kind!r}{near(kind, list(SCHEMAS))}")
    schema = SCHEMAS[kind].model_json_schema()
    return {"$schema": GenerateJsonSchema.schema_dialect, "title": f"ai-battle {kind}", **schema}
