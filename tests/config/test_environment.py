"""`${NAME}` in values: where it comes from, what it may do, and that it is never shown."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ai_battle.config.loading import LoadedDiscussion, load
from ai_battle.config.problems import ConfigProblems, Problem
from ai_battle.conversation.inputs import problems as input_problems
from ai_battle.core.errors import ConfigError

from .conftest import PARTICIPANTS, SMALL, Problems, Written

Load = Callable[..., LoadedDiscussion]
SECRET = "sk-veryverysecret"


def goal(text: str) -> str:
    return f"discussion:\n  goal: {text}\n{PARTICIPANTS}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("${A}", "one"),
        ("a ${A} b ${B}", "a one b two"),
        ("${C:-three}", "three"),
        ("${A:-three}", "one"),
        ("${EMPTY:-three}", "three"),
        ("${EMPTY}x", "x"),
        ('"${C:-}x"', "x"),
        ("$${A}", "${A}"),
        ("$${A} ${A}", "${A} one"),
        ("costs $5 and ${not a name} here", "costs $5 and ${not a name} here"),
        ("|\n    first\n    ${A}", "first\none\n"),
    ],
)
def test_references_are_replaced(load_text: Load, text: str, meant: str) -> None:
    environment = {"A": "one", "B": "two", "EMPTY": ""}

    assert load_text(goal(text), environment).file.discussion.goal == meant


def test_a_value_can_not_become_yaml(load_text: Load) -> None:
    text = "{a: 1}\nturns: 99 # ${B}"
    discussion = load_text(goal("${A}"), {"A": text, "B": "no"}).file.discussion

    assert (discussion.goal, discussion.turns) == (text, 3)


def test_a_whole_value_may_be_a_number_where_one_is_expected(load_text: Load) -> None:
    text = f"""\
{SMALL}
  turns: ${{TURNS}}
  execution: {{parallel: "${{PARALLEL}}"}}
established_facts:
  - ${{TURNS}}
  - "${{TURNS}}"
"""
    discussion = load_text(text, {"TURNS": "7", "PARALLEL": "true"}).file.discussion

    assert discussion.turns == 7
    assert discussion.execution.parallel
    assert discussion.established_facts == [7, "7"]


def test_an_unset_variable_is_told_at_its_place(problems: Problems) -> None:
    assert problems(goal("Talk about ${TOPIC}")) == (
        "talk.yaml:2:9 discussion.goal: the variable TOPIC is not set; set it, write ${TOPIC:-default}, "
        "or $${TOPIC} for that text",
    )


@pytest.mark.parametrize("key", ["api_key: '${A_KEY}'", "base_url: 'https://me:${A_KEY}@example.com/v1'"])
def test_an_unset_variable_of_a_secret_is_told_by_its_own_name(problems: Problems, key: str) -> None:
    (told,) = problems(f"providers: {{openai: {{{key}}}}}\n{SMALL}")

    assert told.endswith("the variable A_KEY is not set; set it, write ${A_KEY:-default}, or $${A_KEY} for that text")


def test_a_name_that_is_none_is_told(problems: Problems) -> None:
    assert "${MY-KEY} is not a variable; write ${NAME} or ${NAME:-default}" in problems(goal("${MY-KEY}"))[0]


def test_a_tool_without_its_key_does_not_stop_a_discussion(load_text: Load) -> None:
    text = f"{SMALL}  tools: {{registry: [{{name: web_search, parameters: {{api_key: '${{KEY}}'}}}}]}}\n"

    assert any("the variable KEY is not set" in note for note in load_text(text).notes)


def test_the_env_file_beside_the_yaml_is_read_and_existing_variables_win(write_config: Written) -> None:
    env = "# keys\nexport A=one # note\nB='two # 2'\nC=\"three\\nlines\"\nnot a line\nD=from file\n"
    write_config(env, ".env")
    here = load(write_config(goal('"${A} ${B} ${C} ${D}"')), {"D": "existing"})

    assert here.file.discussion.goal == "one two # 2 three\nlines existing"
    assert here.environment["A"] == "one"


def test_an_env_file_that_is_no_text_is_told(write_config: Written) -> None:
    write_config(b"A=\xff\n", ".env")

    with pytest.raises(ConfigError, match=r"\.env: can't be read: it is not UTF-8"):
        load(write_config(SMALL), {})


def test_values_from_the_environment_are_known_as_secrets(load_text: Load) -> None:
    section = "providers: {openai: {headers: {x: '${KEY} ${SHORT} ${OTHER:-default}'}}}\n"
    here = load_text(f"{SMALL}{section}", {"KEY": SECRET, "SHORT": "5"})

    assert here.redactor.secrets == {SECRET: "KEY"}


def test_no_error_shows_a_value_from_the_environment(write_config: Written) -> None:
    text = f"""\
