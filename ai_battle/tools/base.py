"""The base class of tools, their registry, and the JSON Schema of their parameters."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

from ..core.errors import ConfigError, ToolError
from ..core.exchange import ToolSpec
from ..core.plugins import translate_errors
from ..wire.dialects.schemas import schema_problems

Parameters = Mapping[str, Any]


class Tool(ABC):
    """Something that models can use. Subclasses may define the properties as class attributes.

    `writes`: a call may change something that other calls see, so these calls run one after the other, and remembered
    results of earlier calls are forgotten. Unless configured otherwise, a person is asked about them, except if
    `is_fenced` says that their changes stay in a sandbox. A call is given up after `timeout` seconds. `doubt` is a
    reason to ask a person about each call whatever the approval says, or empty. `is_volatile`: results may change by
    themselves, as the state of a job does, so they are looked up again. `guide` is a text on the use of this tool and
    others like it, which models get once, in the system prompt.
    """

    writes: bool = False
    is_fenced: bool = False
    is_volatile: bool = False
    timeout: float = 60.0
    doubt: str = ""
    guide: str = ""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def description(self) -> str: ...

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """Names mapped to JSON Schemas, each with its own `required` and `default`; or one schema of an object."""

    @abstractmethod
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Runs the tool. `{"error": ...}` or any exception tells the model what went wrong."""

    def changes(self, parameters: Parameters) -> bool:
        """Returns whether this call writes, for tools that do so only with some parameters."""
        return self.writes


class ToolRegistry:
    """Tools by name, in the order in which they were registered."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._specs: dict[str, ToolSpec] = {}
        for tool in tools:
            self.register_tool(tool)

    def register_tool(self, tool: Tool) -> None:
        """Registers a tool. Raises `ConfigError` if its name is taken or missing, or its parameters are invalid."""
        if not isinstance(tool, Tool):
            raise ConfigError(f"{tool!r:.80} is not a Tool; derive it from ai_battle.Tool or decorate it with @tool")
        described = spec(tool)
        there = self._tools.setdefault(described.name, tool)
        if there is not tool:
            places = f"{_origin(there)} and {_origin(tool)}"
            raise ConfigError(f"Two tools are named {described.name!r}: {places}; rename one of them.")
        self._specs[described.name] = described

    def unregister_tool(self, name: str) -> None:
        self._tools.pop(name, None)
        self._specs.pop(name, None)

    def get_tool(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def list_tools(self) -> dict[str, dict[str, Any]]:
        """Returns the description and parameters of each tool, as the tool defines them."""
        return {
            name: {"description": tool.description, "parameters": tool.parameters} for name, tool in self._tools.items()
        }

    def spec(self, name: str) -> ToolSpec:
        """Returns the tool as models see it, with one JSON Schema of all its arguments."""
        return self._specs[name]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self._specs.values())

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def _origin(tool: Tool) -> str:
    """Returns the module and the name of the tool's function or class."""
    made_of = getattr(tool, "__wrapped__", type(tool))
    return f"{made_of.__module__}.{made_of.__qualname__}"


T = TypeVar("T", bound=Tool)
Execute = Callable[[T, dict[str, Any]], Awaitable[dict[str, Any]]]


def errors_as_fields(execute: Execute[T]) -> Callable[[T, dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]:
    """Turns a `ToolError` into a result with `error`, also for callers without a manager."""

    @wraps(execute)
    async def execute_or_tell(self: T, parameters: dict[str, Any]) -> dict[str, Any]:
        try:
            return await execute(self, parameters)
        except ToolError as error:
            return {"error": str(error)}

    return execute_or_tell


def spec(tool: Tool) -> ToolSpec:
    """Returns the tool as models see it. Raises `ConfigError` if it can't be offered."""
    what = f"The tool {type(tool).__qualname__}"
    with translate_errors(what, ConfigError):
        name, description, parameters = tool.name, tool.description, tool.parameters
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"{what} has no name; give it one: name = 'dice'")
    if not isinstance(description, str):
        raise ConfigError(f"{what} ({name}) has no description: models choose tools by it.")
    if not isinstance(tool.timeout, int | float) or not 0 < tool.timeout < math.inf:
        raise ConfigError(f"{what} ({name}): timeout must be seconds above 0, not {tool.timeout!r}")
    writes = bool(tool.writes and not tool.is_fenced)
    return ToolSpec(name, description, json_schema(name, parameters), writes=writes, guide=tool.guide)


def json_schema(name: str, parameters: Any) -> dict[str, Any]:
    """Returns the JSON Schema of a tool's arguments. Raises `ConfigError` if `parameters` are not a schema."""
    if not isinstance(parameters, Mapping):
        raise ConfigError(f"The parameters of {name} must map names to JSON Schemas, not be {parameters!r:.80}")
    schema = dict(parameters) if _is_whole(parameters) else _compose(name, parameters)
    problems = [*schema_problems(schema), *_not_json(schema)]
    if schema.get("type") != "object":
        problems.append("type: the arguments of a tool are an object")
    if problems:
        raise ConfigError(f"The parameters of {name} are not a JSON Schema: {'; '.join(problems)}")
    return {"properties": {}, **schema}


def _not_json(schema: Mapping[str, Any]) -> Iterator[str]:
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        yield f"it holds what JSON does not have ({error})"


def _is_whole(parameters: Parameters) -> bool:
    """Returns whether this is itself a JSON Schema; in a mapping of names each value would be a schema."""
    return isinstance(parameters.get("type"), str) or isinstance(parameters.get("required"), list)


def _compose(name: str, parameters: Parameters) -> dict[str, Any]:
    for parameter, written in parameters.items():
        if not isinstance(parameter, str) or not isinstance(written, Mapping):
            raise ConfigError(f"The parameter {parameter!r} of {name} needs a JSON Schema, not {written!r:.80}")
    return {
        "type": "object",
        "properties": {parameter: _parameter_schema(written) for parameter, written in parameters.items()},
        "required": [parameter for parameter, written in parameters.items() if written.get("required") is True],
        "additionalProperties": False,
    }


def _parameter_schema(written: Parameters) -> dict[str, Any]:
    """Returns the schema of one parameter without the boolean `required`, which JSON Schema keeps in the object."""
    return {key: value for key, value in written.items() if key != "required" or not isinstance(value, bool)}
