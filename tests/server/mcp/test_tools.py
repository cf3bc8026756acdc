"""The other tools of the MCP server, and what none of them does for a client."""

from pathlib import Path
from typing import Any

import pytest

from ai_battle.core.exchange import Usage
from ai_battle.testing import FakeProviders, reply

from ...arbiter.judges import Asked, answer, plain
from .conftest import in_this_process

TALK = "discussion: {turns: 1, goal: Sum., %s models: {Ann: {type: scripted, script: [%s, Two.]}, Ben: %s}}"
BEN = "{type: scripted, script: [Yes.]}"
PAIR = "collaboration: {pairs: [{primary: Ann, secondary: gpt-4o, calibration: ../c.json}]},"
SAVE = "{call: {tool: file_manipulation, parameters: {action: write, path: a.txt, content: a}}}"
LOST = "I do not know. " * 40


async def test_tools_say_what_they_take_what_they_return_and_what_they_touch(folder: Path) -> None:
    async with in_this_process() as assistant:
        listed = {tool.name: tool for tool in (await assistant.client.list_tools()).tools}

    assert list(listed) == ["discuss", "ask", "judge", "list_runs", "read_run"]
    for tool in listed.values():
        assert tool.output_schema
        assert tool.description
        assert all(each["description"] for each in tool.input_schema["properties"].values())
    reading = {name for name, tool in listed.items() if tool.annotations and tool.annotations.read_only_hint}
    open_world = {name for name, tool in listed.items() if tool.annotations and tool.annotations.open_world_hint}
    assert (reading, open_world) == ({"list_runs", "read_run"}, {"discuss", "ask", "judge"})


async def test_a_pair_answers_a_question_and_each_reply_is_told(folder: Path, fakes: FakeProviders) -> None:
    fakes.ollama.says(LOST, LOST, LOST, "It is 168.")
    fakes.openai.always(reply("Seven times 24 is 168.", usage=Usage(1000, 1000)))
    (folder / "bed.txt").write_text("Seven beds.")

    async with in_this_process() as assistant:
        told = await assistant.call("ask", question="How many?", pair="ollama/phi4+gpt-4o", files=["bed.txt"])

    assert told["answer"]
    assert set(told["models"]) == {"ollama/phi4", "openai/gpt-4o"}
    assert told["cost_usd"] > 0
    assert "Seven beds." in str(fakes.ollama.questions[0].body)
    assert any("openai/gpt-4o has replied, $" in words for _, _, words in assistant.told)


async def test_a_long_run_is_read_in_parts_and_turn_by_turn(folder: Path) -> None:
    script = ", ".join(f"{number} {'word' * 3_750}" for number in range(6))
    (folder / "long.yaml").write_text(TALK % ("", script, BEN.replace("Yes.", script)))

    async with in_this_process() as assistant:
        told = await assistant.call("discuss", config="long.yaml", turns=3)
        seen = [said["turn"] for said in told["messages"]]
        while (after := told["next_turn"]) is not None:
            told = await assistant.call("read_run", run="last", turn=after)
            assert sum(len(said["text"]) for said in told["messages"]) <= 40_000
            seen += [said["turn"] for said in told["messages"]]
        one = await assistant.call("read_run", run="long", part="turn", turn=4)
        summary = await assistant.call("read_run", run="long", part="summary")

    assert seen == [0, 1, 2, 3, 4, 5, 6]
    assert [said["turn"] for said in one["messages"]] == [4]
    assert (summary["turns"], summary["messages"]) == (6, [])


async def test_a_run_is_judged_with_quotations_and_a_bill_of_its_own(folder: Path, fakes: FakeProviders) -> None:
    fakes.openai.always(lambda body: reply(answer(Asked.in_body(body), plain), usage=Usage(1000, 100)))

    async with in_this_process() as assistant:
        await assistant.call("discuss", config="quickstart", turns=1)
        told = await assistant.call("judge", run="last", models=["gpt-4o"], max_cost=1)

    assert set(told["totals"]) == {"Ada", "Ben"}
    assert "tie" in told["outcome"]
    assert any(words.startswith("Ada, ") for words in told["quotations"])
    assert (told["cost_usd"], told["max_cost_usd"]) == (pytest.approx(0.007), 1)
    assert any("openai/gpt-4o has replied, $" in words for _, _, words in assistant.told)


async def test_a_run_that_is_a_link_to_elsewhere_is_not_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "journal.jsonl").write_text("")
    inside = folder / "inside"
    (inside / "runs").mkdir(parents=True)
    (inside / "runs" / "linked").symlink_to(folder / "elsewhere")

    monkeypatch.chdir(inside)

    async with in_this_process() as assistant:
        await assistant.call("discuss", config="quickstart", turns=1)
        listed = await assistant.call("list_runs")

    assert [run["run"].endswith("-quickstart") for run in listed["runs"]] == [True]
    assert listed["older"] == 0


OUTSIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "above": ("discuss", {"config": "../other.yaml"}),
    "absolute": ("discuss", {"config": "/etc/passwd"}),
    "of the home folder": ("discuss", {"config": "~/secret.yaml"}),
    "by a link": ("discuss", {"config": "link/other.yaml"}),
    "file of a topic": ("discuss", {"topic": "Tea", "models": ["a=gpt-4o", "b=gpt-4o"], "files": ["../other.yaml"]}),
    "file of a YAML": ("discuss", {"config": "reads.yaml"}),
    "folder of a text": ("discuss", {"config": TALK % ("input_files: {directory: ..},", "One.", BEN)}),
    "templates of a text": ("discuss", {"config": TALK % ("templates: ../../t,", "One.", BEN)}),
    "rubric of a text": ("discuss", {"config": TALK % ("judge: {models: gpt-4o, rubric: ../r.yaml},", "One.", BEN)}),
    "calibration of a text": ("discuss", {"config": TALK % (PAIR, "One.", BEN)}),
    "file of a question": ("ask", {"question": "What?", "model": "gpt-4o", "files": ["link/other.yaml"]}),
    "run": ("read_run", {"run": "../other"}),
    "rubric": ("judge", {"run": "ready", "models": ["gpt-4o"], "rubric": "../other.yaml"}),
    "run by a link": ("read_run", {"run": "linked"}),
    "resumed": ("discuss", {"resume": "/var/run"}),
}


@pytest.mark.parametrize(("tool", "arguments"), OUTSIDE.values(), ids=OUTSIDE)
async def test_a_path_outside_of_the_folder_is_refused_whether_anything_is_there_or_not(
    here: Path, fakes: FakeProviders, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    (here / "other.yaml").write_text(TALK % ("", "One.", BEN))
    (here / "other" / "journal.jsonl").parent.mkdir()
    (here / "other" / "journal.jsonl").write_text("")
    folder = here / "folder"
    (folder / "runs").mkdir(parents=True)
    (folder / "link").symlink_to(here)
    (folder / "runs" / "ready").mkdir()
    (folder / "runs" / "ready" / "journal.jsonl").write_text("")
    (folder / "runs" / "linked").symlink_to(here / "other")
    (folder / "reads.yaml").write_text(TALK % ("input_file: ../missing.txt,", "One.", BEN))
    monkeypatch.chdir(folder)

    async with in_this_process() as assistant:
        words = await assistant.refusal(tool, **arguments)

    assert f"is outside of {folder}" in words
    assert "--folder" in words
    assert not fakes.openai.questions


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such tool": ("discus", {}, "did you mean 'discuss'?"),
    "no such argument": ("discuss", {"topc": "Tea"}, "did you mean 'topic'?"),
    "nothing": ("discuss", {}, "one of topic (with models), config and resume"),
    "two sources": ("discuss", {"topic": "Tea", "config": "quickstart"}, "one of topic"),
    "one model": ("discuss", {"topic": "Tea", "models": "gpt-4o"}, "two models or more"),
    "no list": ("discuss", {"topic": "Tea", "models": "[gpt"}, "models"),
    "no effect": ("discuss", {"config": "quickstart", "models": ["gpt-4o"]}, "no effect with config"),
    "turns of a run": ("discuss", {"resume": "last", "turns": 3}, "no effect with resume"),
    "no money": ("discuss", {"config": "quickstart", "max_cost": 0}, "max_cost"),
    "no such model": ("ask", {"question": "What?", "model": "gtp-4o"}, "gpt-4o"),
    "nobody answers": ("ask", {"question": "What?"}, "Say who answers"),
    "half a pair": ("ask", {"question": "What?", "pair": "gpt-4o+"}, "SMALL+BIG"),
    "a pair beside a model": ("ask", {"question": "What?", "model": "gpt-4o", "pair": "a+"}, "Say who answers"),
    "no such run": ("read_run", {"run": "tea"}, "no run 'tea'"),
    "no YAML": ("discuss", {"config": "discussion:\n  goal: [\n"}, "config:3:1"),
    "wrong YAML": ("discuss", {"config": "discussion:\n  gaol: Tea\n"}, "config:2:3 discussion.gaol"),
    "a person": ("discuss", {"config": TALK % ("", "One.", "{role: user}")}, "Ben is a person"),
    "keys of the environment": ("discuss", {"config": TALK % ("", "'${HOME}'", BEN)}, "may not have ${"),
    "another address": ("discuss", {"config": "providers: {x: {base_url: 'http://x'}}\n" + TALK % ("", "One.", BEN)},
                        "may not have providers"),
    "a strategy that is code": ("ask", {"question": "What?", "pair": "ollama/a+ollama/b", "strategy": "os.path"},
                                "--trust"),
    "a judge that is code": ("judge", {"run": "last", "models": ["os.path/x"]}, "--trust"),
    "a tool that is code": ("discuss", {"config": TALK % ("tools: {paths: [bell.py]},", "One.", BEN)}, "--trust"),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "words"), WRONG.values(), ids=WRONG)
async def test_what_can_not_be_done_is_an_error_of_the_tool_in_plain_words(
    folder: Path, fakes: FakeProviders, tool: str, arguments: dict[str, Any], words: str
) -> None:
    (folder / "bell.py").write_text("raise SystemExit('code ran')")

    async with in_this_process() as assistant:
        assert words in await assistant.refusal(tool, **arguments)

    assert not (folder / "runs").exists()


async def test_a_call_of_a_tool_that_a_person_has_to_allow_is_refused_and_the_result_says_so(folder: Path) -> None:
    (folder / "save.yaml").write_text(TALK % ("tools: [file_manipulation],", SAVE, BEN))

    async with in_this_process() as assistant:
        refused = await assistant.call("discuss", config="save.yaml")
    async with in_this_process(approve="allow") as assistant:
        allowed = await assistant.call("discuss", config="save.yaml")

    (warning,) = [each for each in refused["warnings"] if "file_manipulation" in each]
    assert "--approve allow" in warning
    assert not [*(folder / refused["run"]).rglob("a.txt")]
    assert [file.read_text() for file in (folder / allowed["run"]).rglob("a.txt")] == ["a"]
