"""The kinds of value that the schema is made of: what YAML writes is read by what the key expects."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ._scalars import Plain, resolve

LARGE = 1_000_000_000


class Section(BaseModel):
    """A mapping of the YAML: unknown keys are errors, a key without a value counts as not written."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True, validate_default=True
    )

    @model_validator(mode="before")
    @classmethod
    def _without_empty_keys(cls, written: Any) -> Any:
        if not isinstance(written, dict):
            return written
        return {key: value for key, value in written.items() if not is_null(value)}


def is_null(value: Any) -> bool:
    return value is None or (isinstance(value, Plain) and resolve(value) is None)


def free(value: Any) -> Any:
    """A value that no schema describes: plain scalars become what YAML 1.2 takes them for."""
    if isinstance(value, Plain):
        return resolve(value)
    if isinstance(value, dict):
        return {key: free(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [free(entry) for entry in value]
    return value


def _number(value: Any) -> Any:
    """Booleans are no numbers; `1e6`, `1_000` and `0x10` are, also where only whole ones will do."""
    if isinstance(value, bool):
        raise PydanticCustomError("not_a_number", "must be a number")
    number: Any = resolve(value.replace("_", "")) if isinstance(value, str) else value
    if isinstance(number, float) and number.is_integer() and abs(number) < LARGE**2:
        return int(number)
    return number if isinstance(number, int | float) and not isinstance(number, bool) else value


def one_or_more(value: Any) -> Any:
    """A single entry stands for a list of it."""
    return value if isinstance(value, list | tuple) else [value]


T = TypeVar("T")
Listed = Annotated[tuple[T, ...], BeforeValidator(one_or_more)]
Free = Annotated[Any, BeforeValidator(free)]
FreeMapping = Annotated[dict[str, Any], BeforeValidator(free)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Whole = Annotated[int, BeforeValidator(_number)]
Number = Annotated[float, BeforeValidator(_number)]
Count = Annotated[Whole, Field(ge=0, le=LARGE)]
Positive = Annotated[Whole, Field(ge=1, le=LARGE)]
Amount = Annotated[Number, Field(ge=0, le=LARGE)]
Seconds = Annotated[Number, Field(gt=0, le=31_536_000)]
