"""`did you mean` answers slips of the finger, and is silent where a word stands for itself."""

from itertools import chain

import pytest

from ai_battle.config.collaboration import Pair
from ai_battle.config.discussion import Discussion
from ai_battle.config.participants import Parameters, ParticipantSettings
from ai_battle.core.plugins import likely_names, near

KEYS = [list(section.model_fields) for section in (Discussion, ParticipantSettings, Pair, Parameters)]
NO_SLIPS = """\
house river budget speed color owner folder author version comment label group width weight price value result answer
question theme style level ratio factor scale offset index line word chapter kind class sort rank score grade image
picture audio sound team player winner loser prize award invoice account bank money profit loss expense income retries
backoff fallback plugin logging verbose debug format output language locale city phone email password username secret
cookie session server host url header body request method error banana gibberish qqq teacher student pirate wizard"""


def slips(word: str) -> list[str]:
    """A letter left out, doubled, or exchanged with its neighbour, at each place."""
    out = [word[:i] + word[i + 1 :] for i in range(len(word))]
    doubled = [word[:i] + word[i] + word[i:] for i in range(len(word))]
    exchanged = [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)]
    return [slip for slip in chain(out, doubled, exchanged) if len(slip) > 2]


@pytest.mark.slow
def test_nearly_every_slip_is_answered_with_what_was_meant() -> None:
    tried = [(word, slip, keys) for keys in KEYS for word in keys for slip in slips(word) if slip not in keys]
    found = sum(word in likely_names(slip, keys) for word, slip, keys in tried)

    assert found >= 0.98 * len(tried)


def test_hardly_an_ordinary_word_is_taken_for_a_slip() -> None:
    tried = [(word, keys) for keys in KEYS for word in NO_SLIPS.split() if word not in keys]
    answered = [(word, likely_names(word, keys)) for word, keys in tried if likely_names(word, keys)]

    assert len(answered) <= 0.02 * len(tried), answered


@pytest.mark.parametrize(
    ("written", "known", "meant"),
    [
        ("Temprature", ["temperature", "top_p"], ["temperature"]),
        ("stop-phrase", ["stop_phrase", "stop"], ["stop_phrase"]),
        ("cost", ["cost_usd", "tokens"], ["cost_usd"]),
        ("gemma3", ["gemma3:1b", "gemma3:4b", "phi4"], ["gemma3:1b", "gemma3:4b"]),
        ("xyz", ["any", "all"], []),
        ("gpt", ["get", "put"], ["get"]),
        ("a" * 100_000, ["a" * 100_001], []),
        ("", ["x"], []),
    ],
)
def test_what_is_nearest_is_what_was_meant(written: str, known: list[str], meant: list[str]) -> None:
    assert likely_names(written, known) == meant


def test_without_a_likely_one_all_are_listed() -> None:
    assert near("banana", ["rescue", "boost"]) == "; there is boost, rescue."
