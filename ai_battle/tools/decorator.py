"""`@tool` makes a tool of a typed function: the schema from its annotations, the descriptions from its docstring."""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, NotRequired, overload

from docstring_parser import parse
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict, get_type_hints

from ..core.errors import ConfigError, ToolError
from ..wire.dialects.arguments import arguments_error
from ._tasks import call_function
from .base import Parameters, Tool

Function = Callable[..., Any]


@overload
def tool(function: Function, /) -> "FunctionTool": ...
@overload
def tool(
    *, name: str = "", description: str = "", writes: bool = False, is_volatile: bool = False, timeout: float = 60.0
) -> Callable[[Function], "FunctionTool"]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    writes: bool = False,
    is_volatile: bool = False,
    timeout: float = 60.0,
) -> "FunctionTool | Callable[[Function], FunctionTool]":
    """Makes a tool of a function, which can still be called. What is not given comes from its signature and docstring.

    Functions that are not `async` run in a thread. Arguments arrive as annotated, dataclasses and models included.
    """

    def make(function: Function) -> FunctionTool:
        made = FunctionTool(function, name=name, description=description, writes=writes, timeout=timeout)
        made.is_volatile = is_volatile
        return made

    return make(function) if function else make


class FunctionTool(Tool):
    """A function that models can use."""

    name = ""
    description = ""

    def __init__(self, function: Function, *, name: str, description: str, writes: bool, timeout: float) -> None:
        self.function = function
        self.name = name or getattr(function, "__name__", "")
        self.writes, self.timeout = writes, timeout
        docs = parse(inspect.getdoc(function) or "")  # Google, NumPy and Sphinx styles
        self.description = description or "\n\n".join(filter(None, (docs.short_description, docs.long_description)))
        words = {one.arg_name: one.description or "" for one in docs.params}
        self._arguments = _adapter(self.name, function, words)
        self._schema = _schema(self.name, self._arguments, function)
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    @property
    def parameters(self) -> Parameters:
        return self._schema

    def __get__(self, instance: object, owner: type | None = None) -> "FunctionTool":
        """Returns the tool of a method with its object, as `self` is no argument for models."""
        if instance is None or next(iter(inspect.signature(self.function).parameters), "") != "self":
            return self
        method = self.function.__get__(instance)
        bound = FunctionTool(
            method, name=self.name, description=self.description, writes=self.writes, timeout=self.timeout
        )
        bound.is_volatile = self.is_volatile
        return bound

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        try:
            given = self._arguments.validate_python(parameters)
        except ValidationError as error:
            raise ToolError(arguments_error(self.name, self._schema, tuple(_problems(error)))) from error
        returned = await call_function(self.function, **given)
        return returned if isinstance(returned, dict) else {"result": returned}


class _Untitled(GenerateJsonSchema):
    """Leaves out titles: they only repeat the names, and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _adapter(name: str, function: Function, words: Mapping[str, str]) -> TypeAdapter[dict[str, Any]]:
    try:
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise ConfigError(f"The annotations of {name} can't be read: {error}") from error
    listed = signature.parameters.values()
    if hindrance := _signature_problem(function, listed):
        raise ConfigError(f"{name} can't be a tool: {hindrance}")
    fields = {one.name: _field(one, hints.get(one.name, Any), words.get(one.name, "")) for one in listed}
    try:
        return TypeAdapter(TypedDict(name or "arguments", fields))  # type: ignore[operator]
    except PydanticUserError as error:
        raise ConfigError(f"{name} can't be a tool: {error.message}") from error


def _signature_problem(function: Function, listed: Iterable[inspect.Parameter]) -> str:
    """Returns why a function can't be called as a tool, or ""."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "it yields its result; return a list instead"
    odd = [str(one) for one in listed if one.kind not in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return f"models give arguments by name, so there is no place for {odd[0]}" if odd else ""


def _field(parameter: inspect.Parameter, annotation: Any, words: str) -> Any:
    described: dict[str, Any] = {"description": words} if words else {}
    if parameter.default is parameter.empty:
        return Annotated[annotation, Field(**described)]
    if _is_json(parameter.default):
        described["json_schema_extra"] = {"default": parameter.default}
    return NotRequired[Annotated[annotation, Field(**described)]]


def _is_json(default: Any) -> bool:
    """Returns whether the default can be shown in the schema; if not, the function uses it all the same."""
    if type(default) is float:
        return math.isfinite(default)
    return default in (None, [], {}) or type(default) in (str, int, bool)


def _schema(name: str, arguments: TypeAdapter[dict[str, Any]], function: Function) -> dict[str, Any]:
    try:
        schema = arguments.json_schema(schema_generator=_Untitled)
    except PydanticUserError as error:
        raise ConfigError(f"{name} can't be a tool: {error.message}") from error
    schema.pop("title", None)
    return {**schema, "additionalProperties": False}


def _problems(error: ValidationError) -> Iterator[str]:
    for one in error.errors(include_url=False):
        yield f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
