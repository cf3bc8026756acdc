"""Whatever a model says, the detector judges it, in bounded time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle import StuckDetector
from ai_battle.core.exchange import ToolSpec
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult
from ai_battle.judging.assessment import Context
from ai_battle.judging.early_stop import Prefix
from tests.growing import IN_PROPORTION, growth
from tests.performance._detecting import HOSTILE, PROMPT

PIECES = [
    "1 + ", "= ", "(", ")", "{", '"answer": ', "```python\n", "```", "\\frac{1}{2}", "\\boxed{", "#### ", "12,345.6e9",
    "The answer is ", "(B)", "wait, ", "I don't know", "\u4e0d\u5bf9", "\x00", "\ud800", "assert f(1) == ??",
    "[PYTHON]\n", "def f(x", "<tool_call>", "clock(", "9" * 400, "\n", " ", "$", "%", "x", "1/0", "((((", "lambda: ",
    "'", "\u2019", "-", "**",
]  # fmt: skip
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"enum": ["a"]}}, "required": ["n"]}
contexts = st.sampled_from(
    [
        Context(),
        Context(
            tools=(ToolSpec("clock", "Tells the time.", SCHEMA), ToolSpec("odd", schema={"properties": {"x": True}}))
        ),
        Context(output_schema=SCHEMA),
        Context(logprobs=(float("-inf"), float("nan"), 0.0, -1.0, -2.0, -3.0, 5.0)),
    ]
)


def after(result: str) -> Context:
    call = ToolCall("clock", {})
    steps = (Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text(result),)),)))
    return Context(tools=(ToolSpec("clock", "Tells the time.", SCHEMA),), steps=steps)


@given(texts, texts, contexts)
def test_any_answer_to_any_prompt_is_judged(response: str, prompt: str, context: Context) -> None:
    found = StuckDetector().assess(response, prompt, context)
    assert 0 <= found.quality <= 1
    assert -1 <= found.gain <= 1
    assert found.at_once <= found.stuck


@given(texts, texts, texts)
def test_any_answer_to_any_result_is_judged(response: str, prompt: str, result: str) -> None:
    assert 0 <= StuckDetector().assess(response, prompt, after(result)).quality <= 1


@given(texts, st.integers(1, 50))
def test_any_answer_is_read_while_it_streams(text: str, piece: int) -> None:
    watcher = Prefix()
    said = [watcher.feed(text[start : start + piece]) for start in range(0, len(text), piece)]
    assert watcher.length == len(text)
    assert watcher.reason == (said[-1] if said else "")


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_is_judged_in_bounded_time(name: str) -> None:

    def judge(size: int) -> None:
        text = HOSTILE[name] * (size // len(HOSTILE[name]))
        StuckDetector().assess(text, PROMPT)
        StuckDetector().assess("It is 5.", text)
        StuckDetector().assess(text, PROMPT, after(text))

    assert growth(judge, 60_000) < IN_PROPORTION
