"""Files that are not a configuration: each is refused with what it is and the way out."""

import os
from pathlib import Path

import pytest

from ai_battle.config.loading import load
from ai_battle.core.errors import ConfigError

from .conftest import SMALL, Problems, Written


def refusal(source: object) -> str:
    with pytest.raises(ConfigError) as caught:
        load(source, {})  # type: ignore[arg-type]
    return str(caught.value)


def test_a_missing_file_is_told_with_near_names(write_config: Written, tmp_path: Path) -> None:
    write_config(SMALL, "robot.yaml")

    assert refusal(tmp_path / "robott.yaml") == (
        f"{tmp_path}/robott.yaml: there is no such file; did you mean 'robot.yaml'?"
    )


def test_a_missing_file_may_mean_a_packaged_configuration() -> None:
    assert "did you mean 'quickstart'" in refusal("quickstrat")


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no" / "a.yaml").endswith(
        f"there is no such file, and no directory '{tmp_path}/no' either"
    )


def test_a_directory_is_no_file(write_config: Written, tmp_path: Path) -> None:
    write_config(SMALL, "robot.yaml")

    assert refusal(tmp_path) == f"{tmp_path}: is a directory; name a YAML file in it: robot.yaml"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_told(write_config: Written) -> None:
    path = write_config(SMALL)
    path.chmod(0)

    assert refusal(path) == f"{path}: can't be read: Permission denied"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "--- \n...\n"])
def test_an_empty_file_is_told(write_config: Written, text: str) -> None:
    assert "is empty; a discussion starts with the line 'discussion:'" in refusal(write_config(text))


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "42\n"])
def test_the_top_must_be_a_mapping(write_config: Written, text: str) -> None:
    assert "talk.yaml:1:1: must be a mapping that starts with the line 'discussion:'" in refusal(write_config(text))


def test_several_documents_are_one_too_many(write_config: Written) -> None:
    assert "talk.yaml:6:1: a second document starts here; keep one discussion in a file" in refusal(
        write_config(f"{SMALL}---\n{SMALL}")
    )


def test_text_that_is_not_utf_8_is_told_with_its_line(write_config: Written) -> None:
    message = refusal(write_config(b"discussion:\n  goal: caf\xe9\n"))

    assert message.endswith("talk.yaml:2: is not UTF-8 text (byte 0xe9); save it as UTF-8")


def test_utf_16_is_recognised(write_config: Written) -> None:
    assert "it looks like UTF-16" in refusal(write_config(SMALL.encode("utf-16")))


def test_a_huge_file_is_refused_before_it_is_parsed(write_config: Written) -> None:
    assert "is larger than 5 MB" in refusal(write_config(b"a: [" + b"x" * 50_000_000))


def test_an_endless_file_is_refused() -> None:
    assert "is larger than 5 MB" in refusal("/dev/zero")


def test_an_alias_bomb_is_refused(write_config: Written) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    assert "more than 100,000 values" in refusal(write_config("\n".join(lines)))


def test_a_bomb_of_merged_mappings_is_refused_at_once(write_config: Written) -> None:
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}, <<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40)]

    assert "more than 100,000 values" in refusal(write_config("\n".join(lines)))


def test_an_anchor_can_not_hold_itself(write_config: Written) -> None:
    assert "talk.yaml:1:9: *a needs an &a above it" in refusal(write_config("a: &a [ *a ]\n"))


@pytest.mark.parametrize("text", ["[" * 10_000, "- " * 10_000, "{a: " * 10_000])
def test_deep_nesting_is_refused(write_config: Written, text: str) -> None:
    assert "nested more than 64 levels deep" in refusal(write_config(f"a: {text}" if text[0] != "-" else text))


def test_a_dictionary_that_holds_itself_is_refused() -> None:
    source: dict[str, object] = {}
    source["discussion"] = source

    assert "nested more than 64 levels deep" in refusal(source)


def test_a_dictionary_of_other_things_is_refused() -> None:
    assert refusal({"discussion": {"goal": object()}}).startswith("discussion.goal: must be text, a number")
    assert refusal({"discussion": {("a",): 1}}) == "discussion: keys must be text, not tuple"


