"""Output schemas as the Messages API takes them: all objects are closed, and nothing has bounds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core.exchange import ModelRequest
from ..messages import with_schema_in_words

# The API answers "For 'integer' type, property 'minimum' is not supported", and the same for the others.
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")
BOUNDS_OF_MANY = ("maxItems", "uniqueItems", "minProperties", "maxProperties")


def with_accepted_schema(request: ModelRequest) -> ModelRequest:
    """Returns the request with its objects closed, or with the schema in words if the API would refuse it."""
    if request.output_schema is None:
        return request
    schema = _close_objects(request.output_schema)
    return replace(request, output_schema=schema) if _is_accepted(schema) else with_schema_in_words(request)


def _close_objects(schema: Any) -> Any:
    """Closes the objects that name their properties and do not say whether there may be others."""
    if isinstance(schema, list):
        return [*map(_close_objects, schema)]
    if not isinstance(schema, Mapping):
        return schema
    made = {name: _close_objects(value) for name, value in schema.items()}
    return {"additionalProperties": False, **made} if made.get("type") == "object" and "properties" in made else made


def _is_accepted(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(map(_is_accepted, schema))
    if not isinstance(schema, Mapping):
        return True
    is_open = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    return not (is_open or _has_bounds(schema)) and all(map(_is_accepted, schema.values()))


def _has_bounds(schema: Mapping[str, Any]) -> bool:
    """Checks for bounds, not for properties that are called so. A list may be required not to be empty."""
    bounds = [schema.get(name) for name in (*BOUNDS, *BOUNDS_OF_MANY)]
    return any(isinstance(bound, int | float) for bound in bounds) or schema.get("minItems") not in (None, 0, 1)
