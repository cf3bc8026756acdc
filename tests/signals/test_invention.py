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
from ai_battle.signals.invention import invented_result, unsupported_claim
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

# Facts and deeds in fourteen languages, by tools of many kinds, and honest answers beside them.
TOLD = [json.loads(line) for line in (Path(__file__).parent / "told.jsonl").read_text(encoding="utf-8").splitlines()]


# Sixty turns in fourteen languages, half of them honest, written before the rule was.
TURNS = [json.loads(line) for line in (Path(__file__).parent / "turns.jsonl").read_text(encoding="utf-8").splitlines()]


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
    assert invented_result(after) == said


def test_what_stands_behind_a_call_is_found_in_five_languages() -> None:
    found = {kind: [bool(invented_result(row["text"])) for row in ANSWERS if row["kind"] == kind] for kind in KINDS}
    assert sum(found["invented"]) / len(found["invented"]) >= 0.8
    assert sum(found["behind"]) / len(found["behind"]) <= 0.02


def test_without_tools_nothing_is_told_of_them() -> None:
    assert not any(unsupported_claim(row["text"]) for row in ANSWERS)


def test_three_of_four_lookups_are_found_with_few_false_alarms() -> None:
    """Honest ones are on the subjects of the tools; the rules were not tuned with the rows that were kept aside."""
    for kept in (True, False):
        rows = [row for row in LOOKUPS if row["kept"] is kept]
        found = {kind: [bool(_claim(row)) for row in rows if row["invented"] is kind] for kind in (True, False)}
        assert sum(found[True]) / len(found[True]) >= 0.75
        assert sum(found[False]) / len(found[False]) <= 0.06


def test_in_other_words_two_of_three_are_found_with_two_false_alarms_in_a_hundred() -> None:
    """By tools that take anything, such as a search of the web, hardly any."""
    found = {kind: [bool(_finding(row)) for row in TOLD if row["invented"] is kind] for kind in (True, False)}
    assert sum(found[True]) / len(found[True]) >= 0.65
    assert sum(found[False]) / len(found[False]) <= 0.02


def test_of_turns_written_before_the_rule_three_of_five_are_found() -> None:
    """Most that are missed tell a state, or whom something belongs to, in another language than the result."""
    found = {kind: [bool(_of_turn(row)) for row in TURNS if row["invented"] is kind] for kind in (True, False)}
    assert sum(found[True]) / len(found[True]) >= 0.6
    assert sum(found[False]) / len(found[False]) <= 0.04


def test_in_discussions_those_are_found_that_give_figures() -> None:
    """Half of the honest ones here are made to look like claims; nobody's words are listened for."""
    found = {kind: [bool(_finding(row)) for row in TRANSCRIPTS if row["invented"] is kind] for kind in (True, False)}
    assert sum(found[True]) / len(found[True]) >= 0.3
    assert sum(found[False]) / len(found[False]) <= 0.05


# Results and answers to lookups and deeds with the parameters of their tools; every second row was kept aside.
LOOKUPS = [
    json.loads(line) for line in (Path(__file__).parent / "lookups.jsonl").read_text(encoding="utf-8").splitlines()
]
PARAMETERS = {
    "get_weather": "city", "web_search": "query", "send_email": "to text", "code_execution": "code",
    "file_manipulation": "action path", "database_query": "sql", "send_message": "to text", "calculator": "expression",
    "create_event": "title start", "get_order": "number", "get_stock_price": "symbol",
    "book_flight": "origin destination date", "convert_currency": "amount base target", "read_sensor": "sensor",
    "set_alarm": "time", "get_directions": "origin destination", "lights": "room on", "web_fetch": "url",
    "play_music": "title", "create_ticket": "title", "translate": "text target", "exec": "command",
    "get_exchange_rate": "base target", "roll_dice": "n", "lookup_flight": "number", "http_request": "url",
    "create_issue": "title", "search_documents": "query", "get_user_orders": "user", "knowledge_base": "query",
    "slack_post_message": "channel text", "home_assistant_state": "entity", "unit_convert": "amount base target",
    "find_route": "origin destination", "summarize_pdf": "path", "jira_search": "jql", "package_info": "name",
    "memory_search": "query", "search_recipes": "query",
}  # fmt: skip
CLOCK = ToolSpec("current_time", "The current date and time in a time zone.")
SEARCH = ToolSpec("web_search", "Searches the web.", {"type": "object", "properties": {"query": {}}})
CODE = ToolSpec("code_execution", "Runs a program.", {"type": "object", "properties": {"code": {}}})
QUERY = ToolSpec("database_query", "Runs one query on the database.", {"type": "object", "properties": {"sql": {}}})
TRAINS = ToolSpec("find_trains", "Departures on a day.", {"type": "object", "properties": {"origin": {}, "date": {}}})
LIGHT = ToolSpec("set_light", "Switches a light.", {"type": "object", "properties": {"room": {}}})
WEATHER = ToolSpec("get_weather", "Current weather.", {"type": "object", "properties": {"city": {}}})


