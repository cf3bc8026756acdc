"""Values and keys that are wrong: each is told with its place, in plain words, with what may have been meant."""

from collections.abc import Callable
from typing import Any

import pytest

from ai_battle.config.loading import load
from ai_battle.config.problems import ConfigProblems, Problem

from .conftest import PARTICIPANTS, SMALL, Problems, Written

BOB = "discussion.models.Bob"


def test_every_problem_is_told_at_once_in_the_order_of_the_file(problems: Problems) -> None:
    text = """\
discussion:
  turns: many
  gaol: Talk.
  models:
    Ada: {typ: ollama-phi4}
    Bob: {type: claude-3-sonnet, role: asistant}
  mode: human-ia
"""
    assert problems(text) == (
        "talk.yaml:2:10 discussion.turns: must be a whole number, not 'many'",
        "talk.yaml:3:3 discussion.gaol: unknown key; did you mean 'goal'?",
        "talk.yaml:5:11 discussion.models.Ada.typ: unknown key; did you mean 'type'?",
        "talk.yaml:6:40 discussion.models.Bob.role: must be 'human', 'assistant', 'moderator', 'observer' or 'user', "
        "not 'asistant'; did you mean 'assistant'?",
        "talk.yaml:7:9 discussion.mode: must be 'ai-ai', 'human-ai' or 'no-meta', not 'human-ia'; "
        "did you mean 'human-ai'?",
    )


