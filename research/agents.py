"""Reads agent tasks with known truth, and defines scripted workers that do them in their own way until advised.

The tasks are in `tasks/`. A task begins with `# kind`, and `Q` is its prompt. Each step is a line `- tool name=value;
name=value => result` of the wrong way, or `+ ...` of the right one, with `x` after the sign if the tool calls its
result an error, and `!` if the tool writes. `W` is the answer at the end of the wrong way, `A` the right answer. `!`
at the beginning of a line marks the first evidence that the work goes wrong.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ai_battle.core.messages import ToolCall
from ai_battle.testing import Reply, call, reply
from ai_battle.tools.base import Parameters, Tool

FOLDER = Path(__file__).parent / "tasks"
UNSEEN, LATER = FOLDER / "unseen", FOLDER / "later"
ADVISOR = "advisor"
"""The name of the strategy's tool."""

CORRECTION, GO_ON = "Leave this way and take another one:", "You are on the right way. Go on."
"""The beginning of helpful advice, and the advice to a worker that needs none."""

_LINE = re.compile(r"(!?)([-+WAQ])(x?)(!?) (.*)")
_CALL = re.compile(r"(\w+) ?(.*?) ?=> ?(.*)")
_NEXT_ARGUMENT = re.compile(r"; (?=\w+=)")
ALWAYS_THERE = ("calculate", "search_text")
"""Tools that each task offers, so that there is a tool to call even if none is needed."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call and its result."""

    tool: str
    arguments: Mapping[str, str]
    result: str
    is_error: bool
    writes: bool

    @property
    def returned(self) -> dict[str, Any]:
        """Returns the result as the tool's mapping."""
        try:
            said = json.loads(self.result)
        except ValueError:
            said = None
        found = said if isinstance(said, dict) else {"result": self.result}
        return {"error": self.result} if self.is_error and "error" not in found else found


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A task with a right way, and a wrong one if its worker fails without advice.

    `evidence` counts the results up to the first one that shows that the work goes wrong. If only the answer shows it,
    `evidence` counts all results of the wrong way.
    """

    kind: str
    prompt: str
    right: tuple[Step, ...]
    answer: str
    wrong: tuple[Step, ...] = ()
    wrong_answer: str = ""
    evidence: int = 0

    @property
    def goes_wrong(self) -> bool:
        """Checks whether a worker fails without advice."""
        return bool(self.wrong_answer)

    @property
    def advice(self) -> str:
        """Returns the advice of an advisor that knows the right way."""
        if not self.goes_wrong:
            return GO_ON
        first = next((f"call {step.tool} with {json.dumps(step.arguments)}" for step in self.right), "answer at once")
        return f"{CORRECTION} {first}, and answer from what comes of it."


def read_tasks(folder: Path = FOLDER) -> list[AgentTask]:
    """Returns the tasks of all files of the folder."""
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.txt")))
    return [_task(part) for text in texts for part in re.split(r"^# ", text, flags=re.MULTILINE) if part]


def _task(text: str) -> AgentTask:
    kind, *lines = text.strip().splitlines()
    right, wrong, said = list[Step](), list[Step](), dict[str, str]()
    evidence = 0
    for line in filter(None, lines):
        found = _LINE.fullmatch(line)
        if not found:
            raise SystemExit(f"{kind}: {line!r} is not a line of a task")
        is_evidence, sign, error, writes, rest = found.groups()
        if sign in "QWA":
            said[sign] = rest
        else:
            (right if sign == "+" else wrong).append(_step(rest, bool(error), bool(writes)))
        evidence = len(wrong) if is_evidence else evidence
    return AgentTask(kind, said["Q"], tuple(right), said["A"], tuple(wrong), said.get("W", ""), evidence)


def _step(text: str, is_error: bool, writes: bool) -> Step:
    found = _CALL.fullmatch(text)
    if not found:
        raise SystemExit(f"{text!r} is not a step: tool name=value; name=value => result")
    tool, arguments, result = found.groups()
    pairs = (each.partition("=") for each in _NEXT_ARGUMENT.split(arguments) if each)
    return Step(tool, {name: value for name, _, value in pairs}, result.replace("\\n", "\n"), is_error, writes)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the advisor. It is `needless` if the work goes right without it."""

    needless: bool