def test_tabs_are_explained(write_config: Written) -> None:
    message = refusal(write_config("discussion:\n\tgoal: Talk.\n"))

    assert "talk.yaml:2:1: " in message
    assert "a tab" in message
    assert "spaces" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("discussion:\n  goal: a: b\n", "2:10: a second ': ' on this line; put quotes around text that holds a colon"),
        (
            "discussion:\n  turns: 2\n   goal: Talk.\n",
            "3:8: this line is indented more than the key above, which already has its value; align the two",
        ),
        (
            "discussion:\n  goal: 'What's new?'\n",
            "2:15: the quoted text ends here, but the line goes on; put text that contains ' in double quotes",
        ),
        (
            'discussion:\n  goal: "What is new?\n  persona: "A cook."\n',
            "3:13: the quote opened in line 2 is closed only here; its end is missing there",
        ),
        ("discussion:\n  goal: 'open\n", "a quote that is opened here or above is never closed"),
        ("discussion:\n  goal: Talk.\n turns: 3\n", "this does not line up with the keys above"),
        ("discussion: *nobody\n", "1:13: *nobody needs an &nobody above it; put quotes around text that starts with *"),
        ("discussion: {goal: ${TOPIC}}\n", "text in brackets needs quotes (as '${NAME}' does there)"),
        ("discussion:\n  goal: @you\n", "put quotes around the text"),
        ("discussion:\n  ? [a, b]\n  : c\n", "2:5: a key must be text, not a list or a mapping"),
        ("discussion:\n  goal: a\x01b\n", "talk.yaml:2:10: a control character, which YAML does not allow; remove it"),
    ],
)
def test_broken_yaml_is_told_in_plain_words(write_config: Written, text: str, words: str) -> None:
    assert words in refusal(write_config(text))


def test_python_tags_are_refused_and_not_run(problems: Problems, tmp_path: Path) -> None:
    made = tmp_path / "made"
    found = problems(f"{SMALL}  persona: !!python/object/apply:os.mkdir [{made}]\n")

    assert "talk.yaml:6:12 the tag '!!python/object/apply:os.mkdir' is not allowed" in found[1]
    assert not made.exists()


def test_duplicate_keys_are_told_with_both_places(problems: Problems) -> None:
    found = problems(f"{SMALL}  turns: 1\n  turns: 2\n")

    assert found == ("talk.yaml:7:3 the key 'turns' is written twice, first in line 6; keep one",)


def test_yaml_text_in_place_of_a_path_is_told() -> None:
    assert refusal(SMALL).startswith("this is YAML itself, not the path of a file")


@pytest.mark.parametrize("source", [["talk.yaml"], 3, None])
def test_what_can_be_no_file_is_told(source: object) -> None:
    assert refusal(source) == f"{source!r} is no discussion; pass the path of a file, a packaged name, or a dictionary"


def test_a_name_that_is_too_long_is_a_plain_error() -> None:
    assert "can't be read: File name too long" in refusal("x" * 5000)


def test_a_participant_may_be_only_a_type_but_not_nothing(problems: Problems) -> None:
    found = problems("discussion:\n  goal: Talk.\n  models:\n    Ann: gpt-4o\n    Bob: null\n")

    assert [each.partition("models.")[2] for each in found] == [
        "Bob.type: is missing: say which model this is, for example ollama/phi4"
    ]


def test_keys_of_other_programs_are_translated(problems: Problems) -> None:
    agent = "{model: gpt-4o, system_message: You are brief.}"
    found = problems(f"discussion:\n  task: Talk.\n  max_round: 2\n  models:\n    Ann: {agent}\n    Bob: gpt-4o\n")

    assert [each.partition(" ")[2] for each in found] == [
        "discussion.task: unknown key; did you mean 'goal'?",
        "discussion.max_round: unknown key; did you mean 'turns'?",
        "discussion.models.Ann.model: unknown key; did you mean 'type'?",
        "discussion.models.Ann.system_message: unknown key; did you mean 'persona'?",
    ]


def test_more_than_a_hundred_participants_are_too_many(problems: Problems) -> None:
    crowd = [f"    p{number}: {{type: scripted/p, script: [Hi.]}}" for number in range(101)]
    head = "discussion:\n  goal: Talk.\n  models:\n"

    [found] = problems(head + "\n".join(crowd))

    assert found == "talk.yaml:4:5 discussion.models: names more than 100 participants; no more can take part"
