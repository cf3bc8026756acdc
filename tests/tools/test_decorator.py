"""A typed function is a tool: its schema from the annotations, its words from the docstring."""

import asyncio
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from ai_battle import ConfigError, Tool, ToolRegistry, tool

from .conftest import Call, call, manager_of


@dataclass
class Point:
    x: float
    y: float = 0.0


class Person(BaseModel):
    name: str
    born: date | None = None


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Options(TypedDict, total=False):
    deep: bool


def schema(made: Tool) -> dict[str, Any]:
    return dict(ToolRegistry([made]).specs[0].schema)


def properties(made: Tool) -> dict[str, Any]:
    found: dict[str, Any] = schema(made)["properties"]
    return found


def google(city: str, days: int = 1) -> str:
    """Tells the weather.

    It knows every city.

    Args:
        city: The city's name,
            with its country.
        days (int, optional): How many days ahead.

    Returns:
        What the weather will be.
    """
    return f"{city}: sun for {days} days"


def numpy(city: str, days: int = 1) -> str:
    """Tells the weather.

    It knows every city.

    Parameters
    ----------
    city : str
        The city's name,
        with its country.
    days : int, optional
        How many days ahead.

    Returns
    -------
    str
        What the weather will be.
    """
    return f"{city}: sun for {days} days"


def sphinx(city: str, days: int = 1) -> str:
    """Tells the weather.

    It knows every city.

    :param city: The city's name,
        with its country.
    :param days: How many days ahead.
    :returns: What the weather will be.
    """
    return f"{city}: sun for {days} days"


@pytest.mark.parametrize("function", [google, numpy, sphinx], ids=lambda function: function.__name__)
async def test_docstrings_of_three_forms_describe_the_parameters(function: Callable[..., str], call_tool: Call) -> None:
    made = tool(function)
    assert (made.name, made.description) == (function.__name__, "Tells the weather.\n\nIt knows every city.")
    assert schema(made) == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city's name,\nwith its country."},
            "days": {"type": "integer", "default": 1, "description": "How many days ahead."},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert await call_tool(made, city="Rome") == {"result": "Rome: sun for 1 days"}
    assert made("Rome", days=2) == "Rome: sun for 2 days"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045 - as people write it
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (date, {"type": "string", "format": "date"}),
        (
            Annotated[int, Field(ge=1, description="how many")],
            {"type": "integer", "minimum": 1, "description": "how many"},
        ),
        (Any, {}),
        (list, {"type": "array", "items": {}}),
        (dict, {"type": "object", "additionalProperties": True}),
    ],
    ids=str,
)
def test_annotations_become_schemas(annotation: Any, expected: dict[str, Any]) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    assert properties(tool(function))["value"] == expected


async def test_arguments_arrive_as_annotated(call_tool: Call) -> None:
    @tool
    def draw(points: list[Point], colour: Colour, by: Person, options: Options | None = None) -> list[Any]:
        """Draws."""
        assert options == {"deep": True}
        return [points[0].x + points[0].y, colour is Colour.RED, by.born]

    output = await call_tool(
        draw, points=[{"x": "1.5"}], colour="RED", by={"name": "Ann", "born": "2001-02-03"}, options={"deep": "true"}
    )
    assert output == {"result": [1.5, True, "2001-02-03"]}


async def test_what_the_schema_can_not_say_is_told_by_the_types(call_tool: Call) -> None:
    @tool
    def birthday(day: date) -> str:
        """Tells."""
        return str(day)

    error = (await call_tool(birthday, day="yesterday"))["error"]
    assert "day: Input should be a valid date" in error
    assert error.endswith("It takes birthday(day: string (date))")


async def test_defaults_that_are_not_json_stay_the_functions_own(call_tool: Call) -> None:
    origin = Point(1)

    @tool
    def move(to: Point = origin, how: tuple[int, ...] = (1, 2), most: float = math.inf) -> float:
        """Moves."""
        return min(to.x + sum(how), most)

    assert not any("default" in described for described in properties(move).values())
    assert await call_tool(move) == {"result": 4.0}


async def test_settings_may_be_given_beside(call_tool: Call) -> None:
    @tool(name="shop:buy", description="Buys.", writes=True, timeout=3)
    async def buy(what: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"bought": what}

    assert (buy.name, buy.description, buy.writes, buy.timeout) == ("shop:buy", "Buys.", True, 3)
    assert await call_tool(buy, what="milk") == {"bought": "milk"}


async def test_functions_that_block_run_beside_each_other() -> None:
    barrier = threading.Barrier(4, timeout=30)

    @tool
    def meet() -> int:
        """All four have to be there at once."""
        return barrier.wait()

    outputs = await asyncio.gather(*(meet.execute({}) for _ in range(4)))
    assert sorted(output["result"] for output in outputs) == [0, 1, 2, 3]


async def test_a_method_is_a_tool_too(call_tool: Call) -> None:
    class Till:
        def __init__(self) -> None:
            self.sum = 0

        def pay(self, amount: int) -> int:
            """Pays."""
            self.sum += amount
            return self.sum

        @tool(writes=True, is_volatile=True)
        def refund(self, amount: int) -> int:
            """Pays back."""
            self.sum -= amount
            return self.sum

    till, other = Till(), Till()
    made = tool(till.pay)
    await call_tool(made, amount=2)
    assert await call_tool(made, amount=3) == {"result": 5}
    assert await call_tool(till.refund, amount=1) == {"result": 4}
    assert await call_tool(other.refund, amount=1) == {"result": -1}
    assert list(properties(till.refund)) == ["amount"]
    assert (till.refund.description, till.refund.writes, till.refund.is_volatile) == ("Pays back.", True, True)


async def test_parameters_may_have_any_name(call_tool: Call) -> None:
    @tool
    def odd(schema: int, copy: int, _hidden: int, model_config: int, self: int = 1) -> int:
        """Adds."""
        return schema + copy + _hidden + model_config + self

    assert await call_tool(odd, schema=1, copy=1, _hidden=1, model_config=1) == {"result": 5}


def test_a_function_without_docstring_or_annotations_is_a_tool() -> None:
    made = tool(lambda value, other=None: value, )  # fmt: skip
    assert made.description == ""
    assert schema(made)["required"] == ["value"]


def star(*values: int) -> None: ...
def double(**values: int) -> None: ...
def positional(value: int, /) -> None: ...
def unknown(value: "Nothing") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def strange(value: threading.Lock) -> None: ...
def yielding(value: int) -> Iterator[int]:
    yield value


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (star, r"no place for \*values"),
        (double, r"no place for \*\*values"),
        (positional, "no place for value"),
        (unknown, "The annotations of unknown can't be read: name 'Nothing'"),
        (strange, "strange can't be a tool"),
        (yielding, "it yields its result; return a list"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_that_can_be_no_tool_is_told(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        tool(function)


async def test_a_function_that_never_returns_does_not_keep_the_program() -> None:
    """The thread is left behind; the next call gets another one."""
    release = threading.Event()

    @tool(timeout=0.1)
    def hangs(number: int) -> int:
        """Hangs at first."""
        if number == 0:
            release.wait()
        return number

    manager = manager_of(hangs)
    assert "did not answer" in (await manager.run(call("hangs", number=0))).text
    assert (await manager.run(call("hangs", number=7))).text == '{"result": 7}'
    release.set()
