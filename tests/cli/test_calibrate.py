"""`ai-battle calibrate`: when help is due, from answers of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.cli import run_command

from .conftest import Outcome, run_piped

RIGHT = "There are 7 trays of 24 rolls, so 7 * 24 = 168 rolls. The answer is 168."
WRONG = "There are 7 trays of 24 rolls, so 7 * 24 = 158 rolls. The answer is 158."
PROMPT = "A tray holds 24 rolls. How many rolls are on 7 trays?"


def row(n: int, **more: Any) -> dict[str, Any]:
    good = n % 3 > 0
    return {"prompt": PROMPT, "response": RIGHT if good else WRONG, "correct": good, "helper_correct": True, **more}


def without_labels(n: int) -> dict[str, Any]:
    return {"prompt": PROMPT, "response": RIGHT if n % 3 else WRONG}


@pytest.fixture
def data(tmp_path: Path) -> Any:
    def write(rows: list[Any]) -> str:
        path = tmp_path / "own.jsonl"
        path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in rows))
        return str(path)

    return write


def test_a_help_rate_needs_no_labels(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command(["calibrate", data([without_labels(n) for n in range(60)]), "--target-help-rate", "0.33"])

    said = capsys.readouterr().out
    assert code == 0
    assert "60 answers, without labels." in said
    assert "33.3% of the answers get help (± 11.9%)" in said
    assert "calibration: {" in said


def test_a_target_of_quality_takes_as_little_help_as_it_needs(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command(["calibrate", data([row(n) for n in range(90)]), "--target-quality", "1", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (found["labels"], found["recommended"]) == (90, True)
    assert found["calibration"]["help_rate"] == pytest.approx(1 / 3, abs=0.01)
    assert found["curve"][0]["quality"] == pytest.approx(2 / 3, abs=0.01)
    assert found["curve"][-1]["quality"] == 1


def test_of_answers_that_look_alike_as_many_get_help_as_the_quality_takes(
    data: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """One group looks bad and is; the others all look alike, so that helping none of them is too little."""
    rows = [row(n, correct=n % 3 > 0 and n % 2 > 0) for n in range(90)]

    assert run_command(["calibrate", data(rows), "--target-quality", "0.7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calibration"]["help_rate"] == 1


def test_what_it_writes_decides_in_a_pair(data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, picture = tmp_path / "new" / "own.json", tmp_path / "own.html"
    target = ["--target-pgr", "1", "--out", str(made), "--report", str(picture)]

    assert run_command(["calibrate", data([row(n) for n in range(90)]), *target]) == 0
    assert f"calibration: {made}" in capsys.readouterr().out
    assert json.loads(made.read_text())["cut"] > 0
    assert "<svg" in picture.read_text()
    assert "oracle" in picture.read_text()


def test_help_that_brings_nothing_is_not_recommended(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(n, helper_correct=n % 2 == 0) for n in range(60)]

    assert run_command(["calibrate", data(rows), "--target-pgr", "0.8"]) == 0
    assert "asking it brings nothing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "target", "message"),
    [
        ([without_labels(n) for n in range(60)], "--target-quality", "a help rate needs no labels"),
        ([row(n) for n in range(10)], "--target-quality", "10 answers with labels are too few"),
        ([without_labels(n) for n in range(10)], "--target-help-rate", "10 answers are too few"),
        ([row(1, correct=True) for _ in range(60)], "--target-quality", "All 60 answers are right"),
        ([row(0, correct=False) for _ in range(60)], "--target-quality", "All 60 answers are wrong"),
        ([], "--target-quality", "is empty"),
        ([row(1), "{"], "--target-quality", "own.jsonl:2: is not JSON"),
        ([row(1), {"response": "x"}], "--target-quality", "own.jsonl:2: prompt is missing"),
        ([row(1, correct="yes")], "--target-quality", "own.jsonl:1: correct must be true, false or a share"),
    ],
)
def test_data_that_cannot_tell_says_why(
    data: Any, rows: list[Any], target: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["calibrate", data(rows), target, "0.5"]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none.jsonl"

    assert run_command(["calibrate", str(missing), "--target-help-rate", "0.2"]) == 2
    assert f"{missing} can't be read: No such file or directory" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_to_is_named(
    data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["--target-help-rate", "0.3", "--out", str(tmp_path)]

    assert run_command(["calibrate", data([without_labels(n) for n in range(60)]), *target]) == 2
    said = f"{tmp_path} can't be written: Is a directory; name another place with --out."
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("share", "words"), [("nan", "not nan"), ("20", "write 0.2 for 20 %")])
def test_a_share_is_from_0_to_1(data: Any, share: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command(["calibrate", data([without_labels(n) for n in range(60)]), "--target-help-rate", share])
    assert (code, words in capsys.readouterr().err) == (2, True)


def test_one_target_has_to_be_said(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = data([row(n) for n in range(60)])

    assert run_command(["calibrate", path]) == 2
    assert run_command(["calibrate", path, "--target-quality", "1", "--target-pgr", "1"]) == 2
    assert "Say one target" in capsys.readouterr().err


def test_dollars_need_the_price_of_an_answer(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = data([row(n) for n in range(60)])

    assert run_command(["calibrate", path, "--max-cost", "0.001"]) == 2
    assert "needs the price of one answer of the helper" in capsys.readouterr().err
    assert run_command(["calibrate", path, "--max-cost", "0.0015", "--helper-price", "0.004"]) == 0
    assert "33.3% of the answers" in capsys.readouterr().out
    assert run_command(["calibrate", path, "--max-cost", "0.001", "--helper-price", "0.004"]) == 0
    assert "0.0% of the answers" in capsys.readouterr().out


def test_what_is_printed_fits_a_terminal_and_marks_what_is_recommended(
    data: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["calibrate", data([row(n) for n in range(90)]), "--target-quality", "0.9"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line[:6] for line in lines if line.startswith("▸")] == ["▸  30%"]


def test_what_is_wrong_with_the_answers_is_told_with_their_file(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = data([row(n) for n in range(10)])

    assert run_command(["calibrate", path, "--target-quality", "0.9"]) == 2
    assert f"{path}: 10 answers with labels are too few" in capsys.readouterr().err


def test_answers_of_peers_are_part_of_what_is_calibrated(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(n, peers=[RIGHT if n % 7 else WRONG]) for n in range(60)]

    code = run_command(["calibrate", data(rows), "--target-pgr", "0.8"])

    said = capsys.readouterr().out
    assert code == 0
    assert "60 with labels, weights fitted to them" in said
    assert "That is where several models answer (peer, council, vote)" in said
    assert '"agreement": {' in said


@pytest.fixture(scope="module")
def promise(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, str]:
    """A calibration on 400 answers, of which the detector sees a third to be wrong, and 2 % more are wrong unseen."""
    folder = tmp_path_factory.mktemp("promise")
    rows = (row(n, prompt=f"{PROMPT} ({n})", correct=n % 3 > 0 and n % 50 > 0) for n in range(400))
    own, made = folder / "own.jsonl", folder / "pair.json"
    own.write_text("\n".join(map(json.dumps, rows)))
    words = ("--promise", "0.05", "--models", "ollama-gemma3:4b+gpt-4o", "--out", made)
    return run_piped("calibrate", own, *words), made.read_text()


def test_a_promise_is_the_least_help_at_which_a_test_refutes_a_greater_loss(promise: tuple[Outcome, str]) -> None:
    outcome, made = promise[0], json.loads(promise[1])

    assert outcome.code == 0
    assert made["promise"]["loss"] == 0.05
    assert made["promise"]["labels"] == 400
    assert 0 < made["promise"]["lost"] < 0.05 * 400
    assert made["help_rate"] < 0.6
    assert "For a loss of at most 5.0% of the answers, with 95% confidence" in outcome.out
    assert "promise: {loss: 0.05, confidence: 0.95}" in outcome.out


CHAT = "Why do bakers let dough rest over night ({})?"
REASON = (
    "It rests so that its gluten relaxes and its taste gets deeper, as yeast and bacteria go on working slowly ({})."
)


def test_kinds_of_requests_with_labels_enough_get_a_cut_of_their_own(
    data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums are never lost, and of what is explained a tenth, which nothing tells from the rest."""
    sums = [row(n, prompt=f"{PROMPT} ({n})", correct=True) for n in range(300)]
    chat = [
        {"prompt": CHAT.format(n), "response": REASON.format(n), "correct": n % 10 > 0, "helper_correct": True}
        for n in range(150)
    ]
    made = tmp_path / "pair.json"
    assert run_command(["calibrate", data(sums + chat), "--promise", "0.05", "--out", str(made)]) == 0

    assert "The same was tested for math alone, and for all others together." in capsys.readouterr().out
    found = json.loads(made.read_text())
    assert found["promise"]["families"] == ["math"]
    assert found["families"]["math"] == [1e9, 0.0]
    assert found["help_rate"] == pytest.approx(150 / 450, abs=0.15)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    named = "calibration: pair.json, "
    plan = PAIR.format(small="ollama/gemma3:4b", strategy="takeover", calibration=named, loss=0.05)
    (tmp_path / "plan.yaml").write_text(plan)
    assert run_command(["validate", str(tmp_path / "plan.yaml")]) == 0
    made.write_text(json.dumps({**found, "families": {"math": [0.0, 0.0]}}))
    assert run_command(["validate", str(tmp_path / "plan.yaml")]) == 2
    assert "was changed after it was made" in "".join(capsys.readouterr())