discussion:
  turns: ${{KEY}}
  mode: ${{KEY}}
  goal: ["${{KEY:-x}}"]
  models:
    Ada: {{type: x, tools: ["${{KEY}}"], parameters: {{temperature: "${{KEY}}", reasoning: "${{SHORT}}"}}}}
    Bob: {{type: x, when: {{match: "(${{KEY}}"}}, loop: "${{KEY}}"}}
providers: {{openai: {{api_key: [{SECRET}], transport: "${{KEY}}"}}}}
"""
    with pytest.raises(ConfigProblems) as caught:
        load(write_config(text), {"KEY": SECRET, "SHORT": "b7"})

    assert len(caught.value.problems) == 9
    assert SECRET not in f"{caught.value!r}{caught.value}{caught.value.__context__!r}"
    assert "b7" not in str(caught.value)
    assert "discussion.turns: must be a whole number, not '${KEY}'" in str(caught.value)


def test_nothing_that_is_printed_shows_a_value_from_the_environment(load_text: Load) -> None:
    assert SECRET not in repr(load_text(f"{SMALL}providers: {{openai: {{api_key: '${{KEY}}'}}}}\n", {"KEY": SECRET}))


def test_a_problem_found_later_shows_no_value_from_the_environment(load_text: Load) -> None:
    here = load_text(SMALL.replace("claude-3-sonnet", "'${MODEL}'"), {"MODEL": "secret-model"})
    problem = Problem(("discussion", "models", "Bob", "type"), "no model is called 'secret-model'")

    assert here.with_place(problem).endswith("discussion.models.Bob.type: no model is called '${MODEL}'")


def test_notes_show_no_value_from_the_environment(load_text: Load) -> None:
    text = f"{SMALL}  collaboration: {{pairs: [{{primary: '${{MODEL}}', secondary: x}}]}}\n"

    assert "secret-model" not in str(load_text(text, {"MODEL": "secret-model"}).notes)


@pytest.mark.parametrize("value", ["7", "1024", "true", "abc"])
def test_values_that_are_everywhere_are_no_secrets(load_text: Load, value: str) -> None:
    section = "providers: {openai: {headers: {x: '${A}'}}}\n"

    assert not load_text(f"{SMALL}{section}", {"A": value}).redactor.secrets


def test_the_resolved_text_names_variables_again_and_loads_to_the_same(load_text: Load, write_config: Written) -> None:
    text = f"""\
{goal("${KEY:-x} and ${OTHER:-default} and $${TEXT}")}
  allow_secrets: [KEY]
  turns: 1e1
  stop: [{{phrase: no}}]
