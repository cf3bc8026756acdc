"""Calibration of several models on answers of one's own: what is fitted is what decides when they answer."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from ai_battle import StuckDetector
from ai_battle.collaboration import council, peer
from ai_battle.core.errors import ConfigError
from ai_battle.core.helping import HelpAsked, StuckFound
from ai_battle.judging.calibrate import Report, Target
from ai_battle.judging.calibration import Calibration
from ai_battle.judging.labels import LabelledAnswer
from ai_battle.judging.own_answers import calibrate, read_answers
from ai_battle.testing import ScriptedClient
from research.answer_tables import read_rows, read_table
from research.peers import PAIR

from .acting import HelpLog, model_request

SAMPLE = Path(__file__).parent / "data" / "cascade"
PROMPT = "A box holds {} pens and a bag holds {}. How many pens are there?"


def answers(number: int, *, peers: int = 1, labels: bool = True, trust: float = 0.9) -> list[LabelledAnswer]:
    """Sums, right in six of ten; each peer says what is right with probability `trust`, else something of its own."""
    dice = random.Random(number)
    made = []
    for _ in range(number):
        a, b = dice.randrange(10, 99), dice.randrange(10, 99)
        right = a + b
        own = right if dice.random() < 0.6 else right + dice.randrange(1, 9)
        said = [right if dice.random() < trust else right + dice.randrange(10, 90) for _ in range(peers)]
        texts = [f"I count them all.\n#### {each}" for each in (own, *said)]
        good = [float(each == right) for each in (own, *said)]
        helper = float(dice.random() < 0.95)
        answer = LabelledAnswer(PROMPT.format(a, b), texts[0], peers=tuple(texts[1:]))
        made.append(replace(answer, good=good[0], helper_good=helper, peers_good=tuple(good[1:])) if labels else answer)
    return made


async def share_helped(report: Report, made: Sequence[LabelledAnswer]) -> float:
    """Returns how many of them the large model answers, with what was calibrated in the place of the defaults."""
    helped = 0
    detector = StuckDetector(calibration=Calibration.of_json(json.loads(json.dumps(report.calibration.as_json()))))
    for answer in made:
        large = ScriptedClient("#### 0")
        others = [ScriptedClient(text) for text in answer.peers]
        make = peer.create if len(others) == 1 else council.create
        client = make(ScriptedClient(answer.response), large, peers=others, stuck_detector=detector)
        await client.complete(model_request(answer.prompt))
        helped += len(large.requests)
    return helped / len(made)


@pytest.mark.slow
@pytest.mark.parametrize("peers", [1, 2])
async def test_the_share_of_help_that_was_calibrated_is_the_share_that_is_given(peers: int) -> None:
    made = answers(200, peers=peers)
    report = calibrate(made, Target("help_rate", 0.25))

    assert report.refit
    assert report.calibration.help_rate == pytest.approx(await share_helped(report, made), abs=0.01)


async def test_without_labels_the_share_is_a_quantile_of_the_odds_after_all_votes() -> None:
    made = answers(120, labels=False)
    report = calibrate(made, Target("help_rate", 0.3))

    assert (report.labels, report.refit) == (0, False)
    assert report.calibration.help_rate == pytest.approx(await share_helped(report, made), abs=0.01)


@pytest.mark.slow
async def test_what_most_say_is_doubted_too_where_it_was_often_wrong() -> None:
    """These peers agree with each other on what is wrong: the labels tell, the votes alone do not."""
    made = answers(120, peers=2)
    spoilt = []
    for number, answer in enumerate(made):
        if number % 3 == 0:
            text = "I count them all.\n#### 1.5"
            answer = replace(answer, peers=(text, text), peers_good=(0.0, 0.0), helper_good=1.0)
        spoilt.append(answer)
    report = calibrate(spoilt, Target("pgr", 0.95))
    large = ScriptedClient("#### 110")
    others = [ScriptedClient("I count them all.\n#### 1.5") for _ in range(2)]
    detector = StuckDetector(calibration=report.calibration)
    client = council.create(ScriptedClient("#### 110"), large, peers=others, stuck_detector=detector)
    response = await client.complete(model_request(PROMPT.format(50, 60)), heard := HelpLog())

    assert response.text == "#### 110"
    assert len(large.requests) == 1
    assert heard.of(StuckFound)[0].reason


async def test_a_split_that_rarely_mattered_is_not_sent_on() -> None:
    """The peer is nearly always wrong alone: that it differs says little, so the primary's answer stands."""
    made = [replace(each, good=1.0, peers_good=(0.0,), peers=("#### 1",)) for each in answers(100)]
    mixed = [replace(each, good=0.0, helper_good=1.0) if n % 10 == 0 else each for n, each in enumerate(made)]
    report = calibrate(mixed, Target("help_rate", 0.0))
    large = ScriptedClient("#### 0")
    detector = StuckDetector(calibration=report.calibration)
    client = peer.create(
        ScriptedClient(made[1].response), large, peers=[ScriptedClient("#### 1")], stuck_detector=detector
    )
    response = await client.complete(model_request(made[1].prompt), heard := HelpLog())

    assert (response.text, large.requests, heard.of(StuckFound)) == (made[1].response, [], [])
    assert len(heard.of(HelpAsked)) == 1


