"""A help rate is what it says, however good the model is that answers."""

import asyncio
import gzip
import json
import os
from pathlib import Path

import pytest

from ai_battle import StuckDetector
from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.providers.scripted import ScriptedClient
from research.pacing import main, row
from research.records import read_pairs

from .acting import STRATEGIES

PROMPT = "A tray holds 24 rolls. How many rolls are on 7 trays?"
POOR = "There are 7 trays of 24 rolls, so 7 * 24 = 158 rolls. The answer is 158."
FINE = "There are 7 trays of 24 rolls, so 7 * 24 = 168 rolls.\n#### 168"
TURNS = 60
CORPUS = Path(os.environ.get("AI_BATTLE_CORPORA", "")) / "cascade"


def turns_with_help(strategy: str, answer: str, detector: StuckDetector, turns: int = TURNS) -> int:
    helper = ScriptedClient("Multiply 7 by 20 and by 4.", loop=True)
    client = STRATEGIES[strategy](ScriptedClient(answer, loop=True), helper, stuck_detector=detector)
    before = 0
    helped = 0
    for _ in range(turns):
        asyncio.run(client.complete(ModelRequest((user(PROMPT),))))
        helped += len(helper.requests) > before
        before = len(helper.requests)
    return helped


@pytest.mark.parametrize("strategy", ["takeover", "rescue"])
@pytest.mark.parametrize("answer", [POOR, FINE], ids=["poor answers", "fine answers"])
def test_about_as_many_turns_get_help_as_the_rate_says(strategy: str, answer: str) -> None:
    """Of the shipped quantiles alone it would be all of the poor ones, and none of the fine ones."""
    assert 0.08 <= turns_with_help(strategy, answer, StuckDetector(help_rate=0.2)) / TURNS <= 0.3


@pytest.mark.parametrize(("answer", "helped"), [(POOR, 10), (FINE, 0)])
def test_a_threshold_stays_where_it_is(answer: str, helped: int) -> None:
    assert turns_with_help("takeover", answer, StuckDetector(0.7, 1), turns=10) == helped


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_never_and_always_stay_that(rate: float) -> None:
    assert turns_with_help("takeover", POOR, StuckDetector(help_rate=rate), turns=10) == 10 * rate


def test_what_fails_a_hard_check_gets_help_all_the_same() -> None:
    detector = StuckDetector(help_rate=0.1)

    assert turns_with_help("takeover", "I'm sorry, I can't answer that.", detector, turns=30) == 30
    assert 0 < turns_with_help("takeover", FINE, detector, turns=200) < 40


def test_judging_alone_moves_nothing() -> None:
    detector = StuckDetector(help_rate=0.2)
    found = {detector.assess(POOR, PROMPT).stuck for _ in range(30)}

    assert found == {True}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that always says the same, for which a cut helps all turns or none."""
    record = {"prompt": PROMPT, "small_response": POOR, "small_correct": False, "large_correct": True}
    with gzip.open(tmp_path / "mtbench.small.large.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(f"{json.dumps(record)}\n" * 200)
    return tmp_path


@pytest.mark.slow
def test_what_a_rate_comes_to_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [pair] = pairs = read_pairs(folder)
    found = row(pair, pairs, 0.3)
    main([str(folder)])

    assert found.fixed in (0, 1)
    assert found.long == pytest.approx(0.3, abs=0.06)
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "mtbench.small.large"


def test_a_call_without_a_folder_is_told() -> None:
    with pytest.raises(ConfigError, match="One argument is needed"):
        main([])


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="AI_BATTLE_CORPORA names no folder with cascade")
def test_a_fifth_is_about_a_fifth_of_recorded_answers() -> None:
    """In runs of 100 turns, of models that the detector has seen no answer of."""
    pairs = read_pairs(CORPUS, "gsm8k", "crux")
    for pair in pairs:
        assert 0.17 <= row(pair, pairs).long <= 0.25
