"""`ai-battle pair report` says what the shadow of a pair has found."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ai_battle.cli import commands
from ai_battle.core.errors import ConfigError
from ai_battle.evidence.store import EvidenceStore
from ai_battle.evidence.trials import Outcome, ShadowTrial, add_to_day, keep_trial

PAIR = "ollama/phi4 + openai/gpt-4o (rescue)"


def report(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(commands, ["pair", "report", "--state", str(folder), *arguments])


def keep(folder: Path, outcomes: str, *, share: float = 0.02, helped: bool = False, steady: bool = True) -> None:
    """Keeps a trial for each letter: a win, a tie or a loss."""
    meant: dict[str, Outcome] = {"w": "win", "t": "tie", "l": "loss"}
    store = EvidenceStore(folder)
    before = len(store.records("shadow", PAIR))
    for number, letter in enumerate(outcomes, before):
        trial = ShadowTrial(
            meant[letter], helped, share, "chat", f"Why {number}?\x1b[2J", "Because.", "So.", "It is wrong.", steady,
            0.001, 0.003, 1.0, 4.0,
        )  # fmt: skip
        keep_trial(store, PAIR, f"trial{number}", trial)
    add_to_day(store, PAIR, "2026-01-01", {"requests": len(outcomes) / share, "usd": 0.5})
    store.close()


def whole(folder: Path) -> dict[str, object]:
    (found,) = json.loads(report(folder, "--json").output)
    return dict(found["families"][0])


def test_the_share_of_lost_requests_is_told_with_its_interval_and_the_last_of_them(tmp_path: Path) -> None:
    keep(tmp_path, "t" * 95 + "wlll")
    keep(tmp_path, "tll", helped=True)
    said = report(tmp_path).output
    assert said.startswith(f"{PAIR}\n  In at most 8.3% of the requests the helper would have done better.")
    assert "102 of 5,100 requests were compared, which cost $1.00." in said
    table = [line.split() for line in said.splitlines() if line.startswith("  all ")]
    assert table == [["all", "102", "1", "95", "3", "3", "1", "2.9%", "(1.0%", "to", "8.3%)"]]
    assert "Dollars saved a request against the helper alone: 0.00200 (0.00200 to 0.00200), in all 10.20." in said
    assert "trial98  chat  Why 98?" in said
    assert "\x1b" not in said


def test_what_was_drawn_with_a_smaller_share_stands_for_more_requests(tmp_path: Path) -> None:
    keep(tmp_path, "l" + "t" * 49, share=0.01)
    keep(tmp_path, "t" * 50, share=0.02)
    loss = whole(tmp_path)["loss"]
    assert isinstance(loss, dict)
    assert loss["value"] == pytest.approx(100 / (50 * 100 + 50 * 50))


def test_helped_answers_that_the_small_model_wrote_are_told(tmp_path: Path) -> None:
    with closing(EvidenceStore(tmp_path)) as store:
        keep_trial(store, PAIR, "one", ShadowTrial("tie", True, 1.0, "chat", "", "", "", is_advised=True))
    assert "Of 1 that were helped it is not known whether they were lost" in report(tmp_path).output


def test_few_comparisons_are_no_ground_for_anything(tmp_path: Path) -> None:
    keep(tmp_path, "t" * 29)
    assert "Not known yet: 29 comparisons, and 30 are the least." in report(tmp_path).output


def test_a_judge_that_contradicts_itself_is_no_ground_for_anything(tmp_path: Path) -> None:
    keep(tmp_path, "t" * 40)
    keep(tmp_path, "t" * 20, steady=False)
    assert "in 33% of the comparisons the judge decided otherwise" in report(tmp_path).output


def test_a_pair_of_which_nothing_is_known_is_named(tmp_path: Path) -> None:
    keep(tmp_path, "t")
    with pytest.raises(ConfigError, match=r"Nothing is known of a pair 'another'"):
        raise report(tmp_path, "another").exception or AssertionError
    with pytest.raises(ConfigError, match=r"has no evidence.sqlite, so nothing is known of any pair; name the folder"):
        raise report(tmp_path / "other").exception or AssertionError


def calibrate(folder: Path, pair: str = PAIR, *more: str) -> Result:
    arguments = ["calibrate", "--from-shadow", pair, "--state", str(folder), "--target-help-rate", "0.2", *more]
    return CliRunner().invoke(commands, arguments)


def test_a_pair_is_calibrated_on_what_its_shadow_has_found(tmp_path: Path) -> None:
    keep(tmp_path, "t" * 60 + "l" * 30 + "w" * 10)
    found = json.loads(calibrate(tmp_path, PAIR, "--json").output)
    assert (found["answers"], found["labels"]) == (100, 100)
    assert found["curve"][0]["quality"] == pytest.approx(0.7)
    assert found["curve"][-1]["quality"] == pytest.approx(0.9)


def test_the_labels_of_another_pair_are_not_taken(tmp_path: Path) -> None:
    keep(tmp_path, "tl" * 30)
    with pytest.raises(ConfigError, match=r"Nothing is known of a pair 'ollama/phi3 .*; did you mean 'ollama/phi4"):
        raise calibrate(tmp_path, PAIR.replace("phi4", "phi3")).exception or AssertionError
    with pytest.raises(ConfigError, match="Say either DATA, a file of answers, or --from-shadow PAIR"):
        raise calibrate(tmp_path, PAIR, "some.jsonl").exception or AssertionError


def test_what_was_compared_before_the_pair_was_told_anew_is_counted_and_no_part_of_what_is_saved(
    tmp_path: Path,
) -> None:
    keep(tmp_path, "t" * 60)
    with closing(EvidenceStore(tmp_path)) as store:
        for number in range(40):
            trial = ShadowTrial("tie", False, 0.02, "chat", "", "", "", "", True, 0.001, 0.003, 1.0, 4.0, cut="newer")
            keep_trial(store, PAIR, f"newer{number}", trial)
        add_to_day(store, PAIR, "2026-01-02", {"requests": 2_000})
    said = report(tmp_path).output
    assert "100 of 5,000 requests were compared, which cost $0.5000." in said
    assert "Only those since its last calibration count: 40." in said
    assert "(0.00200 to 0.00200), in all 4.00." in said
