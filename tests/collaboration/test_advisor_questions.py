"""Which questions of a worker that asks before each step are answered, and which are declined, in ordinary work."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ai_battle import ModelRequest, StuckDetector
from ai_battle.collaboration import advisor
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, EventLog, ignore
from ai_battle.core.exchange import NOTHING_USED, ModelResponse, ToolSpec
from ai_battle.core.helping import HelpAsked, HelpDeclined
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, user
from ai_battle.testing import ScriptedClient

JOBS = yaml.safe_load((Path(__file__).parent / "data" / "questions.yaml").read_text("utf-8"))


def tools_of(job: dict[str, Any]) -> tuple[ToolSpec, ...]:
    names = dict.fromkeys(name for name, *_ in job["work"])
    return tuple(ToolSpec(name, f"{name} of the house", writes=name in job.get("writes", ())) for name in names)


class AsksFirst(ModelClient):
    """Asks where it can and has not just done so, and then does what it does anyway."""

    def __init__(self, then: ToolCall | str, *, asks: bool = True) -> None:
        self.asks = asks
        self.then = Text(then) if isinstance(then, str) else then

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        results = [result for message in request.messages[-1:] for result in message.tool_results]
        has_asked = any(result.call.name == "advisor" for result in results)
        can_ask = self.asks and not has_asked and any(tool.name == "advisor" for tool in request.tools)
        part = ToolCall("advisor", {}) if can_ask else self.then
        return ModelResponse(Message("assistant", (part,)), usage=NOTHING_USED)


async def asks_always(job: dict[str, Any], **options: Any) -> list[tuple[bool, bool]]:
    """Of each question before a step: whether it is right, and whether it was answered."""
    messages: list[Message] = [user(job["prompt"])]
    is_right = job.get("begin") == "right"
    asked: list[tuple[bool, bool]] = []
    for number, step in enumerate([*job["work"], None]):
        then = ToolCall(step[0], step[1]) if step else job["answer"]
        worker = AsksFirst(then, asks=number in job.get("asks_at", range(99)))
        large = ScriptedClient("Go on as you do.", loop=True)
        log = EventLog()
        response = await advisor.create(worker, large, **options).complete(
            ModelRequest((*messages,), tools=tools_of(job)), log
        )
        first = next((event for event in log.events if isinstance(event, HelpAsked | HelpDeclined)), None)
        if first:
            asked.append((is_right, isinstance(first, HelpAsked)))
        if step:
            made = ToolCall(step[0], step[1], id=f"call_{number}")
            messages += (*response.steps, Message("assistant", (made,)))
            messages.append(Message("tool", (ToolResult(made, (Text(step[2]),)),)))
            is_right = step[3:] == ["right"]
    return asked


async def test_needless_questions_are_declined_and_right_ones_are_answered() -> None:
    """The first question of each job is answered, as nothing tells whether it is needless."""
    asked = [await asks_always(job) for job in JOBS]
    needless = [is_answered for questions in asked for is_right, is_answered in questions[1:] if not is_right]
    right = [is_answered for questions in asked for is_right, is_answered in questions if is_right]

    assert all(is_answered for (_, is_answered), *_ in asked)
    assert len(needless) > 80
    assert needless.count(False) >= 0.85 * len(needless)
    assert right.count(True) >= 0.9 * len(right)


JOB = {"prompt": "Tidy up the cellar list.", "work": [["rows", {}, "12 rows"]], "answer": "It is tidy."}
PAGES = [["rows", {"page": page}, f"{page} rows"] for page in range(1, 9)]


@pytest.mark.parametrize(
    ("job", "options", "answered"),
    [
        ({}, {}, [True, False]),
        ({}, {"decline_needless": False}, [True, True]),
        ({}, {"stuck_detector": StuckDetector(help_rate=0.2)}, [False, False]),
        ({"work": [["rows", {}, "Error: locked"]]}, {}, [True, True]),
        ({"work": [["rows", {}, "12 rows, and not one error"]]}, {}, [True, True]),
        ({"work": [["rows", {}, "We make no error. " * 30]]}, {}, [True, False]),
        ({"work": [["rows", {}, '{"exit_code": 2}']]}, {}, [True, True]),
        ({"work": [["rows", {}, '{"exit_code": 0}']]}, {}, [True, False]),
        ({"work": PAGES}, {}, [True, *[False] * 5]),
        ({"work": PAGES, "asks_at": [0, 8]}, {}, [True, True]),
    ],
    ids=[
        "nothing amiss", "all are answered", "bounded", "an error", "words of failure", "a long text", "a failing run",
        "a run", "the sixth is not offered", "long work",
    ],
)  # fmt: skip
async def test_what_makes_a_question_worth_its_price(
    job: dict[str, Any], options: dict[str, Any], answered: list[bool]
) -> None:
    assert [is_answered for _, is_answered in await asks_always({**JOB, **job}, **options)] == answered
