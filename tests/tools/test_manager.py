"""Whatever a tool does comes back as data that a model can react to."""

import asyncio
import inspect
import json
import sys
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ai_battle.core.errors import ConfigError, ToolError
from ai_battle.core.messages import ToolCall
from ai_battle.tools.base import Tool
from ai_battle.tools.decorator import tool
from ai_battle.tools.manager import ToolManager

from .conftest import call, manager_of


class Does(Tool):
    """Does what the test says."""

    name = "it"
    description = "Does it."
    parameters = {"number": {"type": "integer", "default": 3}}  # noqa: RUF012

    def __init__(self, does: Callable[[], Any], timeout: float = 5.0) -> None:
        self.does = does
        self.timeout = timeout

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        made = self.does()
        given: dict[str, Any] = await made if inspect.iscoroutine(made) else made
        return given


class Adds(Tool):
    name = "add"
    description = "Adds."
    parameters = {  # noqa: RUF012
        "a": {"type": "integer", "required": True},
        "b": {"type": "integer", "default": 1},
    }

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"sum": parameters["a"] + parameters["b"]}


class Panic(BaseException):
    """As extensions in Rust raise when they panic."""


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Hostile:
    def __repr__(self) -> str:
        raise ValueError("no picture either")


class HostileFields(dict[str, Any]):
    def items(self) -> Any:
        raise ValueError("no fields either")


async def answer(does: Callable[[], Any], timeout: float = 5.0, **options: Any) -> dict[str, Any]:
    result = await manager_of(Does(does, timeout), **options).run(call("it"))
    output: dict[str, Any] = json.loads(result.text)
    assert result.is_error == bool(output.get("error"))
    return output


def raising(error: BaseException) -> Callable[[], Any]:
    def does() -> Any:
        raise error

    return does


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ({"tool": "add", "parameters": {"a": 2}}, {"sum": 3}),
        ({"tool": "add", "parameters": {"a": "2", "b": 2.0}}, {"sum": 4}),
        ({"parameters": {}}, {"error": "Tool name is required"}),
        ({"tool": ""}, {"error": "Tool name is required"}),
        ({}, {"error": "Tool name is required"}),
        ({"tool": "subtract"}, {"error": "Tool not found: subtract"}),
        ({"tool": ["add"]}, {"error": "Tool not found: ['add']"}),
    ],
    ids=str,
)
async def test_requests_are_answered_as_the_specification_says(request_: Any, answer: dict[str, Any]) -> None:
    assert await manager_of(Adds()).handle_tool_request(request_) == answer


async def test_an_exception_of_a_tool_is_told_as_the_specification_says() -> None:
    manager = manager_of(Does(raising(ValueError("boom"))))
    assert await manager.handle_tool_request({"tool": "it"}) == {"error": "Tool execution error: boom"}


async def test_the_manager_describes_the_tools_that_there_are() -> None:
    described = manager_of(Adds()).get_tool_descriptions()
    assert described == {"add": {"description": "Adds.", "parameters": Adds.parameters}}


