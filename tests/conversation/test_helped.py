"""What helping came to is counted by turns, whatever happens between them and inside of them."""

from ai_battle.conversation.helped import Help
from ai_battle.core.events import Event, ModelReplied, TurnFinished, TurnStarted
from ai_battle.core.exchange import Usage
from ai_battle.core.helping import DraftDropped, HelpAsked, HelpFailed, HelpSummed, Role
from ai_battle.core.messages import assistant

EACH = Usage(10, 5, cost_usd=0.1)
STARTED = TurnStarted(1, 1, "small")
FINISHED = TurnFinished(1, 1, "small", assistant("Seven.", "small"), EACH, "phi4", 1.0)
ASKED = HelpAsked("takeover", "It is poor.", speaker="small")


def replied(role: Role = "own") -> ModelReplied:
    return ModelReplied("phi4", EACH, 0.1, speaker="small", role=role)


def dropped(role: Role = "own", calls: int = 1) -> DraftDropped:
    usage = Usage(10 * calls, 5 * calls, cost_usd=0.1 * calls)
    return DraftDropped("It is poor.", usage, role, speaker="small", calls=calls)


def heard(*events: Event) -> Help:
    """On the large model, each token that is written costs a dollar."""
    help_ = Help({"small": lambda usage: float(usage.output_tokens)})
    for event in events:
        help_.apply(event)
    return help_


def summed(*events: Event) -> HelpSummed:
    found = heard(*events).summed()
    assert found
    return found


def test_a_turn_is_not_helped_because_the_choice_of_its_speaker_was() -> None:
    between = (replied(), ASKED, replied("helper"), dropped())
    told = summed(*between, STARTED, replied(), FINISHED)

    assert (told.turns, told.helped, told.all_large_usd) == (1, 0, 5.0)


def test_what_a_turn_cost_that_was_interrupted_is_not_that_of_its_answer() -> None:
    told = summed(STARTED, replied(), dropped(), ASKED, STARTED, replied(), FINISHED)

    assert (told.turns, told.helped, told.all_large_usd) == (1, 0, 5.0)
    assert {row["role"]: row["calls"] for row in told.rows} == {"own": 1, "wasted": 1}


def test_the_answer_of_a_peer_has_a_price_on_the_large_model() -> None:
    peers = (replied("peer"), replied("peer"), dropped("peer"))

    assert summed(STARTED, replied(), *peers, dropped(), FINISHED).all_large_usd == 5.0


def test_an_answer_of_which_nothing_is_known_has_no_price() -> None:
    assert summed(STARTED, FINISHED).all_large_usd is None


def test_a_draft_that_was_made_with_tools_is_dropped_with_all_its_calls() -> None:
    told = summed(STARTED, replied(), replied(), dropped(calls=2), ASKED, replied("helper"), FINISHED)

    assert {row["role"]: row["calls"] for row in told.rows} == {"helper": 1, "wasted": 2}
    assert told.all_large_usd == 5.0


def test_a_helper_that_was_asked_in_vain_was_asked() -> None:
    vain = (ASKED, HelpFailed("takeover", "It is away.", speaker="small"))

    assert heard(STARTED, *vain, *vain, ASKED, replied("helper"), replied("helper")).spent("small") == (
        3,
        Usage(20, 10, cost_usd=0.2),
    )
