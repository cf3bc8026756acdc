"""Results that no tool returned are found, and ordinary answers are left alone."""

import gzip
import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.exchange import ToolSpec
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, assistant, user
from ai_battle.signals.fabrication import claimed, invented
from ai_battle.wire.dialects.reader import read
from tests.growing import IN_PROPORTION, growth

CORPORA = Path(os.environ.get("AI_BATTLE_CORPORA", ""))
CORPUS = CORPORA / "toolcalls" / "dev.jsonl"
PLAIN = sorted(CORPORA.glob("cascade/*.*.*.jsonl.gz"))
# Answers of models whose readers hold that they state the result of a call that nobody had run, by their row.
KINDS = ("invented", "behind")
INVENTED = frozenset((Path(__file__).parent / "invented.txt").read_text(encoding="utf-8").split())

# Written for these tests, in five languages: claims without a call, what is invented behind one, and innocent answers.
ANSWERS = [
    json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_text(encoding="utf-8").splitlines()
]

# Answers in their discussions, with the tools that were offered, and whether they tell of what no tool returned.
TRANSCRIPTS = [
    json.loads(line) for line in (Path(__file__).parent / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
]

# In other words: facts and deeds in fourteen languages, by tools of many kinds, and honest answers beside them.
TOLD = [json.loads(line) for line in (Path(__file__).parent / "told.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("\nThe current temperature in Oslo is 12 degrees.", "The current temperature in Oslo is 12 degrees."),
        ("<|im_start|>tool\nTwelve degrees and light rain<|im_end|>", "Twelve degrees and light rain"),
        ("\nThis will return the temperature in Oslo.", ""),
        ("\nHere city is set to Oslo and unit to celsius.", ""),
        ("", ""),
    ],
)
def test_what_only_a_result_could_tell_is_found_behind_a_call(after: str, said: str) -> None:
    assert invented(after) == said


def test_what_stands_behind_a_call_is_found_in_five_languages() -> None:
    found = {kind: [bool(invented(row["text"])) for row in ANSWERS if row["kind"] == kind] for kind in KINDS}
    assert sum(found["invented"]) / len(found["invented"]) >= 0.8
    assert sum(found["behind"]) / len(found["behind"]) <= 0.02


def test_without_tools_nothing_is_told_of_them() -> None:
    assert not any(claimed(row["text"]) for row in ANSWERS)


def test_in_other_words_four_of_five_are_found_with_three_false_alarms_in_a_hundred() -> None:
    found = {kind: [bool(_found(row)) for row in TOLD if row["invented"] is kind] for kind in (True, False)}
    assert sum(found[True]) / len(found[True]) >= 0.8
    assert sum(found[False]) / len(found[False]) <= 0.03


def test_in_discussions_most_are_found_that_give_figures_or_name_the_tool() -> None:
    """Half of the honest ones here are made to look like claims."""
    found = {kind: [bool(_found(row)) for row in TRANSCRIPTS if row["invented"] is kind] for kind in (True, False)}
    assert sum(found[True]) / len(found[True]) >= 0.6
    assert sum(found[False]) / len(found[False]) <= 0.08


CLOCK = ToolSpec("current_time", "The current date and time in a time zone.")
SEARCH = ToolSpec("web_search", "Searches the web.")
CODE = ToolSpec("code_execution", "Runs a program.")
QUERY = ToolSpec("database_query", "Runs one query on the database and returns the rows.")


def test_a_call_of_this_turn_backs_what_is_said_of_tools_of_its_kind_and_no_other() -> None:
    past = (user("Who won?"), *_call("web_search", "Oslo won."))
    assert not claimed("I searched the web: Oslo won.", [SEARCH, CLOCK], past)
    assert claimed("I searched the web: Oslo won. I checked the clock too.", [SEARCH, CLOCK], past) == (
        "I checked the clock too."
    )


def test_code_that_was_run_backs_much_but_no_search_of_the_web() -> None:
    past = (user("How many?"), *_call("code_execution", "42"))
    assert not claimed("I checked the file: it has 42 lines.", [SEARCH, CODE], past)
    assert claimed("I searched the web: it is 43.", [SEARCH, CODE], past)


def test_an_earlier_call_backs_what_repeats_its_result_and_nothing_new() -> None:
    past = (user("Prices?"), *_call("web_search", "Tickets cost 15 euros."), assistant("15 euros."), user("Sure?"))
    assert not claimed("I searched the web, and tickets cost 15 euros.", [SEARCH], past)
    assert claimed("I searched the web, and tickets cost 18 euros.", [SEARCH], past)
    assert claimed("I searched the web, and tickets cost 5 euros.", [SEARCH], past)


def test_what_another_has_told_may_be_told_again() -> None:
    past = (user("My query returned 14 rows.", "Ann"),)
    assert not claimed("The query returned 14 rows, so one is doubled.", [QUERY], past)
    assert claimed("The query returned 15 rows, so one is doubled.", [QUERY], past)


def test_a_story_may_tell_of_tools_and_an_example_may_show_results() -> None:
    assert not claimed("I checked the files. Nothing.", [CODE], (user("Write a crime story in the first person."),))
    shown = "[Tool result] 5 rows affected"
    assert not claimed(shown, [CODE], (user("Show me an example of a log of an agent."),))
    assert claimed(shown, [CODE], (user("Set all to shipped."),))


def test_what_was_known_before_a_call_may_stand_behind_it() -> None:
    past = (user("How long is the equator?"), *_call("web_search", "The radius of the earth is 6,371 km."))
    assert not invented("\nThe radius of the earth is 6,371 km.", past)
    assert invented("\nThe radius of the earth is 6,371 km and the equator is 40,030 km.", past)


def test_of_a_very_long_answer_both_ends_are_read() -> None:
    long = "The question remains who pays. " * 10_000
    assert claimed(f"{long}I searched the web and found three articles.", [SEARCH]).startswith("I searched the web")
    assert claimed(f"I searched the web and found three articles. {long}", [SEARCH]).startswith("I searched the web")


def test_words_of_the_tools_names_are_known() -> None:
    sensor = ToolSpec("read_sensor", "Reads a value from a sensor.")
    assert claimed("I checked the sensor, and all is well.", [sensor])
    assert not claimed("I checked the sensor, and all is well.", [CLOCK])


def _found(row: dict[str, Any]) -> str:
    past: list[Message] = []
    for who, *said in row["before"]:
        past += _call(said[0], said[2]) if who == "call" else [assistant(*said) if who == "self" else user(*said)]
    return claimed(row["answer"], [ToolSpec(*tool) for tool in row["tools"].items()], past)


def _call(name: str, returned: str) -> tuple[Message, Message]:
    call = ToolCall(name, {}, "1")
    return Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text(returned),)),))