async def test_a_result_belongs_to_its_call() -> None:
    asked = ToolCall("add", {"a": "2"}, id="call_7")
    result = await manager_of(Adds()).run(asked)
    assert (result.call, result.text, result.is_error) == (asked, '{"sum": 3}', False)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (call("ad", a=1), "Tool not found: ad; did you mean 'add'?"),
        (call("add"), "a: required (integer), but missing. It takes add(a: integer, b?: integer)"),
        (call("add", a="two"), 'a: expected integer, got "two"'),
        (call("add", a=1, c=2), "c: there is no such parameter"),
        (ToolCall("add", {}, malformed='{"a": 1'), 'they are cut off: {"a": 1'),
        (ToolCall("add", {}, malformed='{"a": 1}{"a": 2}'), 'they are not a JSON object: {"a": 1}{"a": 2}'),
    ],
    ids=str,
)
async def test_a_call_that_can_not_be_run_is_told_with_what_can(asked: ToolCall, said: str) -> None:
    result = await manager_of(Adds()).run(asked)
    assert result.is_error
    assert said in json.loads(result.text)["error"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("no luck"), "Tool execution error: no luck"),
        (KeyError("city"), "Tool execution error: KeyError: 'city'"),
        (ZeroDivisionError(), "Tool execution error: ZeroDivisionError"),
        (RecursionError("too deep"), "Tool execution error: too deep"),
        (ToolError("the shop is closed"), "the shop is closed"),
        (ConfigError("no key; set SHOP_KEY"), "no key; set SHOP_KEY"),
        (asyncio.CancelledError(), "it was cancelled"),
        (SystemExit(3), "it tried to end the program (3)"),
        (TimeoutError("too late"), "Tool execution error: too late"),
        (StopIteration(), "Tool execution error: coroutine raised StopIteration"),
        (Panic("of another language"), "Tool execution error: of another language"),
        (Speechless(), "Tool execution error: Speechless"),
        (ExceptionGroup("many", [ValueError("one")]), "Tool execution error: many (1 sub-exception)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_whatever_a_tool_raises_is_data(error: BaseException, said: str) -> None:
    assert await answer(raising(error)) == {"error": said}


async def test_a_tool_that_never_returns_is_given_up() -> None:
    assert await answer(lambda: asyncio.sleep(3600), timeout=0.1) == {
        "error": "it did not answer within 0.1 s and was given up"
    }


async def test_a_tool_that_does_not_hear_its_cancellation_is_left_behind() -> None:
    woken = asyncio.Event()

    async def stubborn() -> None:
        while not woken.is_set():
            try:
                await woken.wait()
            except asyncio.CancelledError:
                continue

    assert "did not answer" in (await answer(stubborn, timeout=0.1))["error"]
    assert asyncio.all_tasks() == {asyncio.current_task()}, "the end of the program would wait for it"
    woken.set()
    await asyncio.sleep(0)


async def test_a_blocking_tool_stops_nobody_else() -> None:
    """A tool whose `execute` is not a coroutine function runs in a thread: each of these waits for all others."""

    class Blocks(Does):
        def execute(self, parameters: dict[str, Any]) -> Any:
            return self.does()

    barrier = threading.Barrier(20)
    manager = manager_of(Blocks(barrier.wait, timeout=30))
    results = await asyncio.gather(*(manager.run(call("it")) for _ in range(20)))
    assert not any(result.is_error for result in results)


async def test_a_blocking_tool_that_never_returns_is_given_up() -> None:
    class Blocks(Does):
        def execute(self, parameters: dict[str, Any]) -> Any:
            return self.does()

    release = threading.Event()
    result = await manager_of(Blocks(release.wait, timeout=0.2)).run(call("it"))
    release.set()
    assert "did not answer within 0.2 s" in result.text


async def test_cancelling_a_call_cancels_its_tool() -> None:
    ended = asyncio.Event()

    async def waits() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    task = asyncio.create_task(answer(waits))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    seen: date


class Model(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("returned", "output"),
    [
        ({"a": 1}, {"a": 1}),
        ("text", {"result": "text"}),
        (None, {"result": None}),
        ([1, 2], {"result": [1, 2]}),
        ({"a": (1, {2})}, {"a": [1, [2]]}),
        ({"n": float("nan"), "i": float("-inf")}, {"n": "nan", "i": "-inf"}),
        ({"n": 1 << 16_610}, {"n": "an integer of 16,611 bits"}),
        ({"p": Path("a/b"), "d": Decimal("1.50"), "c": Colour.RED}, {"p": "a/b", "d": "1.50", "c": "red"}),
        (Point(1, date(2026, 1, 2)), {"x": 1, "seen": "2026-01-02"}),
        (Model(name="Ann"), {"name": "Ann"}),
        ({1: "one", None: "none"}, {"1": "one", "None": "none"}),
        ({"b": b"text", "c": b"\xff\xfe"}, {"b": "text", "c": "2 bytes that are not text"}),
        ({"s": "a\ud800b"}, {"s": "a\ufffdb"}),
        ({"error": None, "rows": []}, {"error": None, "rows": []}),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_a_tool_returns_becomes_json(returned: Any, output: dict[str, Any]) -> None:
    assert await answer(lambda: returned) == output


def endless() -> Iterator[int]:
    while True:
        yield 1


async def never() -> AsyncIterator[int]:
    yield 1


itself: list[Any] = []
itself.append(itself)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (object(), "it returned something that is not JSON: <object"),
        ({"a": {"b": [object()]}}, "(at a.b[0])"),
        (endless(), "not JSON: <generator"),
        (never(), "not JSON: <async_generator"),
        (Path, "not JSON"),
        (Hostile(), "no picture either"),
        ({"a": [HostileFields()]}, "no fields either"),
        ({(1, 2): 3}, "keys of JSON are texts"),
        (itself, "holds itself"),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
async def test_what_is_not_json_is_told(returned: Any, said: str) -> None:
    assert said in (await answer(lambda: returned))["error"]


async def test_a_long_text_keeps_its_head_and_tail_and_says_what_is_cut() -> None:
    output = await answer(lambda: {"text": f"begin{'.' * 100_000}end", "code": 0}, max_output=1000)
    assert output["code"] == 0
    assert output["text"].startswith("begin")
    assert output["text"].endswith("end")
    assert "characters cut ...]" in output["text"]
    assert len(json.dumps(output)) <= 1000


async def test_a_text_of_hundreds_of_megabytes_is_cut_without_being_copied() -> None:
    text = "x" * 2**28
    tracemalloc.start()
    output = await answer(lambda: {"text": text})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(output["text"]) < 40_000
    assert most < 1 << 20


async def test_a_million_rows_are_cut() -> None:
    output = await answer(lambda: {"rows": [{"number": number} for number in range(1_000_000)]}, max_output=2000)
    assert output["output"].startswith('{"rows": [{"number": 0}')
    assert "of 1,000,000 items are cut" in output["output"]
    assert len(output["output"]) < 2100


async def test_what_a_tool_prints_is_part_of_its_result_and_not_of_our_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def prints() -> dict[str, Any]:
        print("to stdout")
        print("to stderr", file=sys.stderr)
        return {"done": True}

    assert await answer(prints) == {"done": True, "printed": "to stdout\nto stderr\n"}
    print("ours")
    assert capsys.readouterr() == ("ours\n", "")


async def test_a_tool_that_closes_the_standard_streams_closes_nothing_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def closes() -> dict[str, Any]:
        sys.stdout.close()
        sys.stderr.close()
        return {}

    assert await answer(closes) == {}
    print("ours")
    assert capsys.readouterr() == ("ours\n", "")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), StopIteration()])
