"""The datasets and suites that come with the package: what they call right is right, and every suite loads."""

import ast
import json
import operator
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from ai_battle.benchmark.datasets import jsonl
from ai_battle.benchmark.loading import LoadOptions, load
from ai_battle.benchmark.run import begin, run
from ai_battle.benchmark.sample import Sample
from ai_battle.benchmark.scorers import ScoredAnswer, numeric, python_tests, regex, tool_calls
from ai_battle.benchmark.tasks import Task
from ai_battle.cli import run_command
from ai_battle.config.editors import json_schema
from ai_battle.config.packaged import packaged_config, packaged_names
from ai_battle.core.messages import ToolCall
from ai_battle.testing import FakeProviders
from ai_battle.tools.sandbox import NoFence, choose
from ai_battle.wire.dialects.arguments import fit

DATA = Path(__file__).parents[2] / "configs" / "benchmarks" / "data"
OPERATORS: Mapping[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: lambda a, b: a ** int(b),
}


def tasks(name: str) -> list[Task]:
    return list(jsonl.create().read(DATA / f"{name}.jsonl"))


def compute(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=value):
            return Fraction(str(value))
        case ast.BinOp(left=left, op=op, right=right):
            return Fraction(OPERATORS[type(op)](compute(left), compute(right)))
    raise ValueError(ast.dump(node))


@pytest.mark.parametrize("name", ["arithmetic", "code", "tools", "instructions"])
def test_a_dataset_has_30_to_60_tasks_of_their_own(name: str) -> None:
    found = tasks(name)

    assert 30 <= len(found) <= 60
    assert len({task.id for task in found}) == len({task.prompt for task in found}) == len(found)


async def test_the_references_of_the_sums_are_what_their_expressions_come_to() -> None:
    for task in tasks("arithmetic"):
        right = compute(ast.parse(task.extra["expression"], mode="eval").body)
        assert Fraction(task.reference) == right, task.id
        assert (await numeric.create().score(task, ScoredAnswer(f"So it is {float(right):g}."))).value == 1, task.id


async def test_the_solutions_pass_their_tests_and_an_empty_function_does_not() -> None:
    """All solutions in one program, as each fence costs its time; the scorer itself is tried on a few."""
    try:
        sandbox = choose()
    except NoFence as error:
        pytest.skip(str(error))
    scorer, found = python_tests.create(sandbox), tasks("code")
    together = Task("all", "", tests="\n".join(task.tests for task in found))
    whole = "\n".join(task.extra["solution"] for task in found)
    assert await scorer.score(together, ScoredAnswer(f"```python\n{whole}\n```")) == await scorer.score(
        found[0], ScoredAnswer(found[0].extra["solution"])
    )
    for task in found[:3]:
        head = task.extra["solution"].partition("\n")[0]
        assert (await scorer.score(task, ScoredAnswer(f"```python\n{head}\n    return None\n```"))).value == 0


def test_no_test_of_the_functions_is_met_by_doing_nothing() -> None:
    """Run here, as these lines are our own."""
    for task in tasks("code"):
        head = task.extra["solution"].partition("\n")[0]
        with pytest.raises((AssertionError, TypeError)):
            exec(f"{head}\n    return None\n{task.tests}", {})


async def test_the_calls_that_are_right_fit_their_tools_and_score() -> None:
    for task in tasks("tools"):
        calls = []
        for said in json.loads(task.reference):
            ((name, possible),) = said.items()
            arguments = {key: values[0] for key, values in possible.items() if values[0] != ""}
            schema = next(tool.schema for tool in task.tools if tool.name == name)
            assert fit(arguments, schema).problems == (), task.id
            assert not fit(arguments, schema).repairs, task.id
            calls.append(ToolCall(name, arguments))
        assert (await tool_calls.create().score(task, ScoredAnswer("", tuple(calls)))).value == 1, task.id
        wrong = (*calls[1:], ToolCall("get_time")) if calls else (ToolCall(task.tools[0].name),)
        assert (await tool_calls.create().score(task, ScoredAnswer("", wrong))).value == 0, task.id


async def test_each_instruction_is_followed_by_one_answer_and_not_by_another() -> None:
    for task in tasks("instructions"):
        assert regex.create().lacks(task) == ""
        for key, value in (("follows", 1.0), ("fails", 0.0)):
            assert (await regex.create().score(task, ScoredAnswer(task.extra[key]))).value == value, (task.id, key)


@pytest.mark.parametrize("name", packaged_names("benchmark"))
def test_a_shipped_suite_fits_the_schema_and_loads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packaged_config(name, "benchmark")
    assert path is not None
    assert not list(Draft202012Validator(json_schema("benchmark")).iter_errors(yaml.safe_load(path.read_text())))
    with FakeProviders.in_thread() as fakes:
        for key, value in fakes.environment.items():
            monkeypatch.setenv(key, value)
        assert load(name).samples > 0


@pytest.mark.slow
def test_the_recorded_pair_shows_what_help_costs_and_brings(tmp_path: Path) -> None:
    """Of real answers: handing over is better than the small model alone, cheaper than the large one."""
    samples = by_setting("recorded-gsm8k", tmp_path, limit=80)
    quality = {name: mean([sample.score.value or 0.0 for sample in found]) for name, found in samples.items()}
    cost = {name: sum(sample.usage.cost_usd or 0.0 for sample in found) for name, found in samples.items()}

    assert quality["small"] < quality["takeover threshold=0.7"]
    assert quality["small"] < quality["large"]
    assert cost["small"] < cost["takeover threshold=0.7"] < cost["large"]
    assert all(sample.spent_usd == 0 and not sample.error for found in samples.values() for sample in found)


def test_the_first_steps_need_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_command(["bench", "run", "first-steps", "--out", "out", "-q"]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"results.sqlite", "suite.yaml"}


def by_setting(suite: str, folder: Path, limit: int) -> dict[str, list[Sample]]:
    loaded = load(suite, LoadOptions(limit=limit))
    store = begin(loaded, folder / "out")
    try:
        assert not run(loaded, store).limit
        return {name: list(store.samples(name)) for name in store.settings()}
    finally:
        store.close()


def mean(values: list[float]) -> float:
    return sum(values) / len(values)
