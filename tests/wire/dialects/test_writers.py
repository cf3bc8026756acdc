"""What is written in a dialect is read from it, in any surroundings; what is cut is not called in part."""

import pytest

from ai_battle.wire.dialects.reader import parse_tool_calls, read

from .writers import AROUND, DIALECTS, OFFERED, SETS, SIMPLE, SINGLE, WRITTEN, Call

ALL = {**DIALECTS, **SINGLE}
_STEP = 5


def calls_in(text: str) -> list[Call]:
    return [(call.name, dict(call.arguments)) for call in parse_tool_calls(text, OFFERED)]


@pytest.mark.parametrize(
    "dialect", [pytest.param(name, marks=pytest.mark.slow if number % 3 else ()) for number, name in enumerate(ALL)]
)
def test_what_was_written_is_read(dialect: str) -> None:
    for calls in SETS if dialect in DIALECTS else SETS[: len(WRITTEN) + len(SIMPLE)]:
        text = ALL[dialect](calls)
        for around, words in AROUND.items():
            assert calls_in(words.replace("%", text)) == list(calls), (around, text)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ALL)
def test_whatever_is_cut_is_called_whole_or_not_at_all(dialect: str) -> None:
    for calls in ((SIMPLE[0],), (WRITTEN[1],), (WRITTEN[4],), (WRITTEN[10],), (SIMPLE[3],), SIMPLE[:3]):
        if len(calls) > 1 and dialect in SINGLE:
            continue
        text = AROUND["around"].replace("%", ALL[dialect](calls))
        for end in range(0, len(text), _STEP):
            found = calls_in(text[:end])
            assert found == list(calls[: len(found)]), text[:end]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "weather.forecast", "arguments": {"city": "Paris"}\n</tool_call>',
        '```tool\n{"tool": "weather.forecast", "parameters": {"city": "Paris"}\n```',
        '```tool\n{"tool": "weather.forecast", "parameters": {"city": "Paris"\n```\nDone.',
        '<function=weather.forecast>{"city": "Paris"</function>',
        '[TOOL_REQUEST]{"name": "weather.forecast", "arguments": {"city": "Paris"}[END_TOOL_REQUEST]',
        '{"name": "weather.forecast", "arguments": {"city": "Paris"}<|eot_id|>',
    ],
)
def test_a_bracket_may_be_missing_where_the_end_is_marked(text: str) -> None:
    assert calls_in(text) == [("weather.forecast", {"city": "Paris"})]


def test_a_bracket_that_is_missing_at_the_end_of_the_text_is_a_cut() -> None:
    reading = read('```tool\n{"tool": "weather.forecast", "parameters": {"city": "Paris"}\n``', OFFERED)
    assert (reading.calls, [issue.kind for issue in reading.issues]) == ((), ["cut_off"])
