"""While a text arrives, no call shows, and chunks make no difference."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ai_battle.wire.dialects.reader import StreamingReader, read

from .rows import BARE, CALLS, EXPLICIT, QUOTED, TOOLS, Row

_FRAGMENTS = (
    *(row.text for row in CALLS),
    *QUOTED.values(),
    "<tool_call>", "</tool_call>", "```", "`", "```tool\n", "```json\n", *"{}[]()>\\\"',", "look_up", "clock(",
    "<think>", "</think>", "Action: ",
    "A sentence. ", "\n", "\n\n", " ", '"name":', "<|", "|>", "[TOOL_CALLS]", "~~~", "é",
)  # fmt: skip
texts = st.lists(st.sampled_from(_FRAGMENTS), max_size=8).map("".join) | st.text("`{}[]()<>\"'\\:,=aA\n |", max_size=60)


def _chunks(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@settings(deadline=None)  # a busy machine is not a failure
@given(texts, st.integers(1, 40))
@example('"to=functions.look_up <|constrain|>json<|message|>{"word": "żółw", "limit": 3}<|call|>', 1)
def test_chunks_make_no_difference_and_only_prose_shows(text: str, size: int) -> None:
    reader = StreamingReader(TOOLS)
    shown = "".join(map(reader.feed, _chunks(text, size)))
    reading = reader.finish()
    assert read(text, TOOLS) == reading
    assert reading.prose.startswith(shown)


@given(st.text(max_size=200) | texts)
def test_any_text_can_be_read(text: str) -> None:
    reading = read(text, TOOLS)
    assert len(reading.prose) <= len(text)
    read(text)


@pytest.mark.parametrize("row", EXPLICIT + BARE, ids=lambda row: row.name)
def test_not_even_the_beginning_of_a_call_shows(row: Row) -> None:
    reader = StreamingReader(TOOLS)
    shown = "".join(map(reader.feed, row.text))
    assert reader.finish().prose.startswith(shown)
    assert "look_up" not in shown.replace("look_up or clock?", "")


def test_prose_shows_as_it_comes() -> None:
    reader = StreamingReader(TOOLS)
    said = "Turtles (of all kinds) are old: 1 < 2, `code` and {braces} are prose.\n"
    assert said * 3 == "".join(map(reader.feed, said * 3 + "The end is near, and nothing is left")).removesuffix(
        "The end is near, and nothing is left"
    )


def test_a_block_of_code_shows_when_it_is_complete() -> None:
    reader = StreamingReader(TOOLS)
    block = "```bash\necho 1\n```\n"
    assert block in "".join(map(reader.feed, block + "That was it, as promised."))
