"""Learns the weights of `ai_battle.judging.unfinished`: `python -m research.unfinished [EVERYDAY.jsonl]`.

They are learned from the 200 agent tasks, right answers to 28 other jobs, and those of `tests/collaboration/data`; with
a file of everyday prompts also from its right answers after tools. Each row counts half as it is and half with other
tools offered. The command prints how often each finding occurs in wrong and right answers, its weight, and how many
answers are doubted with the shipped and with the learned weights. The tasks in `tasks/unseen` and `tasks/later` teach
nothing and are only counted.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ai_battle.core.exchange import ToolSpec
from ai_battle.core.messages import Text, ToolCall, ToolResult
from ai_battle.judging.regression import RegressionProblem, Term, fit
from ai_battle.judging.unfinished import EVIDENCE, NO_EVIDENCE, EndOfWork, unfinished_work
from research.agents import ALWAYS_THERE, FOLDER, LATER, UNSEEN, AgentTask, Step, read_tasks

DATA = Path(__file__).parents[1] / "tests" / "collaboration" / "data"
STRENGTH, CUT = 0.15, -0.5
"""The inverse variance of a weight, and the logit above which an answer is doubted."""
OTHER_TOOLS = tuple(
    ToolSpec(name, writes=name.split("_")[0] in ("write", "send", "create", "delete"))
    for name in ("write_file", "send_message", "create_event", "delete_file", "list_folder", "web_search")
)


@dataclass(frozen=True)
class Row:
    """An answer with the work before it, and whether it is wrong in a way that only the answer shows."""

    source: str
    is_wrong: bool
    answer: str
    prompt: str
    results: tuple[ToolResult, ...]
    tools: tuple[ToolSpec, ...]

    def end(self, others: Sequence[ToolSpec] = ()) -> EndOfWork:
        return EndOfWork(self.answer, self.prompt, self.results, (*self.tools, *others))


def rows_of_tasks(folder: Path) -> Iterator[Row]:
    """Yields the right answers, after all calls of both ways, and the wrong answers whose calls show nothing."""
    for task in read_tasks(folder):
        tools = _task_tools(task)
        yield Row(folder.name, False, task.answer, task.prompt, _results((*task.wrong, *task.right)), tools)
        if task.goes_wrong and task.evidence == len(task.wrong):
            yield Row(folder.name, True, task.wrong_answer, task.prompt, _results(task.wrong), tools)


def _task_tools(task: AgentTask) -> tuple[ToolSpec, ...]:
    steps = (*task.wrong, *task.right)
    names = dict.fromkeys((*ALWAYS_THERE, *(step.tool for step in steps)))
    return tuple(
        ToolSpec(
            name,
            schema={"properties": {key: {} for step in steps if step.tool == name for key in step.arguments}},
            writes=any(step.writes for step in steps if step.tool == name),
        )
        for name in names
    )


def _results(steps: Sequence[Step]) -> tuple[ToolResult, ...]:
    return tuple(_result(step.tool, step.arguments, json.dumps(step.returned), step.is_error) for step in steps)


def _result(tool: str, arguments: Mapping[str, Any], said: str, is_error: bool = False) -> ToolResult:
    return ToolResult(ToolCall(tool, dict(arguments)), (Text(said),), is_error=is_error)


def rows_of_others(everyday: Sequence[str]) -> Iterator[Row]:
    """Yields right answers to jobs and prompts that were written for other measurements."""
    for job in yaml.safe_load((DATA / "questions.yaml").read_text(encoding="utf-8")):
        results = tuple(_result(tool, arguments, str(said)) for tool, arguments, said, *_ in job["work"])
        names = dict.fromkeys(result.call.name for result in results)
        tools = tuple(ToolSpec(name, writes=name in job.get("writes", ())) for name in names)
        yield Row("questions", False, job["answer"], job["prompt"], results, tools)
    for turn in _lines(DATA / "after_tools.jsonl"):
        name, about = turn["tool"]
        results = (_result(name, turn["arguments"], turn["result"], turn["is_error"]),)
        for answer in turn["right"]:
            yield Row("after tools", False, answer, turn["prompt"], results, (ToolSpec(name, about),))
    for turn in _lines(DATA / "finished_turns.jsonl"):
        yield _row("finished turns", turn["prompt"], turn["answer"], turn["calls"], turn["tools"])
    for turn in (line for path in everyday for line in _lines(Path(path))):
        is_finished = all("result" in step for step in turn["steps"])
        if turn["tools"] and turn["right"] and is_finished and turn["family"] != "tools_call":
            yield _row("everyday", turn["prompt"], turn["answer"], turn["steps"], turn["tools"])


def _lines(path: Path) -> Iterator[Any]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _row(source: str, prompt: str, answer: str, calls: Sequence[Any], tools: Sequence[Any]) -> Row:
    results = tuple(
        _result(each["name"], each["arguments"], str(each["result"]), bool(each.get("is_error"))) for each in calls
    )
    offered = (ToolSpec(each["name"], each.get("description", ""), each.get("parameters") or {}) for each in tools)
    return Row(source, False, answer, prompt, results, tuple(offered))


def learned_weights(rows: Sequence[Row]) -> dict[str, float]:
    """Prints and returns the weight of each finding. The intercept has the name ""."""
    found = [(row.is_wrong, row.end(others).findings()) for row in rows for others in ((), OTHER_TOOLS)]
    columns = [[float(name in names) for _, names in found] for name in EVIDENCE]
    terms = [*(Term(column, STRENGTH) for column in columns), Term([1.0] * len(found), 1e-3)]
    weights = fit(RegressionProblem(terms, [float(is_wrong) for is_wrong, _ in found], [0.5] * len(found)))
    for name, weight in zip(EVIDENCE, weights, strict=False):
        wrong, right = (sum(name in names for is_wrong, names in found if is_wrong is of) / 2 for of in (True, False))
        print(
            f"{name:18} learned {weight:5.2f} shipped {EVIDENCE[name][0]:5.2f}   wrong {wrong:4.0f} right {right:4.0f}"
        )
    print(f"{'(intercept)':18} learned {weights[-1] - CUT:5.2f} shipped {NO_EVIDENCE:5.2f}")
    return dict(zip((*EVIDENCE, ""), weights, strict=True))


def main(arguments: Sequence[str]) -> None:
    rows = [*rows_of_tasks(FOLDER), *rows_of_others(arguments)]
    weights = learned_weights(rows)
    rows += (*rows_of_tasks(UNSEEN), *rows_of_tasks(LATER))
    for source, is_wrong in dict.fromkeys((row.source, row.is_wrong) for row in rows):
        of = [row.end() for row in rows if (row.source, row.is_wrong) == (source, is_wrong)]
        shipped = sum(bool(unfinished_work(end)) for end in of)
        learned = sum(sum(map(weights.__getitem__, ("", *end.findings()))) > CUT for end in of)
        kind = "wrong" if is_wrong else "right"
        print(f"{source:14} {kind} {len(of):4} doubted {shipped:3} with shipped weights, {learned:3} with learned ones")


if __name__ == "__main__":
    main(sys.argv[1:])
