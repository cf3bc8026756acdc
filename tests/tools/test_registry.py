"""Tools as the specification writes them, and what is not a tool."""

import math
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.tools.base import Tool, ToolRegistry


class Echo(Tool):
    """With properties, as the specification has it."""

    @property
    def name(self) -> str:
        return "echo"

    @property
    def description(self) -> str:
        return "Says it again."

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        return {
            "text": {"type": "string", "description": "What to say", "required": True},
            "times": {"type": "integer", "default": 1},
        }

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"said": parameters["text"] * parameters["times"]}


class Clock(Tool):
    """With class attributes."""

    name = "clock"
    description = "Tells the time."
    parameters = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}  # noqa: RUF012

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"time": "12:00"}


def _raise_error(tool: Tool) -> Any:
    raise ValueError("nothing to be had")


def variant(**attributes: Any) -> Tool:
    made: Tool = type("Variant", (Clock,), attributes)()
    return made


def test_a_registry_lists_tools_with_what_they_say_of_themselves() -> None:
    registry = ToolRegistry()
    registry.register_tool(echo := Echo())
    assert registry.get_tool("echo") is echo
    assert registry.get_tool("nothing") is None
    assert registry.list_tools() == {"echo": {"description": "Says it again.", "parameters": echo.parameters}}


def test_a_registry_can_be_walked_in_the_order_of_registration() -> None:
    registry = ToolRegistry([Echo(), Clock()])
    assert [tool.name for tool in registry] == ["echo", "clock"]
    assert (len(registry), "clock" in registry, "nothing" in registry) == (2, True, False)


def test_parameters_with_marks_of_their_own_become_one_json_schema() -> None:
    assert ToolRegistry([Echo()]).spec("echo").schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to say"},
            "times": {"type": "integer", "default": 1},
        },
        "required": ["text"],
        "additionalProperties": False,
    }


def test_a_whole_json_schema_stays_as_it_is() -> None:
    assert ToolRegistry([Clock()]).spec("clock").schema == Clock.parameters
    assert ToolRegistry([variant(parameters={})]).spec("clock").schema["properties"] == {}
    named_type = variant(parameters={"type": {"type": "string"}})
    assert ToolRegistry([named_type]).spec("clock").schema["properties"] == {"type": {"type": "string"}}


def test_the_same_tool_may_come_twice_but_not_two_of_one_name() -> None:
    registry = ToolRegistry([clock := Clock(), clock])
    with pytest.raises(ConfigError, match=r"Two tools are named 'clock': \S+\.Clock and \S+\.Clock; rename one"):
        registry.register_tool(Clock())
    assert registry.get_tool("clock") is clock


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"name": ""}, "has no name"),
        ({"name": None}, "has no name"),
        ({"name": "  "}, "has no name"),
        ({"description": None}, "has no description"),
        ({"timeout": 0}, "timeout must be seconds above 0"),
        ({"timeout": None}, "timeout must be"),
        ({"parameters": None}, "must map names to JSON Schemas"),
        ({"parameters": ["zone"]}, "must map names to JSON Schemas"),
        ({"parameters": {"zone": "string"}}, "'zone' of clock needs a JSON Schema, not 'string'"),
        (
            {"parameters": {"zone": {"type": "str"}}},
            r"properties\.zone\.type: \"str\" is not a type.*did you mean 'string'",
        ),
        ({"parameters": {"type": "array"}}, "the arguments of a tool are an object"),
        ({"parameters": {"type": "object", "properties": 3}}, "properties: must be an object"),
        ({"parameters": {"most": {"type": "number", "default": math.inf}}}, "what JSON does not have"),
        ({"parameters": {"zone": {"type": "array", "default": {1}}}}, "what JSON does not have"),
    ],
    ids=str,
)
def test_what_is_no_tool_is_a_clear_error(attributes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ToolRegistry([variant(**attributes)])


@pytest.mark.parametrize("attribute", ["name", "parameters"])
def test_a_tool_that_can_not_say_what_it_is_is_a_clear_error(attribute: str) -> None:
    with pytest.raises(ConfigError, match="Variant: ValueError: nothing to be had"):
        ToolRegistry([variant(**{attribute: property(_raise_error)})])


def test_something_else_than_a_tool_is_refused() -> None:
    with pytest.raises(ConfigError, match="is not a Tool"):
        ToolRegistry(["clock"])  # type: ignore[list-item]


def test_a_tool_without_its_parts_can_not_be_made() -> None:
    with pytest.raises(TypeError, match="execute"):
        type("Half", (Tool,), {"name": "half", "description": "", "parameters": {}})()