AskPolicy = Callable[[AgentTask, "WorkerState"], bool]


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The progress of a worker: its results on the current way, and whether that way is right.

    `has_asked` is True if its last step was a question. `questions` counts its questions in this task.
    """

    done: int
    is_right: bool
    has_asked: bool
    questions: int


def never_asks(task: AgentTask, now: WorkerState) -> bool:
    return False


def always_asks(task: AgentTask, now: WorkerState) -> bool:
    """Asks before each step and before the answer."""
    return not now.has_asked


def asks_first(task: AgentTask, now: WorkerState) -> bool:
    """Asks once, before the first step, if the worker does not know how."""
    return task.goes_wrong and not now.questions


def asks_when_wrong(task: AgentTask, now: WorkerState) -> bool:
    """Asks once there is evidence that the work goes wrong, or before a wrong answer."""
    return task.goes_wrong and not now.is_right and now.done >= task.evidence and not now.has_asked


@dataclass
class Worker:
    """A model that does `task`, asks by the policy `asks`, and takes the right way after advice if it `heeds` any."""

    task: AgentTask
    asks: AskPolicy
    heeds: bool = True
    questions: list[Question] = field(default_factory=list)
    step: Step | None = None

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        """Answers a request of Chat Completions."""
        tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
        results = [*_results(body["messages"])]
        now = self._state(results)
        if ADVISOR in tools and self.asks(self.task, now):
            self.questions.append(Question(now.is_right))
            return reply(calls=[call(ADVISOR, question="How do I go on?")])
        way = self.task.right if now.is_right else self.task.wrong
        if now.done < len(way):
            self.step = way[now.done]
            known = self.step.tool in tools
            return reply(calls=[ToolCall(self.step.tool, self.step.arguments)]) if known else reply("I don't know yet.")
        return reply(self.task.answer if now.is_right else self.task.wrong_answer)

    def _state(self, results: Sequence[tuple[str, str]]) -> WorkerState:
        advised = [place for place, (name, text) in enumerate(results) if name == ADVISOR and CORRECTION in text]
        turned = advised[:1] if self.heeds else []
        since = results[turned[0] :] if turned else results
        has_asked = bool(results) and results[-1][0] == ADVISOR
        done = sum(name != ADVISOR for name, _ in since)
        return WorkerState(done, bool(turned) or not self.task.goes_wrong, has_asked, len(self.questions))

    @property
    def tools(self) -> list[Tool]:
        """Returns the tools of the task, which return the results written in it."""
        steps = (*self.task.wrong, *self.task.right)
        names = dict.fromkeys((*ALWAYS_THERE, *(step.tool for step in steps)))
        return [_WrittenTool(self, name, [step for step in steps if step.tool == name]) for name in names]


def _results(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yields the tool and the text of each result."""
    names = {each["id"]: each["function"]["name"] for said in messages for each in said.get("tool_calls") or ()}
    yield from ((names[said["tool_call_id"]], str(said["content"])) for said in messages if said["role"] == "tool")


class _WrittenTool(Tool):
    """A tool that returns the result written for the worker's current step."""

    def __init__(self, worker: Worker, name: str, steps: Sequence[Step]) -> None:
        self._worker = worker
        self._name = name
        self._arguments = dict.fromkeys(argument for step in steps for argument in step.arguments)
        self.writes = any(step.writes for step in steps)

    @property
    def name(self) -> str:
        return self._name

    @property
    def description(self) -> str:
        return self._name.replace("_", " ").capitalize() + "."

    @property
    def parameters(self) -> Parameters:
        return {name: {"type": "string"} for name in self._arguments}

    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        step = self._worker.step
        if step is None:
            raise SystemExit(f"{self._name} is called, but the worker has no current step")
        return step.returned