@pytest.mark.slow
def test_labels_of_the_answers_that_get_help_last_are_all_that_a_promise_needs(
    data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row(n, prompt=f"{PROMPT} ({n})") for n in range(300)]
    written = data(rows)
    assert run_command(["calibrate", written, "--promise", "0.05", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["calibration"]
    ordered = tmp_path / "ordered.jsonl"
    assert run_command(["calibrate", written, "--sort", str(ordered)]) == 0
    assert "300 answers, those that get help last first" in capsys.readouterr().err
    lines = [json.loads(line) for line in ordered.read_text().splitlines()]
    assert sorted(line["prompt"] for line in lines) == sorted(line["prompt"] for line in rows)

    def calibration(labels: int) -> Any:
        bare = [{key: line[key] for key in ("prompt", "response")} for line in lines[labels:]]
        assert run_command(["calibrate", data(lines[:labels] + bare), "--promise", "0.05", "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    most, few = calibration(250), calibration(100)
    assert most["labels"] == 250
    assert most["calibration"]["help_rate"] == pytest.approx(whole["help_rate"], abs=0.01)
    assert few["calibration"]["help_rate"] == pytest.approx(2 / 3, abs=0.001)
    assert "All that have labels would go out without help: with more labels fewer answers get help." in few["said"]
    assert few["curve"] == []


def test_labels_here_and_there_count_alone_and_it_is_told(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(n, prompt=f"{PROMPT} ({n})") for n in range(300)]
    bare = [{key: line[key] for key in ("prompt", "response")} for line in rows[::2]]
    assert run_command(["calibrate", data(rows[1::2] + bare), "--promise", "0.05"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "those without are left out, which is sound only where chance has decided which have labels" in said
    assert "Of 150 answers" in said


def test_too_few_labels_promise_nothing_and_say_how_many_are_missing(
    data: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["calibrate", data([row(n) for n in range(30)]), "--promise", "0.03"]) == 2
    assert "at least 99 are needed, 69 more" in capsys.readouterr().err


PAIR = """
discussion:
  turns: 1
  goal: Bread.
  models:
    Ann: {{type: ollama/gemma3:4b, role: human}}
    Bob: {{type: {small}}}
  collaboration:
    pairs: [{{primary: Bob, secondary: gpt-4o, strategy: {strategy}, {calibration}promise: {{loss: {loss}}}}}]
"""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"loss": 0.04}, "was tested for a loss of at most 5.0% with 95% confidence, not for 4.0%"),
        ({"small": "ollama/phi4"}, "is of ollama/gemma3:4b and gpt-4o and promises nothing for this pair, ollama/phi4"),
        ({"strategy": "rescue"}, "rescue does not answer with the helper's words"),
        ({"calibration": ""}, "A promise needs a calibration that was tested for it"),
    ],
)
def test_a_pair_is_refused_a_promise_that_its_calibration_does_not_bear_out(
    changes: dict[str, Any], problem: str, promise: tuple[Outcome, str], tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    (tmp_path / "pair.json").write_text(promise[1])
    usual = {
        "small": "ollama/gemma3:4b",
        "strategy": "takeover",
        "calibration": "calibration: pair.json, ",
        "loss": 0.05,
    }
    (tmp_path / "plan.yaml").write_text(PAIR.format(**{**usual, **changes}))

    assert run_command(["validate", str(tmp_path / "plan.yaml")]) == (2 if problem else 0)
    said = "".join(capsys.readouterr())
    assert problem.replace("ollama/gemma3:4b and gpt-4o", "ollama-gemma3:4b and gpt-4o") in said


def test_a_calibration_that_was_edited_by_hand_promises_nothing(
    promise: tuple[Outcome, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    (tmp_path / "pair.json").write_text(json.dumps({**json.loads(promise[1]), "cut": 0.9}))
    usual = {
        "small": "ollama/gemma3:4b",
        "strategy": "takeover",
        "calibration": "calibration: pair.json, ",
        "loss": 0.05,
    }
    (tmp_path / "plan.yaml").write_text(PAIR.format(**usual))

    assert run_command(["validate", str(tmp_path / "plan.yaml")]) == 2
    assert "was changed after it was made" in "".join(capsys.readouterr())


SCRIPTED = """
discussion:
  turns: 1
  goal: Bread.
  mode: no-meta
  models:
    Ann: {type: scripted/a, role: human, script: [How long does it bake?]}
    Bob: {type: scripted/b, script: [Forty minutes.]}
  collaboration:
    pairs:
      - primary: Bob
        secondary: {type: scripted/c, loop: true, script: [Forty minutes.]}
        strategy: takeover
        calibration: pair.json
        promise: {loss: 0.05}
"""


@pytest.mark.slow
def test_a_promise_ends_with_the_system_prompt_that_it_was_tested_with(
    data: Any, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "plan.yaml").write_text(SCRIPTED)

    def run_calibrated_with(system: str) -> list[str]:
        rows = [row(n, prompt=f"{PROMPT} ({n})", correct=n % 3 > 0 and n % 50 > 0, system=system) for n in range(400)]
        assert run_command(["calibrate", data(rows), "--promise", "0.05", "--out", "pair.json"]) == 0
        capsys.readouterr()
        assert run_command(["run", "plan.yaml", "-q"]) == 0
        journal = (Path(capsys.readouterr().out.splitlines()[-1]) / "journal.jsonl").read_text()
        records = [json.loads(line) for line in journal.splitlines()]
        told = [record["message"] for record in records if record["type"] == "warned"]
        return [message for message in told if "another system prompt" in message]

    (told,) = run_calibrated_with("Something else.")
    assert "it no longer holds" in told
    assert run_calibrated_with("") == []  # in no-meta there is none


def test_a_system_prompt_that_is_no_text_is_named(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["calibrate", data([row(1, system=7)]), "--promise", "0.05"]) == 2
    assert ":1: system must be text" in capsys.readouterr().err