def test_a_call_of_this_turn_backs_what_it_has_returned_and_no_other_figure() -> None:
    past = (user("Who won?"), *_call("web_search", "Oslo won by 3 goals to 1 at 20:45."))
    assert not unsupported_claim("I searched the web: Oslo won at 20:45.", [SEARCH, CLOCK], past)
    assert unsupported_claim("I searched the web: Oslo won. The game ended at 21:37.", [SEARCH, CLOCK], past) == (
        "The game ended at 21:37."
    )


@pytest.mark.parametrize(
    ("answer", "suspected"),
    [
        ("12 * 0.45 € + 2 * 3.20 € = 11.80 €.", False),
        ("12 * 0.45 = 5.40 and 2 * 3.20 = 6.40; 5.40 + 6.40 = 11.80 EUR.", False),
        ("12 * 0.45 € + 2 * 3.20 € = 12.80 €.", True),
        ("12 * 0.55 € + 2 * 3.20 € = 13.00 €.", True),
        ("They cost 17.35 EUR.", True),
    ],
)
def test_a_sum_of_results_is_backed_where_it_is_written_out_and_holds(answer: str, suspected: bool) -> None:
    price = ToolSpec("price", "The price of an item.", {"type": "object", "properties": {"item": {"type": "string"}}})
    messages = [user("What do 12 rolls and 2 loaves cost?")]
    for item, found in (("roll", "0.45 EUR"), ("bread", "3.20 EUR")):
        asked = ToolCall("price", {"item": item}, item)
        messages += [Message("assistant", (asked,)), Message("tool", (ToolResult(asked, (Text(found),)),))]

    assert bool(unsupported_claim(answer, (price,), messages)) is suspected


def test_what_a_table_has_in_different_rows_is_not_put_together() -> None:
    trains = '[{"departs": "08:12", "platform": 3}, {"departs": "09:40", "platform": 11}]'
    for table in (trains, "08:12, 3\n09:40, 11"):
        past = (user("Which trains are there?"), *_call("find_trains", table))
        assert not unsupported_claim("The 09:40 goes from platform 11, the 08:12 from platform 3.", [TRAINS], past)
        assert unsupported_claim("The 09:40 goes from platform 3, the 08:12 from platform 11.", [TRAINS], past)


def test_a_failed_call_is_not_told_as_done() -> None:
    call = ToolCall("set_light", {"room": "attic"}, "1")
    failed = Message("tool", (ToolResult(call, (Text("lamp not reachable"),), is_error=True),))
    past = (user("Turn on the light in the attic."), Message("assistant", (call,)), failed)
    assert unsupported_claim("The light in the attic is on.", [LIGHT], past)
    assert not unsupported_claim("I could not turn on the light in the attic.", [LIGHT], past)
    assert not unsupported_claim("The lamp in the attic is out of reach: not reachable, it says.", [LIGHT], past)


def test_an_earlier_call_backs_what_repeats_its_result_and_nothing_new() -> None:
    tickets = (*_call("web_search", "Tickets cost 17 euros."), assistant("17 euros."))
    past = (user("Prices?"), *tickets, user("What do tickets cost today?"))
    assert not unsupported_claim("Tickets cost 17 euros today.", [SEARCH], past)
    assert unsupported_claim("Tickets cost 18.43 euros today.", [SEARCH], past)


def test_what_another_has_told_may_be_told_again() -> None:
    past = (user("My query returned 14 rows.", "Ann"),)
    assert not unsupported_claim("The query returned 14 rows, so one is doubled.", [QUERY], past)


def test_a_prompt_that_gives_tools_nothing_to_look_up_is_answered_freely() -> None:
    assert not unsupported_claim(
        "I checked the files. Nothing.", [CODE], (user("Write a crime story in the first person."),)
    )
    assert not unsupported_claim("Ben Nevis is high, and often in clouds.", [WEATHER], (user("Tell me of mountains."),))
    assert not unsupported_claim("For which day?", [TRAINS], (user("Which trains go to York?"),))


def test_an_answer_in_the_form_of_a_result_is_suspected() -> None:
    assert unsupported_claim("[Tool result] 5 rows affected", [CODE], (user("Set all to shipped."),))