async def test_what_only_a_person_or_a_loop_sends_is_data_when_a_thread_raises_it(error: BaseException) -> None:
    @tool
    def it() -> None:
        """Does it."""
        raise error

    result = await manager_of(it).run(call("it"))
    assert json.loads(result.text) == {"error": f"Tool execution error: {type(error).__name__}"}


async def test_a_tool_that_prints_without_end_costs_little_memory() -> None:
    def prints() -> dict[str, Any]:
        for _ in range(100):
            print("x" * 1_000_000)
        raise ValueError("enough")

    output = await answer(prints)
    assert output["error"] == "Tool execution error: enough"
    assert "characters cut" in output["printed"]
    assert len(output["printed"]) < 5000


async def test_tools_that_run_at_once_print_each_into_its_own_result() -> None:
    async def prints(text: str) -> dict[str, Any]:
        print(text)
        await asyncio.sleep(0.05)
        print(text)
        return {}

    outputs = await asyncio.gather(*(answer(partial(prints, str(n))) for n in range(5)))
    assert outputs == [{"printed": f"{n}\n{n}\n"} for n in range(5)]


async def test_arguments_of_the_model_are_not_shared_with_the_tool() -> None:
    class Changes(Does):
        async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
            parameters.clear()
            return {}

    asked = call("it", number=1)
    await ToolManager(manager_of(Changes(dict)).registry).run(asked)
    assert asked.arguments == {"number": 1}


async def test_neither_lists_in_arguments_nor_defaults_are_shared_with_the_tool() -> None:
    class Grows(Does):
        parameters = {"given": {"type": "array"}, "more": {"type": "array", "default": []}}  # noqa: RUF012

        async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
            parameters["given"].append(1)
            parameters["more"].append(1)
            return {"more": list(parameters["more"])}

    asked = call("it", given=[])
    manager = manager_of(Grows(dict))
    results = [json.loads((await manager.run(asked)).text) for _ in range(2)]
    assert results == [{"more": [1]}, {"more": [1]}]
    assert asked.arguments == {"given": []}
