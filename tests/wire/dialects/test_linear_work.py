"""Four times the text is about four times the work, whatever the text is; counted in calls, not in seconds."""
# ruff: noqa: E501, RUF001

import sys
from types import FrameType

import pytest

from ai_battle.wire.dialects.reader import StreamingReader, read

from .rows import TOOLS

_SIZE = 4_000
_HOSTILE = (
    "`", "```tool\n", "```tool ", "```tool\n{\n", "```json\n{bad: json: }\n```\n", "{", "[", "[{", '{"a":', '"', '{"\\', "(", "<",
    "<tool_call>", '<tool_call>{"name": "look_up", "arguments": {', "<think>", "</think>", "[look_up(word=", "look_up ", "look_up(",
    "[look_up(" + "limit=1, " * 9, "<function=look_up><parameter=word>", "<function=look_up>\n<parameter=word>\n", 'Some {prose} with "quotes" (and more). ', "look_up(word='x') ",
    '<tool_call>{"name": "clock", "arguments": {}}</tool_call>\n', '["', '[["', '{"name":', "~~~\n", "> x\n", "Action: ",
    "Action: clock\nAction Input: {", "<|channel|>analysis<|message|>", "<｜tool▁call▁begin｜>look_up<｜tool▁sep｜>", "[TOOL_CALLS]",
    "<tool_call>look_up\n<arg_key>word</arg_key><arg_value>", "<look_up><word>", "```tool\nTOOL_NAME: look_up\nBEGIN_ARG: word\n",
    "`a` ", "a`b``c```", "look_up('", "look_up{word:", "<tool_response>", "/*", '{"name": /*',
    '<tool a="', "<tool name='clock' a='x' ", ">>>clock\n", "Arguments: {}\n", 'clock\n```json\n{"a": 1}\n```\n', '"<tool_call>{}', "\n\n    <a>",
    "<tool>clock</tool><args>", "['{", "<![CDATA[{}", "<|message|>", "clock: {} is ", "look_up(limit=(5+", "\n", " ", "clock() ",
    '```tool\n{"tool": "look_up", "parameters": {"word": }}\n```\n', '```tool\n{"tool": "look_up"\n```\n', "```tool\n{]\n```\n",
    '```tool_call\n{"name": "look_up", "arguments": {\n```\n', '```json\n{"tool": "look_up", "parameters": [\n```\n',
    "<function_call>\n{'name': 'look_up'\n</function_call>\n", '<tool_call>{"name" "look_up"}</tool_call>\n', "```tool\ntool: look_up\n```\n",
    '```tool\n{"a": 1\n```\n', "Shall I? clock()\n", "or\n```tool\nclock()\n```\n", "Action: clock\nObservation: ", "For example:\nclock()\n",
    "Tool: look_up\nArguments:\n- limit: 3\n", "Tool: ", "✿FUNCTION✿: clock\n", "```tool\nlook_up\nword: |\n  a\n", "Action 1: look_up[", "limit: 3\n",
    "```tool\nlook_up\nlimit: 3\n```\n", "| tool | word |\n", "| tool |\n| look_up |\n", "look_up word=x\n", "look_up --word x\n", "look_up word=",
    "tool: look_up\n", "- tool: look_up\n  word: x\n", "tool: look_up\nword: |\n", "~~look_up(word='x')~~ ", "Option A:\nclock()\n", "‘", "{‘a’: ",
    '<look_up word="x"></look_up>', "<tool><name>look_up</name>", "\n|", "getTime ", "If so, I would:\nclock()\n", "-clock()\n",
)  # fmt: skip


def _work(text: str) -> int:
    """Returns how many calls, of Python and of C, reading takes."""
    count = 0

    def count_call(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        read(text, TOOLS)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("pattern", _HOSTILE)
def test_four_times_the_text_is_four_times_the_work(pattern: str) -> None:
    text = pattern * (_SIZE // len(pattern))
    read(text, TOOLS)  # what is compiled and kept at the first reading is not counted
    assert _work(text * 4) <= 6 * _work(text) + 2_000


def test_a_text_without_an_opener_costs_next_to_nothing() -> None:
    assert _work("Plain words, and nothing else. " * 10_000) < 60


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ['{"name": "', "```bash\n", "<tool_call>x "])
def test_what_is_held_back_is_not_read_again_with_each_token(pattern: str) -> None:
    reader = StreamingReader(TOOLS)
    for _ in range(20_000):
        reader.feed(pattern)
    assert reader.finish().calls == ()