def test_unknown_keys_do_not_hide_what_else_is_wrong(problems: Problems) -> None:
    found = problems(f"{SMALL}  stop: [{{phrase: a, x: b}}]\n  speaker_selection: moderator\n")

    assert [problem.split()[1] for problem in found] == [
        "discussion.stop.any[0].any[1].x:",
        "discussion.speaker_selection:",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("trns: 3", "6:3 discussion.trns: unknown key; did you mean 'turns'?"),
        ("limits: {cost: 1}", "discussion.limits.cost: unknown key; did you mean 'cost_usd'?"),
        (
            "timeouts: {retries: 1}",
            "discussion.timeouts.retries: unknown key; there is notify_on, request, retry_count.",
        ),
        ("cost_usd: 1", "6:3 discussion.cost_usd: unknown key here; it belongs under 'stop:' or 'limits:'"),
        ("temperature: 1", "discussion.temperature: unknown key here; it belongs under 'discussion: models: NAME: p"),
        ("colour: Tea", "discussion.colour: unknown key; there is allow_hosts, allow_secrets, collaboration, describe"),
        ("timeouts: {turns: 1}", "discussion.timeouts.turns: unknown key here; it belongs under 'discussion:'"),
        ("execution: {paralel: true}", "discussion.execution.paralel: unknown key; did you mean 'parallel'?"),
        ("turns: 2\n  rounds: 3", "7:3 discussion.rounds: says the same as 'turns', which is there too; leave one of"),
        (
            "collaboration: {pairs: {primary: Ada, model: Bob, secondary: x}}",
            "6:41 discussion.collaboration.pairs[0].model: says the same as 'primary', which is there too",
        ),
        (
            "collaboration: {pairs: {primary: Ada, secondary: x, lessons: true}}",
            "lessons: must be a mapping of keys and values, not 'true'; there is embeddings, from, most, near, seed.",
        ),
        ("stop: {any: [{phrse: x}]}", "6:17 discussion.stop.any[0].phrse: unknown key; did you mean 'phrase'?"),
        (
            "stop: [{all: [{phrse: x}]}]",
            "6:18 discussion.stop.any[0].all[0].phrse: unknown key; did you mean 'phrase'?",
        ),
        ("input_file: {pth: x}", "discussion.input_file.pth: unknown key; did you mean 'path'?"),
        (
            "input_files: [{path: a, typ: x}]",
            "6:27 discussion.input_files.files[0].typ: unknown key; did you mean 'type'?",
        ),
        ("tools: {registri: []}", "discussion.tools.registri: unknown key; did you mean 'registry'?"),
        ("tools: {registry: [{nam: x}]}", "discussion.tools.registry[0].nam: unknown key; did you mean 'name'?"),
        ("tools: {mcp: {servers: {a: {comand: x}}}}", "servers.a.comand: unknown key; did you mean 'command'?"),
        (
            "tools: {runner: {max_round: 1}}",
            "discussion.tools.runner.max_round: unknown key; did you mean 'max_rounds'?",
        ),
        ("tools: {approval: {denny: []}}", "discussion.tools.approval.denny: unknown key; did you mean 'deny'?"),
        ("collaboration: {pair: []}", "discussion.collaboration.pair: unknown key; did you mean 'pairs'?"),
        (
            "collaboration: {pairs: [{primary: Bob, secondry: x}]}",
            "discussion.collaboration.pairs[0].secondry: unknown key; did you mean 'secondary'?",
        ),
    ],
)
def test_unknown_keys_are_told_at_every_level(problems: Problems, line: str, problem: str) -> None:
    found = problems(f"{SMALL}  {line}\n")

    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("loop: true", "script: is missing: a scripted participant says what is written there"),
        ("script: [{delay: 1}]", "script[0]: is empty; it needs one of say, think, call, fail"),
        ("when: {match: x}", "when[0]: is empty; it needs one of say, think, call, fail"),
        ("parameters: {temprature: 1}", "parameters.temprature: unknown key; did you mean 'temperature'?"),
        ("instructions: {tmplate: a}", "instructions.tmplate: unknown key; did you mean 'template'?"),
        ("script: [{sya: hi}]", "script[0].sya: unknown key; did you mean 'say'?"),
        ("script: [{call: {tol: x}}]", "script[0].call[0].tol: unknown key; did you mean 'tool'?"),
        ("script: [[hi]]", "script[0]: must be a mapping of keys and values, not a list"),
        ("when: [{match: '(', say: a}]", "when[0].match: is not a regular expression: missing )"),
        ("when: [{say: a}]", "when[0].match: is missing"),
        ("parameters: {temperature: hot}", "parameters.temperature: must be a number, not 'hot'"),
        ("parameters: {temperature: -1}", "parameters.temperature: must be at least 0, not -1"),
        ("parameters: {temperature: .nan}", "parameters.temperature: must be a finite number, not '.nan'"),
        ("parameters: {max_tokens: 1.5}", "parameters.max_tokens: must be a whole number, not 1.5"),
        ("parameters: {max_tokens: 0}", "parameters.max_tokens: must be at least 1, not 0"),
        ("parameters: {reasoning: hihg}", "not 'hihg'; did you mean 'high'?"),
        ("parameters: [1]", "parameters: must be a mapping of keys and values, not a list"),
        ("persona: {name: x}", "persona: must be text, not a mapping"),
        ("loop: 3", "loop: must be true or false, not 3"),
        ("tools: [dice]", "tools[0]: no tool 'dice' is registered in discussion.tools.registry"),
    ],
)
def test_settings_of_a_participant_are_checked(problems: Problems, setting: str, problem: str) -> None:
    kind = "scripted" if "script" in problem else "gpt-4o"
    found = problems(SMALL.replace("Bob: {type: claude-3-sonnet}", f"Bob: {{type: {kind}, {setting}}}"))

    assert len(found) == 1
    assert found[0].startswith("talk.yaml:5:")
    assert problem in found[0].removeprefix(BOB)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("turns: -3", "6:10 discussion.turns: must be at least 1, not -3"),
        ("turns: 0", "discussion.turns: must be at least 1, not 0"),
        ("turns: 99999999999", "discussion.turns: must be at most 1,000,000, not 99999999999"),
        ("turns: 1e400", "discussion.turns: must be a"),
        (f"turns: {'9' * 5000}", "discussion.turns: "),
        ("turns: true", "discussion.turns: must be a whole number, not 'true'"),
        ("turns: [3]", "discussion.turns: must be a whole number, not a list"),
        ("turns: 2.5", "discussion.turns: must be a whole number, not 2.5"),
        ("timeouts: {request: 0}", "discussion.timeouts.request: must be more than 0, not 0"),
        ("timeouts: {request: soon}", "discussion.timeouts.request: must be a number, not 'soon'"),
        ("timeouts: {retry_count: -1}", "discussion.timeouts.retry_count: must be at least 0, not -1"),
        ("timeouts: {retry_count: 1000}", "discussion.timeouts.retry_count: must be at most 100, not 1000"),
        (
            "timeouts: {notify_on: timout}",
            "6:25 discussion.timeouts.notify_on[0]: must be 'timeout', 'retry' or 'error'",
        ),
        (
            "timeouts: 300",
            "discussion.timeouts: must be a mapping of keys and values, not 300; there is notify_on, request, retry",
        ),
        ("limits: {cost_usd: -1}", "discussion.limits.cost_usd: must be at least 0, not -1"),
        ("limits: {cost_usd: .inf}", "discussion.limits.cost_usd: must be a"),
        ("execution: {parallel: maybe}", "discussion.execution.parallel: must be true or false, not 'maybe'"),
        ("execution: {max_conversation_tokens: 3}", "must be at least 64, not 3"),
        ("speaker_selection: clever", "must be 'round_robin', 'random', 'moderator' or 'auto', not 'clever'"),
        ("speaker_selection: moderator", "moderator needs a participant with 'role: moderator', and there is none"),
        ("stop: soon", "discussion.stop: must be a mapping of keys and values, not 'soon'"),
        ("stop: {any: []}", "discussion.stop: needs a condition, for example max_messages: 40"),
        ("stop: []", "discussion.stop: needs a condition, for example max_messages: 40"),
        ("stop: {any: [{all: []}]}", "discussion.stop.any[0]: needs a condition"),
        ("input_file: {path: a, max_resolution: big}", "max_resolution: must be like 1024x1024 or 4K, not 'big'"),
        ("input_file: {path: a, type: picture}", "must be 'image', 'video', 'text', 'code' or 'pdf', not 'picture'"),
        ("tools: {sandbox: off}", "sandbox: must be 'auto', 'strict', 'docker' or 'none', not 'off'"),
        ("tools: [dice, dice]", "6:17 discussion.tools.registry[1]: 'dice' is already registered above"),
        ("tools: {mcp: {servers: {a: {args: []}}}}", "an MCP server has either a command or a url"),
        ("tools: {mcp: {servers: {a: {command: x, url: y}}}}", "an MCP server has either a command or a url"),
        ("collaboration: {pairs: [{secondary: x}]}", "6:27 discussion.collaboration.pairs[0].primary: is missing"),
        (
            "collaboration: {pairs: [{model: [x], secondary: y}]}",
            "6:35 discussion.collaboration.pairs[0].model: must be",
        ),
        ("rounds: many", "6:11 discussion.rounds: must be a whole number"),
        ("collaboration: {pairs: [{primary: x, max_retries: 0}]}", "max_retries: must be at least 1, not 0"),
        ("collaboration: {pairs: [{primary: x, max_retries: -2}]}", "max_retries: must be at least 1, not -2"),
        ("collaboration: {pairs: [{primary: x, threshold: -0.1}]}", "threshold: must be at least 0, not -0.1"),
        (
            "collaboration: {pairs: [{primary: x, threshold: 7}]}",
            "threshold: is a share from 0 to 1, not 7; write 0.07 for 7 %",
        ),
        (
            "collaboration: {pairs: [{primary: x, help_rate: 20}]}",
            "help_rate: is a share from 0 to 1, not 20; write 0.2 for 20 %",
        ),
        (
            "collaboration: {pairs: [{primary: x, help_rate: 12.5 %}]}",
            "help_rate: is a share from 0 to 1, not '12.5 %'; write 0.125 for 12.5 %",
        ),
        ("collaboration: {pairs: [{primary: x, help_rate: 250}]}", "help_rate: must be at most 1, not 250"),
        ("durability: never", "must be 'every_second' or 'every_turn', not 'never'"),
    ],
)
def test_wrong_values_are_told_in_plain_words(problems: Problems, line: str, problem: str) -> None:
    found = problems(f"{SMALL}  {line}\n")

    assert len(found) == 1
    assert found[0].startswith("talk.yaml:6:")
    assert problem in found[0]
    assert len(found[0]) < 300