established_facts: {{version: '1.10', number: 1.10, word: no, odd: 'true', lines: "a\\n  b\\n", none: ~}}
"""
    environment = {"KEY": SECRET}
    here = load_text(text, environment, overrides=("timeouts.request=5",))
    resolved = here.as_yaml()

    assert SECRET not in resolved
    assert "goal: ${KEY} and default and $${TEXT}" in resolved
    assert load(write_config(resolved, "config.yaml"), environment).file.discussion == here.file.discussion


def test_the_resolved_text_keeps_where_relative_paths_start(load_text: Load, tmp_path: Path) -> None:
    here = load_text(f"{SMALL}  input_file: note.txt\n")
    stored = tmp_path / "runs" / "config.yaml"
    stored.parent.mkdir()
    stored.write_text(here.as_yaml())

    assert load(stored, {}).base == tmp_path


def test_a_secret_that_stands_in_the_file_is_treated_as_one(load_text: Load) -> None:
    here = load_text(f"{SMALL}providers: {{openai: {{api_key: {SECRET}, headers: {{X-Token: t0psecret}}}}}}\n")

    assert {*here.redactor.secrets} == {SECRET, "t0psecret"}
    assert 'api_key: "${OPENAI_API_KEY}"' in here.as_yaml()
    assert SECRET not in here.as_yaml()
    note = "providers.openai.api_key: a secret is better kept out of the file: ${OPENAI_API_KEY}"
    assert f"{note}; a run keeps only that name, so set it to resume one" in here.notes


def test_a_fact_is_no_secret_whatever_its_name(load_text: Load) -> None:
    here = load_text(f"{SMALL}established_facts: {{password: sesame, api_key: none}}\n")

    assert not here.redactor.secrets
    assert "password: sesame" in here.as_yaml()


def test_an_unknown_home_is_a_missing_file(load_text: Load) -> None:
    assert len([*input_problems(load_text(f"{SMALL}  input_file: ~nobody-at-all/x.txt\n"))]) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Discuss ${TOPIC}.", "cats and dogs"),
        ("Discuss ${TOPIC}.", "photosynthesis"),
        ("Review ${TOPIC}.", "release 2.14.0-rc1"),
        ("Review ${TOPIC}.", "https://example.org/a?page=2"),
        ("Compare ${TOPIC}.", "claude-3-5-sonnet-20241022"),
        ("Spiele auf ${TOPIC}.", "Windows11"),
    ],
)
def test_words_from_the_environment_may_stand_in_a_prompt_and_are_no_secret(
    load_text: Load, text: str, value: str
) -> None:
    here = load_text(goal(text), {"TOPIC": value})

    assert here.file.discussion.goal == text.replace("${TOPIC}", value)
    assert not here.redactor.secrets


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "whatever-it-is"),
        ("DATABASE_PASSWORD", "correct horse"),
        ("INTERNAL", "xk83hd72kq01"),
        ("INTERNAL", "sk-proj-abcdefgh"),
        ("GITHUB_PAT", "ghp_abcdefghij"),
    ],
)
@pytest.mark.parametrize("place", ["goal: Use ${NAME}.", "goal: Talk.\n  initial_prompt: 'So: ${NAME}'"])
def test_a_secret_in_a_prompt_is_refused_with_its_place_and_the_way_to_allow_it(
    problems: Problems, load_text: Load, name: str, value: str, place: str
) -> None:
    text = f"discussion:\n  {place}\n{PARTICIPANTS}".replace("NAME", name)

    (told,) = problems(text, {name: value})

    assert told.startswith("talk.yaml:2:9 discussion.goal: " if "Use" in place else "talk.yaml:3:19 discussion.initial")
    assert f"the secret {name} would be sent to the models" in told
    assert f"allow_secrets: [{name}]" in told
    assert value not in told
    allowed = load_text(f"{text}  allow_secrets: [{name}]\n", {name: value})
    assert value in f"{allowed.file.discussion.goal} {allowed.file.discussion.initial_prompt}"


@pytest.mark.parametrize(
    "place",
    [
        "persona: 'I have KEY'",
        "instructions: 'Use KEY'",
        "instructions: {template: x, params: {a: {b: ['KEY']}}}",
    ],
)
def test_a_known_secret_that_is_written_out_is_refused_too(problems: Problems, place: str) -> None:
    text = SMALL.replace("{type: ", "{" + place.replace("KEY", SECRET) + ", type: ", 1)

    told = "\n".join(problems(text, {"SOME_TOKEN": SECRET}))

    assert "the secret SOME_TOKEN would be sent to the models" in told
    assert SECRET not in told


def test_a_password_in_an_address_is_a_secret_and_stands_in_no_resolved_text(
    load_text: Load, write_config: Written
) -> None:
    here = load_text(f"{SMALL}providers: {{ollama: {{base_url: 'http://ann:p%40ss-w0rd@127.0.0.1:9'}}}}\n")

    assert {*here.redactor.secrets} == {"p%40ss-w0rd", "p@ss-w0rd"}
    assert "http://ann:${OLLAMA_PASSWORD}@127.0.0.1:9" in here.as_yaml()
    again = load(write_config(here.as_yaml(), "config.yaml"), {"OLLAMA_PASSWORD": "p%40ss-w0rd"})
    assert again.file.providers == here.file.providers


def test_what_variables_stand_for_is_bounded_before_it_is_written_out(write_config: Written) -> None:
    """A hundred thousand references to a long value would be gigabytes."""
    path = write_config(f"{SMALL}  persona: {'${LONG}' * 100_000}\n")

    with pytest.raises(ConfigError, match="20 MB of text"):
        load(path, {"LONG": "x" * 100_000})