@pytest.mark.parametrize(
    "piece",
    [
        "I ran the ",
        "assistant ",
        "<|im_start|>",
        "the results of the ",
        "<a ",
        ". ",
        "I've used a `x` ",
        "[result",
        "\n",
        "```",
        "according to the ",
        "Let me run it.\nOutput\n",
        '"',
        "select ",
        "Action: x\n",
        "i ich habe die ",
        "我把",
    ],
)
def test_it_takes_linear_time(piece: str) -> None:
    assert growth(lambda times: claimed(piece * times, [SEARCH, CLOCK], (user(piece * times),)), 200) < IN_PROPORTION
    assert growth(lambda times: invented(piece * times), 200) < IN_PROPORTION


@pytest.mark.skipif(not CORPUS.is_file(), reason="AI_BATTLE_CORPORA names no folder with toolcalls/dev.jsonl")
def test_four_of_five_invented_results_are_found_with_three_false_alarms_in_a_hundred() -> None:
    """The rows have no prompts, so that a figure of the prompt that the call does not have looks new."""
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    behind = {row["id"].removeprefix("bfcl/"): after for row in rows if (after := behind_calls(row))}
    calls = {row["id"].removeprefix("bfcl/"): read(row["raw_text"], row["tools"]).calls for row in rows}
    found = {row for row, after in behind.items() if invented(after, (), calls[row])}
    plain = [row["raw_text"] for row in rows if row["tier"] == "nocall" and row["mode"] != "trap"]

    assert len(found & INVENTED) / len(INVENTED) >= 0.8
    assert len(found - INVENTED) / len(behind.keys() - INVENTED) <= 0.03
    assert sum(bool(claimed(text, [SEARCH, CODE])) for text in plain) / len(plain) <= 0.02


@pytest.mark.skipif(not PLAIN, reason="AI_BATTLE_CORPORA names no folder with cascade/*.jsonl.gz")
def test_sums_and_reasoning_are_left_alone_whatever_tools_there_are() -> None:
    """As an answer that needs no tool is, with ten in reach."""
    names = "web_search code_execution file_manipulation database_query calculator current_time get_weather"
    tools = [ToolSpec(name) for name in f"{names} get_exchange_rate get_stock_price list_issues".split()]
    answers = [answer for path in PLAIN for answer in _answers(path)]
    told = [bool(claimed(text, tools, (user(prompt),))) for prompt, text in answers]
    assert sum(told) / len(answers) <= 0.02


def _answers(path: Path) -> list[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, 60)]
    found = ((row["prompt"], row.get(key)) for row in rows for key in ("small_response", "large_response"))
    return [(prompt, text) for prompt, text in found if isinstance(text, str)]


def behind_calls(row: dict[str, Any]) -> str:
    """The words behind the first call of an answer; empty when there are none."""
    if row["mode"] not in ("prompt", "native-text"):
        return ""
    text, spans = row["raw_text"], read(row["raw_text"], row["tools"]).spans
    starts = [*(span.start for span in spans[1:]), len(text)]
    after = "\n".join(text[span.end : start] for span, start in zip(spans, starts, strict=False))
    return after if any(len(word) > 2 for word in after.split()) else ""
