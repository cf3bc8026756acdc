"""YAML files of the earlier program validate and run; what has no use any more is told once and left out."""

from pathlib import Path

import pytest

from .conftest import Run

OLD = """\
discussion:
  turns: 1
  goal: Plan a herb garden.
  models:
    model1:
      type: {model}
      role: human
      instructions:
        template: {template}
        params: {{{params}}}
    model2:
      type: {model}
      role: assistant
      instructions: {{template: ai_assistant_instructions, params: {{domain: gardening}}}}
{more}"""
SPOKEN = "scripted\n      script: [Thyme.]"


def write_config(template: str = "human_system_instructions", params: str = "domain: gardening", more: str = "") -> str:
    Path("old.yaml").write_text(OLD.format(model=SPOKEN, template=template, params=params, more=more))
    return "old.yaml"


@pytest.mark.parametrize(
    ("template", "params"),
    [
        ("human_system_instructions", "domain: gardening"),
        ("ai_assistant_instructions", "domain: gardening"),
        ("ai_system_instructions", "domain: gardening"),
        ("goal_oriented_instructions", "goal: plant mint"),
        ("goal_oriented_instructions", ""),
    ],
)
def test_a_template_of_the_earlier_program_fills_the_first_request(ai_battle: Run, template: str, params: str) -> None:
    said = ai_battle("run", write_config(template, params), "--dry-run")

    assert said.code == 0
    assert params.partition(": ")[2] in said.out
    assert "Plan a herb garden." in said.out


def test_parameters_without_a_place_are_told_once_and_ignored(ai_battle: Run) -> None:
    path = write_config(params="domain: gardening, expertise: soil, focus: roses")
    told = "instructions.params: human_system_instructions has no place for 'expertise', 'focus'; ignored"

    assert f"old.yaml: note: discussion.models.model1.{told}" in ai_battle("validate", path).lines
    said = ai_battle("run", path)
    assert said.code == 0
    assert said.out.replace("\n  ", " ").count("has no place for 'expertise', 'focus'; ignored") == 1


def test_a_template_that_nobody_knows_is_named_with_those_that_there_are(ai_battle: Run) -> None:
    said = ai_battle("validate", write_config("pirate_instructions"))

    assert said.code == 2
    assert "there is no template 'pirate_instructions'" in said.out
    assert "goal_oriented_instructions" in said.out


def test_the_files_of_a_directory_go_with_the_prompt_by_name_up_to_the_most(ai_battle: Run, folder: Path) -> None:
    (folder / "src" / "deep").mkdir(parents=True)
    for name in ("c.py", "a.py", "b.py", "notes.txt", ".hidden.py", "deep/d.py"):
        (folder / "src" / name).write_text(f"# this is {name}\n")

    said = ai_battle(
        "run", write_config(more="  input_files: {directory: src, file_pattern: '*.py', max_files: 2}\n"), "--dry-run"
    )

    assert said.code == 0
    assert said.out.index("this is a.py") < said.out.index("this is b.py")
    assert all(name not in said.out for name in ("this is c.py", "notes.txt", "hidden", "d.py"))


def test_more_files_in_a_directory_than_are_sent_are_told(ai_battle: Run, folder: Path) -> None:
    (folder / "src").mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (folder / "src" / name).write_text("x = 1\n")

    said = ai_battle("validate", write_config(more="  input_files: {directory: src, max_files: 2}\n"))

    assert "src has 3 files that match; the first 2 are sent (max_files)." in said.out
