"""The value types of the schema. The type that a key expects decides how a YAML scalar is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .tree import PlainScalar, resolve

MAX_COUNT = 1_000_000_000
TEXT = {"type": "string"}
ENTRIES = {"anyOf": [TEXT, {"type": "array", "items": {"type": ["string", "object"]}}]}


class Section(BaseModel):
    """A mapping in the YAML. Unknown keys are errors, and a key without a value counts as absent."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True, validate_default=True
    )

    @model_validator(mode="before")
    @classmethod
    def _without_empty_keys(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        return {key: value for key, value in raw.items() if not is_null(value)}


def is_null(value: Any) -> bool:
    return value is None or (isinstance(value, PlainScalar) and resolve(value) is None)


def free(value: Any) -> Any:
    """Resolves plain scalars by YAML 1.2 in a value that no schema describes."""
    if isinstance(value, PlainScalar):
        return resolve(value)
    if isinstance(value, dict):
        return {key: free(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [free(entry) for entry in value]
    return value


def _number(value: Any) -> Any:
    """Reads a number. `1e6`, `1_000` and `0x10` are numbers, also for integers; booleans are not."""
    if isinstance(value, bool):
        raise PydanticCustomError("not_a_number", "must be a number")
    number: Any = resolve(value.replace("_", "")) if isinstance(value, str) else value
    if isinstance(number, float) and number.is_integer() and abs(number) < MAX_COUNT**2:
        return int(number)
    return number if isinstance(number, int | float) and not isinstance(number, bool) else value


def _share(value: Any) -> Any:
    """Reads a share. Percentages (20, "20 %") raise an error that shows the share to write."""
    percent = _number(value.strip().removesuffix("%").strip() if isinstance(value, str) else value)
    says_percent = isinstance(value, str) and value.strip().endswith("%")
    if isinstance(percent, int | float) and (says_percent or 2 <= percent <= 100):
        context = {"percent": f"{percent:.6g}", "share": f"{percent / 100:.6g}"}
        raise PydanticCustomError("share", "is a share from 0 to 1; write {share} for {percent} %", context)
    return percent


def _flag(value: Any) -> Any:
    """Reads a flag: booleans and the words of YAML 1.1, but not 1 and 0."""
    return value if isinstance(value, bool) or (isinstance(value, str) and not value.isdigit()) else {}


@dataclass(frozen=True, slots=True, eq=False)
class ShortSpelling:
    """A shorter spelling of a value. `expand` expands it, and `spelling` is its JSON Schema.

    Without a `spelling`, a single entry is short for a list of it.
    """

    expand: Callable[[Any], Any]
    spelling: Mapping[str, Any] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        whole = handler(schema)
        return {"anyOf": [dict(self.spelling or whole["items"]), whole]}


def short_for(key: str, kinds: type | UnionType = str, spelling: Mapping[str, Any] = TEXT) -> ShortSpelling:
    """Returns the spelling of a mapping in which a bare value stands for one of its keys."""
    return ShortSpelling(lambda value: {key: value} if isinstance(value, kinds) else value, spelling)


def _one_or_more(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


T = TypeVar("T")
REFERENCE = {"type": "string", "pattern": r"\$\{"}
Listed = Annotated[tuple[T, ...], ShortSpelling(_one_or_more)]
Free = Annotated[Any, BeforeValidator(free)]
FreeMapping = Annotated[dict[str, Any], BeforeValidator(free)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
AS_NUMBER = ShortSpelling(_number, REFERENCE)
Flag = Annotated[bool, ShortSpelling(_flag, REFERENCE)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT), AS_NUMBER]
Positive = Annotated[int, Field(ge=1, le=MAX_COUNT), AS_NUMBER]
Amount = Annotated[float, Field(ge=0, le=MAX_COUNT), AS_NUMBER]
Share = Annotated[float, Field(ge=0, le=1), ShortSpelling(_share, REFERENCE)]
Seconds = Annotated[float, Field(gt=0, le=31_536_000), AS_NUMBER]
Unpriced = Annotated[
    Literal["refuse", "allow"],
    Field(description="Whether models with unknown prices may answer; a limit in dollars can't apply to them."),
]
