"""What is wrong with phases, visibility and secrets is told with its place and a way out."""

from pathlib import Path

import pytest

from ai_battle import ConfigError
from ai_battle.config.loading import load

DISCUSSION = """
discussion:
  goal: Is the tower safe?
  {changes}
  models:
    Ann: {{type: scripted, script: [Yes.]}}
    Bob: {{type: scripted, script: [No.]}}
    Chair: {{type: scripted, script: [Well.], role: moderator}}
"""


def problems(changes: str, tmp_path: Path) -> str:
    (path := tmp_path / "talk.yaml").write_text(DISCUSSION.format(changes=changes), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load(path, {})
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ("phases: [{name: x, speakers: [Ann, Bop]}]", "4:38 discussion.phases[0].speakers[1]", "did you mean 'Bob'?"),
        ("phases: [{name: x, speakers: [Ann, Chair, Bob]}]", "phases[0].speakers[1]", "moderator, who has no turn"),
        ("phases: [{name: x, speakers: [Ann, Bob, Ann]}]", "phases[0].speakers[2]", "named twice"),
        ("phases: [{name: x, speakers: Ann}]", "discussion.models.Bob", "speaks in no phase"),
        ("phases: [{name: x, rounds: 0}]", "4:30 discussion.phases[0].rounds", "must be at least 1"),
        ("phases: [{rounds: 2}]", "discussion.phases[0].name", "is missing"),
        ("phases: [{name: x, round: 2}]", "discussion.phases[0].round", "did you mean 'rounds'?"),
        ("phases: [{name: x, visible_to: [[Ann, Bop]]}]", "phases[0].visible_to[0][1]", "did you mean 'Bob'?"),
        ("phases: [{name: x, visible_to: {Ann: Bob}}]", "phases[0].visible_to", "must be a list of names"),
        ("phases: [{name: x, instructions: Do $rond}]", "phases[0].instructions", "did you mean 'round'?"),
        ("phases: [{name: x}]\n  turns: 3", "5:10 discussion.turns", "does not go with phases"),
        ("phases: [{name: x}]\n  execution: {parallel: true}", "discussion.execution.parallel", "say it of each phase"),
        ("mode: no-meta\n  phases: [{name: x, instructions: Ask.}]", "phases[0].instructions", "no-meta"),
        (
            "visibility: {Ann: [Bob]}\n  collaboration: {pairs: [{primary: Ann, secondary: Bob}]}",
            "5:53 discussion.collaboration.pairs[0].secondary",
            "'Bob' takes part",
        ),
        ("visibility: {Anne: [Bob]}", "4:16 discussion.visibility.Anne", "did you mean 'Ann'?"),
        ("visibility: {Ann: [Bop]}", "4:22 discussion.visibility.Ann[0]", "did you mean 'Bob'?"),
    ],
)
def test_what_can_not_be_is_told_with_its_place(changes: str, place: str, words: str, tmp_path: Path) -> None:
    told = problems(changes, tmp_path)
    assert place in told
    assert words in told


def test_a_secret_needs_a_system_prompt(tmp_path: Path) -> None:
    secretive = DISCUSSION.replace("Ann: {{type", "Ann: {{secret: Sell., type").format(changes="mode: no-meta")
    (path := tmp_path / "talk.yaml").write_text(secretive, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"models\.Ann\.secret: does not go with mode no-meta"):
        load(path, {})


def test_one_may_hear_nobody_and_the_user_is_told(tmp_path: Path) -> None:
    (path := tmp_path / "talk.yaml").write_text(DISCUSSION.format(changes="visibility: {Ann: []}"), encoding="utf-8")
    assert load(path, {}).notes == ("discussion.visibility.Ann: Ann hears nobody, only the prompt and its own words",)


def test_a_phase_may_name_one_speaker_and_one_listener_without_a_list(tmp_path: Path) -> None:
    changes = "phases: [{name: a, speakers: Ann, visible_to: Chair}, {name: b}]"
    (path := tmp_path / "talk.yaml").write_text(DISCUSSION.format(changes=changes), encoding="utf-8")
    first, second = load(path, {}).file.discussion.phases
    assert (first.speakers, first.visible_to) == (("Ann",), ("Chair",))
    assert (second.speakers, second.visible_to) == ((), None)