@pytest.mark.slow
def test_where_the_helper_is_no_better_nobody_is_sent_on() -> None:
    made = [replace(each, helper_good=0.0 if n % 2 else 0.4) for n, each in enumerate(answers(100))]
    report = calibrate(made, Target("quality", 0.9))

    assert not report.helps
    assert report.calibration.agreement
    assert report.calibration.agreement.cut > 1e6


def test_few_labels_move_the_cut_alone() -> None:
    report = calibrate(answers(40), Target("help_rate", 0.3))

    assert not report.refit
    assert report.calibration.agreement
    assert list(report.calibration.agreement.weights.features) == ["doubt"]


def test_peers_that_lead_need_labels_of_their_own() -> None:
    made = [replace(each, peers_good=()) for each in answers(60, peers=2)]

    with pytest.raises(ConfigError, match="say peers_correct"):
        calibrate(made, Target("help_rate", 0.3))


def test_answers_with_and_without_peers_are_two_kinds() -> None:
    with pytest.raises(ConfigError, match="Some answers have peers"):
        calibrate([*answers(30), *answers(30, peers=0)], Target("help_rate", 0.3))


def test_without_peers_it_is_the_detector_alone() -> None:
    assert calibrate(answers(60, peers=0), Target("help_rate", 0.3)).calibration.agreement is None


@pytest.mark.parametrize(
    "said",
    [
        "yes",
        {"cut": 1, "bias": 0},
        {"cut": "a", "bias": 0, "features": {}},
        {"cut": 1, "bias": 0, "features": {"asked": [1, 2]}},
        {"cut": 1, "bias": 0, "features": {"asked": [1, 0, 2]}},
        {"cut": 1, "bias": 0, "features": {"asked": [1, "b", 2]}},
    ],
)
def test_an_agreement_that_was_never_written_is_refused(said: object) -> None:
    with pytest.raises(ConfigError, match="an agreement that can't be used"):
        Calibration.of_json({"cut": 0.1, "agreement": said})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"peers": "18"}, "peers must be a list of texts"),
        ({"peers": [18]}, "peers must be a list of texts"),
        ({"peers": ["18"], "peers_correct": [True, False]}, "true or false for each of peers"),
        ({"peers": ["18"], "peers_correct": ["yes"]}, "must be true, false or a share"),
    ],
)
def test_peers_of_a_file_that_are_none_are_told_with_their_line(
    tmp_path: Path, more: dict[str, object], message: str
) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"prompt": "?", "response": "18", **more}) + "\n")

    with pytest.raises(ConfigError, match=message) as caught:
        read_answers(file)
    assert f"{file}:1" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemma-2-9b-it", "Qwen2-7B-Instruct"])
async def test_on_recorded_answers_it_holds_for_questions_that_it_has_not_seen(name: str) -> None:
    """GSM8K: calibrated on half of the questions, four fifths of the advantage on the others with few large calls.

    The cut is chosen by the lower bound, so the four fifths come, and take more calls than a guess at them would.
    """
    table = read_table(SAMPLE, "gsm8k")
    place = {each: n for n, each in enumerate(table.ids)}
    theirs = table.answered[name]
    made: list[LabelledAnswer] = []
    others: list[LabelledAnswer] = []
    for number, row in enumerate(each for each in read_rows(SAMPLE / f"{PAIR}.jsonl.gz") if each["id"] in place):
        ballot = theirs.ballots[place[row["id"]]]
        answer = LabelledAnswer(
            row["prompt"],
            row["small_response"],
            float(row["small_correct"]),
            float(row["large_correct"]),
            peers=(f"#### {ballot.key}" if ballot else "I can't say.",),
        )
        (made if number % 2 else others).append(answer)
    report = calibrate(made, Target("pgr", 0.8))
    served: list[float] = []
    calls = 0
    for answer in others:
        large = ScriptedClient("large")
        detector = StuckDetector(calibration=report.calibration)
        peers = [ScriptedClient(answer.peers[0])]
        client = peer.create(ScriptedClient(answer.response), large, peers=peers, stuck_detector=detector)
        response = await client.complete(model_request(answer.prompt))
        calls += len(large.requests)
        served.append((answer.helper_good if response.text == "large" else answer.good) or 0.0)
    small = fmean(each.good or 0.0 for each in others)
    big = fmean(each.helper_good or 0.0 for each in others)
    recovered = (fmean(served) - small) / (big - small)

    assert calls / len(others) <= 0.32
    assert recovered >= 0.8