def test_one_participant_is_too_few(problems: Problems) -> None:
    found = problems("discussion:\n  goal: Talk.\n  models:\n    Ada: {type: x}\n")

    assert found == ("talk.yaml:4:5 discussion.models: needs at least 2 participants, not 1",)


def test_no_participants_are_told(problems: Problems) -> None:
    assert problems("discussion: {goal: Talk.}\n") == ("talk.yaml:1:1 discussion.models: is missing",)


def test_a_list_of_participants_is_told(problems: Problems) -> None:
    found = problems("discussion:\n  goal: Talk.\n  models: [{type: x}, {type: y}]\n")

    assert found == (
        "talk.yaml:3:11 discussion.models: "
        "must be a mapping of names and participants, such as {Ann: {type: gpt-4o}}, not a list",
    )


@pytest.mark.parametrize("goal", ["", "goal:\n", 'goal: ""\n', 'goal: "  "\n'])
def test_a_discussion_needs_a_goal(problems: Problems, goal: str) -> None:
    found = problems(f"discussion:\n{PARTICIPANTS}  {goal}\n")

    assert [problem.partition(" ")[2] for problem in found] == [
        "discussion.goal: is missing: say what the discussion is about"
    ]


def test_a_first_prompt_is_goal_enough() -> None:
    models = {"a": {"type": "x"}, "b": {"type": "y"}}

    assert load({"discussion": {"initial_prompt": "Hi", "models": models}}, {}).file.discussion.goal == ""