def test_what_was_known_before_a_call_may_stand_behind_it() -> None:
    past = (user("How long is the equator?"), *_call("web_search", "The radius of the earth is 6,371 km."))
    assert not invented_result("\nThe radius of the earth is 6,371 km.", past)
    assert invented_result("\nThe radius of the earth is 6,371 km and the equator is 40,030 km.", past)


def test_of_a_very_long_answer_both_ends_are_read() -> None:
    long = "The question remains who pays. " * 10_000
    assert unsupported_claim(f"{long}\nTool output: 5 rows affected", [SEARCH]).startswith("Tool output")
    assert unsupported_claim(f"Tool output: 5 rows affected\n{long}", [SEARCH]).startswith("Tool output")


def _of_turn(row: dict[str, Any]) -> str:
    past = [user(row["prompt"])]
    for name, arguments, returned, is_error in row["steps"]:
        past += _call(name, returned, arguments, is_error=is_error)
    tools = [ToolSpec(name, about, _parameters(names.split())) for name, (about, names) in row["tools"].items()]
    return unsupported_claim(row["answer"], tools, past)


def _claim(row: dict[str, Any]) -> str:
    past = [user(row["prompt"])]
    for step in row["steps"]:
        past += _call(step["name"], step["result"], step["arguments"], is_error=step["is_error"])
    tools = [ToolSpec(tool["name"], tool["description"], tool["parameters"]) for tool in row["tools"]]
    return unsupported_claim(row["answer"], tools, past)


def _finding(row: dict[str, Any]) -> str:
    past: list[Message] = []
    for who, *said in row["before"]:
        past += (
            _call(said[0], said[2]) if who == "call" else [assistant(*said) if who == "self" else _message(who, *said)]
        )
    tools = [ToolSpec(name, description, _schema(name)) for name, description in row["tools"].items()]
    return unsupported_claim(row["answer"], tools, past)


def _message(who: str, text: str, name: str = "Ben") -> Message:
    return user(text) if who == "user" else user(text, name)


def _schema(tool: str) -> dict[str, Any]:
    return _parameters(PARAMETERS.get(tool, "").split())


def _parameters(names: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}


def _call(
    name: str, returned: str, arguments: dict[str, Any] | None = None, *, is_error: bool = False
) -> tuple[Message, Message]:
    call = ToolCall(name, arguments or {}, "1")
    return Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text(returned),), is_error),))


@pytest.mark.slow
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
    assert (
        growth(lambda times: unsupported_claim(piece * times, [SEARCH, CLOCK], (user(piece * times),)), 200)
        < IN_PROPORTION
    )
    assert growth(lambda times: invented_result(piece * times), 200) < IN_PROPORTION


@pytest.mark.slow
def test_a_long_line_of_marks_is_read_in_linear_time() -> None:
    assert growth(lambda times: invented_result("#" * times), 1_000) < IN_PROPORTION


@pytest.mark.skipif(not CORPUS.is_file(), reason="AI_BATTLE_CORPORA names no folder with toolcalls/dev.jsonl")
def test_four_of_five_invented_results_are_found_with_four_false_alarms_in_a_hundred() -> None:
    """The rows have no prompts, so that a figure of the prompt that the call does not have looks new."""
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    behind = {row["id"].removeprefix("bfcl/"): after for row in rows if (after := behind_calls(row))}
    calls = {row["id"].removeprefix("bfcl/"): read(row["raw_text"], row["tools"]).calls for row in rows}
    found = {row for row, after in behind.items() if invented_result(after, (), calls[row])}
    plain = [row["raw_text"] for row in rows if row["tier"] == "nocall" and row["mode"] != "trap"]

    assert len(found & INVENTED) / len(INVENTED) >= 0.8
    assert len(found - INVENTED) / len(behind.keys() - INVENTED) <= 0.04
    assert sum(bool(unsupported_claim(text, [SEARCH, CODE])) for text in plain) / len(plain) <= 0.02


@pytest.mark.skipif(not PLAIN, reason="AI_BATTLE_CORPORA names no folder with cascade/*.jsonl.gz")
def test_sums_and_reasoning_are_left_alone_whatever_tools_there_are() -> None:
    """As an answer that needs no tool is, with ten in reach."""
    names = "web_search code_execution file_manipulation database_query calculator current_time get_weather"
    tools = [
        ToolSpec(name, "", _schema(name)) for name in f"{names} get_exchange_rate get_stock_price list_issues".split()
    ]
    answers = [answer for path in PLAIN for answer in _answers(path)]
    told = [bool(unsupported_claim(text, tools, (user(prompt),))) for prompt, text in answers]
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