def test_a_participant_needs_a_model_unless_it_is_a_person(problems: Problems) -> None:
    found = problems(f"{SMALL}    Eve: {{role: human}}\n    Joe: {{role: user}}\n")

    assert found == (
        "talk.yaml:6:5 discussion.models.Eve.type: is missing: say which model this is, for example ollama/phi4",
    )


def test_there_is_one_moderator_at_most(problems: Problems) -> None:
    found = problems(f"{SMALL}    M: {{type: x, role: moderator}}\n    N: {{type: x, role: moderator}}\n")

    assert found == ("talk.yaml:7:24 discussion.models.N.role: 'M' is already the moderator",)


def test_somebody_has_to_take_turns(problems: Problems) -> None:
    found = problems(
        "discussion:\n  goal: g\n  models:\n    M: {type: x, role: moderator}\n    O: {type: y, role: observer}\n"
    )

    assert found == ("talk.yaml:4:5 discussion.models: needs a participant who is neither moderator nor observer",)


def test_what_a_model_can_do_has_names_of_its_own(problems: Problems) -> None:
    found = problems(f"{SMALL}    Eve: {{type: x, capabilities: {{imagess: true, tools: 7}}}}\n")

    assert found == (
        "talk.yaml:6:35 discussion.models.Eve.capabilities.imagess: unknown key; did you mean 'images'?",
        "talk.yaml:6:57 discussion.models.Eve.capabilities.tools: must be true or false, not 7",
    )


def test_a_missing_key_beside_the_discussion_hides_no_other_mistake(write_config: Written) -> None:
    source = write_config(f"{SMALL}prices: {{gpt-4o: {{input: 1}}}}\n")
    with pytest.raises(ConfigProblems) as found:
        load(source, also=lambda loaded: [Problem(("discussion", "goal"), "is dull")])

    assert [line.partition(" ")[2] for line in found.value.problems] == [
        "discussion.goal: is dull",
        "prices.gpt-4o.output: is missing",
    ]


def test_keys_at_the_wrong_level_are_told_where_they_belong(problems: Problems) -> None:
    found = problems(f"turns: 3\n{SMALL}")

    assert found == ("talk.yaml:1:1 turns: unknown key here; it belongs under 'discussion:'",)


def test_a_file_without_a_discussion_is_told(problems: Problems) -> None:
    assert "talk.yaml:1:1 discussion: is missing" in problems("models: {}\n")


@pytest.mark.parametrize("name", ['""', '" "', '"a\\nb"', '"\\e[2J"'])
def test_a_name_must_be_one_line_without_control_characters(problems: Problems, name: str) -> None:
    found = problems(f"{SMALL}    {name}: {{type: x}}\n")

    assert "the key must be a name on one line, without control characters" in found[-1]
    assert found[-1].startswith("talk.yaml:6:5 ")
    assert found[-1].isprintable()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d.update(turns=True), "discussion.turns: must be a number, not true"),
        (lambda d: d.update(turns=10**5000), "discussion.turns: "),
        (lambda d: d.update(goal=5), "discussion.goal: must be text, not 5"),
        (lambda d: d["models"]["a"].update(typ="x"), "discussion.models.a.typ: unknown key; did you mean 'type'?"),
        (lambda d: d.update(models=[1]), "discussion.models: must be a mapping of names and participants, such as"),
    ],
)
def test_a_dictionary_is_checked_as_a_file_is(change: Callable[[dict[str, Any]], None], problem: str) -> None:
    discussion: dict[str, Any] = {"goal": "Talk.", "models": {"a": {"type": "x"}, "b": {"type": "y"}}}
    change(discussion)
    with pytest.raises(ConfigProblems) as caught:
        load({"discussion": discussion}, {})

    assert problem in str(caught.value)
    assert len(str(caught.value)) < 300
